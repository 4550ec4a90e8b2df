"""Whole tensors by rank, under their former place."""

from spmopt.policies.residency.ranked import Ranking, keep_whole, next_use

__all__ = ["Ranking", "keep_whole", "next_use"]
