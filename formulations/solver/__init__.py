"""Thin wrappers of the solver libraries: arrays in, arrays and a status out."""
