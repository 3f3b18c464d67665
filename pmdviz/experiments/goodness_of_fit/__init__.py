"""Tests of whether a sample comes from a target, and how often each of them rejects."""
