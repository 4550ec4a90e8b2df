"""From amounts of a linear program to a legal plan in whole pages."""
