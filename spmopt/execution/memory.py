"""The two memories: a scratchpad of exactly its bytes, and DRAM with each tensor at its offset.

What was never written, or has been given up, holds :data:`POISON`: all bits set are a number that
is none (NaN) in every floating-point type, so that whoever reads it spoils all that follows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from spmopt.core.errors import InputError
from spmopt.core.table import Ints

Bytes = NDArray[np.uint8]
POISON = 0xFF


class Memory:
    """Contents of scratchpad and DRAM.

    Parameters
    ----------
    spm_bytes
        Size of the scratchpad.
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
        dram_offset: Ints,
        contents: Sequence[Bytes | None],
        sizes: Sequence[int],
    ) -> None:
        self._offset, self._sizes = dram_offset.tolist(), sizes
        end = self._offset[-1] + sizes[-1] if sizes else 0
        try:
            self.spm: Bytes = np.full(spm_bytes, POISON, np.uint8)
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
