"""Named networks, built from code."""
