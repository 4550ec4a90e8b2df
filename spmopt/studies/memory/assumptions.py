"""What the papers leave open, and what is assumed of it: settings of a study."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from spmopt.core.errors import InputError, unknown
from spmopt.core.units import Dimension, parse_quantity
from spmopt.schedulers.registry import Kind, find

_COUNTS = ("tile", "banks", "dram_cycles")


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumptions:
    """Every one can be given on the command line, ``--assume NAME=VALUE``.

    Attributes
    ----------
    sram, stt, sot, relaxed
        Technologies, by name or TOML file; ``relaxed`` has cheaper writes than ``stt``.
    machine
        Preset or TOML file; its scratchpad stands for the L2 cache of the papers.
    tile
        Rows and columns of the block of a matrix product that a core of the GPU computes at a
        time: 128 as the kernels of cuBLAS for single precision mostly have.
    clock_hz
        Of the L2 cache, in whole cycles of which the paper counts latencies (table IV).
    banks
        Accesses that go on at a time where the banks hold back the machine: one of each slice of
        128 KB (table IV: 3 MB are 24).
    dram_cycles
        Of an access to the DRAM, cycles of the same clock: ``-dram_latency`` of the configuration
        of a Pascal GPU that comes with GPGPU-Sim (SM6_TITANX). The paper does not give it.
    policy
        The greedy scheduler: the cache of the paper replaces by LRU (table IV).
    """

    sram: str = "deepnvm-sram"
    stt: str = "deepnvm-stt"
    sot: str = "deepnvm-sot"
    relaxed: str = "relaxed-stt"
    machine: str = "gtx1080ti"
    tile: int = 128
    clock_hz: int = 1481 * 10**6
    banks: int = 24
    dram_cycles: int = 100
    policy: str = "lru"

    def technology(self, role: str) -> str:
        """Name or path of the technology that plays a role: ``sram``, ``stt``, ..."""
        return str(getattr(self, role))

    def given(self, settings: Mapping[str, str]) -> Assumptions:
        """These, with some in place of their own.

        Raises
        ------
        InputError
            No such assumption, or a value that it cannot have.
        """
        known = {each.name for each in fields(self)}
        assumed = self
        for name, text in settings.items():
            if name not in known:
                raise unknown("assumption", name, known)
            assumed = replace(assumed, **{name: _value(name, text)})
        return assumed


def _value(name: str, text: str) -> Any:
    where = f"--assume {name}={text}"
    if name == "clock_hz":
        return parse_quantity(text, Dimension.HERTZ, where)
    if name == "policy":
        if find(text).kind is not Kind.POLICY:
            raise InputError(f"{where}: is no greedy scheduler; see 'spmopt schedulers'")
        return text
    if name not in _COUNTS:
        return text
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 10**9):
        raise InputError(f"{where}: must be a whole number, 1 or more")
    return int(text)
