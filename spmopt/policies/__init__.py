"""Greedy schedulers: simple rules from the literature, with the transfers hidden at the end."""

from spmopt.policies.belady import belady
from spmopt.policies.lru import lru
from spmopt.policies.stream import stream

__all__ = ["belady", "lru", "stream"]
