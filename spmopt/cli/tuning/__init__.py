"""The commands of hardware search."""
