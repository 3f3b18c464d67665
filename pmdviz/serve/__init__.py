"""The served app: pages and tabs, processes, and what keeps strangers out."""
