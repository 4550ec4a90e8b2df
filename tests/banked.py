"""Random small problems whose scratchpad has banks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from spmopt.core.machine import Bank, Machine
from spmopt.core.problem import Problem
from tests.strategies import random_problem


def banked(seed: int, *, banks: int = 2, ports: bool = False, **features: Any) -> Problem:
    """The problem of a seed with its scratchpad cut into ``banks``, or as few as it has pages.

    Energies are quarters of a picojoule; with ``ports`` about half of the rates are a few bytes a
    second.
    """
    problem = random_problem(seed, **features)
    generator = np.random.default_rng(seed + 17)
    machine = problem.machine
    pages = machine.spm_pages
    count = min(banks, pages)
    cuts = np.sort(generator.choice(np.arange(1, pages), count - 1, replace=False))
    sizes = np.diff(np.concatenate(([0], cuts, [pages]))).tolist()
    made = tuple(_bank(generator, size * machine.page_bytes, ports) for size in sizes)
    return replace(problem, machine=with_these(machine, made))


def alone(problem: Problem) -> tuple[Problem, Problem]:
    """A problem without banks, and the same with its scratchpad as one bank."""
    machine = problem.machine
    spm_bytes = machine.spm_pages * machine.page_bytes
    uniform = replace(machine, spm_bytes=spm_bytes)
    bank = Bank(
        spm_bytes=spm_bytes,
        read_pj_per_byte=machine.energy.spm_read_pj_per_byte,
        write_pj_per_byte=machine.energy.spm_write_pj_per_byte,
    )
    return (
        replace(problem, machine=uniform),
        replace(problem, machine=with_these(machine, (bank,))),
    )


def with_these(machine: Machine, banks: tuple[Bank, ...]) -> Machine:
    """The machine with these banks in place of its scratchpad."""
    energy = replace(machine.energy, spm_read_pj_per_byte=0.0, spm_write_pj_per_byte=0.0)
    size = sum(bank.spm_bytes for bank in banks)
    return replace(machine, spm_bytes=size, energy=energy, banks=banks)


def _bank(generator: np.random.Generator, spm_bytes: int, ports: bool) -> Bank:
    def rate() -> int | None:
        return int(generator.integers(1, 6)) if ports and generator.integers(0, 2) else None

    return Bank(
        spm_bytes=spm_bytes,
        read_pj_per_byte=int(generator.integers(0, 5)) / 4,
        write_pj_per_byte=int(generator.integers(0, 9)) / 4,
        leakage_w=int(generator.integers(0, 3)) * 1e-12,
        read_bytes_per_s=rate(),
        write_bytes_per_s=rate(),
    )
