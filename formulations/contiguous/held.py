"""What a plan with contiguous addresses consists of: stays, and what is dirty when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from formulations.contiguous.stays import Stay
from formulations.contiguous.window import Window
from spmopt.core.table import Bools, Ints


class Dirty(NamedTuple):
    """Bytes dirty after steps, by ``tensor * steps + step``, in that order; elsewhere none are."""

    key: Ints
    size_bytes: Ints
    steps: int

    @classmethod
    def over(cls, tensor: Ints, step: Ints, size_bytes: Ints, steps: int) -> Self:
        """Of cells sorted by tensor, then step."""
        some = size_bytes > 0
        return cls(tensor[some] * steps + step[some], size_bytes[some], steps)

    def of(self, tensor: Ints, step: Ints) -> Ints:
        """(k,) Bytes of ``tensor[k]`` dirty after ``step[k]``."""
        if not self.key.size:
            return np.zeros(tensor.size, np.int64)
        wanted = tensor * self.steps + step
        at = np.minimum(np.searchsorted(self.key, wanted), self.key.size - 1)
        found: Ints = np.where(self.key[at] == wanted, self.size_bytes[at], 0)
        return found

    def replaced(self, window: Window, other: Dirty) -> Dirty:
        """``other`` in the steps of ``window`` and its edges."""
        step = self.key % self.steps
        kept: Bools = (step < window.first) | (step >= window.last)
        key = np.concatenate((self.key[kept], other.key))
        order = np.argsort(key)
        size_bytes = np.concatenate((self.size_bytes[kept], other.size_bytes))
        return Dirty(key[order], size_bytes[order], self.steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """Stays with bases, and what is dirty."""

    stays: list[Stay]
    dirty: Dirty
