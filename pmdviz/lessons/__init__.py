"""Lessons and tuning challenges: one Markdown file each in `files/`; a file put there is offered by itself.

Also what a notebook asks before a run (`questions`).
"""
