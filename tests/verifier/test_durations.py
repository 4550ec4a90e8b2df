"""Cycles of commands are exact, whatever the sizes and rates."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import ceil

import numpy as np
import pytest

from spmopt.verifier.durations import command_cycles
from tests.verifier.builders import machine


@pytest.mark.parametrize("rate", [1, 3, 2**53 + 1, 2**60])
@pytest.mark.parametrize("clock", [1, 2**30 + 3, 2**60 - 1])
def test_cycles_of_commands_are_exact_beyond_64_bits(rate: int, clock: int) -> None:
    on = replace(machine(8, setup=2), dram_bytes_per_s=rate, clock_hz=clock)
    sizes = [0, 1, 7, 11] if clock > rate else [0, 1, 7, 2**40]
    expected = [2 + ceil(Fraction(size * clock, rate)) for size in sizes]
    sizes = [size for size, cycles in zip(sizes, expected, strict=True) if cycles < 2**62]
    assert command_cycles(on, np.array(sizes)).tolist() == expected[: len(sizes)]
