"""Latent Dirichlet allocation on sparse word counts.

A corpus is two arrays of pairs, a word and how often it occurs; a document is a row (first, middle, end) that points
into them: its pairs are first .. end - 1, and those before `middle` are the part of a held-out document that its topic
shares are estimated from. Topic parameters are (..., W, K): the K values of a word lie side by side.
"""
