"""Hostile inputs of every kind, from seeds, and an independent check of what the program does."""
