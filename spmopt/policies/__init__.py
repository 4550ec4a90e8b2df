"""Greedy schedulers: simple rules from the literature, with the transfers hidden at the end."""
