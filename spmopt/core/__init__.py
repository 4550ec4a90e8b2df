"""Records that travel between the parts; nothing here computes a schedule."""
