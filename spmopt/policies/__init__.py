"""Greedy schedulers: simple rules from the literature, with the transfers hidden at the end."""

from spmopt.policies.belady import belady
from spmopt.policies.belady_size import belady_size
from spmopt.policies.frequency import frequency
from spmopt.policies.lru import lru
from spmopt.policies.static import static, stream

__all__ = ["belady", "belady_size", "frequency", "lru", "static", "stream"]
