"""Operators as steps of the kernels in C: what each gets, and from where."""
