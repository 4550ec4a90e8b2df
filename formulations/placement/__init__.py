"""Addresses for buffers whose lifetimes are given."""
