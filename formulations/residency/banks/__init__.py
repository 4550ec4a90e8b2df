"""Residency in a scratchpad of several banks: which bytes lie in which, and when they move."""
