"""Kernels that need no meaning: results are pseudo-random bytes made of every operand byte.

A schedule must bring each operation the same bytes, whichever function it computes. So any problem
can be executed: results are filled with numbers from a digest of the operation's name and of all
bytes that it reads. One wrong bit of an operand changes all results, and those of all later
operations.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from spmopt.core.problem import Problem
from spmopt.execution.executor import Kernel
from spmopt.execution.memory import Bytes

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FACTORS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)


def hash_kernel(problem: Problem) -> Kernel:
    """Return a kernel that computes any operation of a problem."""

    def kernel(index: int, operands: Sequence[Bytes]) -> Sequence[Bytes]:
        operation = problem.operations[index]
        digest = blake2b(operation.name.encode(), digest_size=8, person=b"operation")
        for each in operands:
            digest.update(each.data)
        results = []
        for place, tensor in enumerate(operation.writes):
            # Results of one operation differ from each other.
            own = digest.copy()
            own.update(place.to_bytes(4, "little"))
            seed = int.from_bytes(own.digest(), "little")
            results.append(_fill(seed, problem.tensors[tensor].size_bytes))
        return results

    return kernel


def random_contents(problem: Problem, seed: int) -> list[Bytes | None]:
    """Return random bytes of each tensor that is in DRAM at the start, None of the others."""
    chosen = np.random.default_rng(seed)
    return [
        np.frombuffer(chosen.bytes(tensor.size_bytes), np.uint8) if tensor.in_dram else None
        for tensor in problem.tensors
    ]


def _fill(seed: int, size_bytes: int) -> Bytes:
    """Return bytes that follow from a seed: SplitMix64 (Steele, Lea, Flood, OOPSLA 2014)."""
    count = np.arange(1, -(-size_bytes // 8) + 1, dtype=np.uint64)
    state: NDArray[np.uint64] = count * _GOLDEN + np.uint64(seed)
    for shift, factor in zip(_SHIFTS, _FACTORS, strict=False):
        state = (state ^ (state >> shift)) * factor
    state ^= state >> _SHIFTS[2]
    return state.view(np.uint8)[:size_bytes]
