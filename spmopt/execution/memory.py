"""The two memories: a scratchpad of exactly its bytes, and DRAM with each tensor at its offset.

Bytes that were never written, or were given up, hold :data:`POISON`: all bits set are NaN in every
floating-point type, so that reading them spoils all later results.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from spmopt.core.errors import InputError
from spmopt.core.table import Ints
from spmopt.core.units import si

Bytes = NDArray[np.uint8]
POISON = 0xFF


def require_memory(size_bytes: int) -> None:
    """Check that this computer has so much memory, before any of it is allocated.

    Raises
    ------
    InputError
        It has not.
    """
    try:
        there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return  # the system does not say
    # The system may promise more than there is, and end the program once it is used.
    if size_bytes > there:
        raise InputError(
            f"execution needs about {si(size_bytes, 'B')} of memory, of which this computer has "
            f"{si(there, 'B')}; give a smaller batch or smaller tensors"
        )


class Memory:
    """Contents of scratchpad and DRAM.

    Parameters
    ----------
    spm_bytes
        Size of the scratchpad.
    used_bytes
        Used part of the scratchpad: the rest takes no memory of this computer.
    dram_offset : (m,)
        Where each tensor begins.
    contents : (m,)
        Bytes of each tensor at the start; None for one that is not there yet.
    sizes : (m,)
        Bytes of each tensor.

    Raises
    ------
    InputError
        This computer has not so much memory.
    """

    def __init__(
        self,
        spm_bytes: int,
        used_bytes: int,
        dram_offset: Ints,
        contents: Sequence[Bytes | None],
        sizes: Sequence[int],
    ) -> None:
        self._offset, self._sizes = dram_offset.tolist(), sizes
        end = self._offset[-1] + sizes[-1] if sizes else 0
        try:
            self.spm: Bytes = np.zeros(spm_bytes, np.uint8)
            # zeros() takes no memory of the computer until written; the unused rest stays so.
            self.spm[:used_bytes] = POISON
            self.dram: Bytes = np.full(end, POISON, np.uint8)
        except MemoryError:
            raise InputError(
                f"execution needs {spm_bytes + end:,} bytes of memory; give a smaller batch or "
                "smaller tensors"
            ) from None
        for tensor, given in enumerate(contents):
            if given is not None:
                self.tensor(tensor)[:] = given

    def tensor(self, tensor: int) -> Bytes:
        """Return all of a tensor in DRAM, to be read or written."""
        begin = self._offset[tensor]
        return self.dram[begin : begin + self._sizes[tensor]]

    def release(self, address: int, size_bytes: int) -> None:
        """Poison bytes of the scratchpad."""
        self.spm[address : address + size_bytes] = POISON
