"""From amounts of a linear program to a legal residency plan in whole pages."""
