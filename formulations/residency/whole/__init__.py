"""Whole-tensor residency, order fixed, as an integer program.

In each step whose operation uses a tensor, all of the tensor is resident or nothing. Between two
uses it is kept in full or given up in full. Evicted bytes may leave in pieces over the steps
after its last use, each as soon as it is stored, and come back in pieces over the steps before
its next use: loads and stores may hide behind other steps' computing.
"""

from formulations.residency.whole.schedule import schedule

__all__ = ["schedule"]
