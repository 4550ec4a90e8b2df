"""A second, independent model of whole-tensor residency, in PuLP: any solver of it will do.

Written from formulations/PROBLEM.md (sections 2 to 4), not from ``residency/whole``,
so that the two can check each other. Everything here is in shares of a tensor, from 0 to 1, in
steps, and in words: one variable for each thing that a schedule decides.
"""
