"""Prices of a byte in each step: the multipliers of capacity and DMA time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulations.residency.bound.rangemin import Floats
from spmopt.core.instance import Instance
from spmopt.core.objective import Objective
from spmopt.core.timeline import Timeline


@dataclass(frozen=True, kw_only=True, eq=False)
class Economy:
    """Figures of an instance and an objective that every price computation needs.

    Attributes
    ----------
    cycle, in_byte, out_byte
        Objective units per cycle and per DMA byte.
    bytes_per_cycle
        ``beta``.
    capacity_bytes : (n,)
        ``g floor(C/g) - g ceil(b_i/g)``: what residency may use in each step.
    compute_cycles : (n,)
    constant
        Part of the objective that no schedule changes (on-chip energy).
    duplex
        Reads and writes have a channel each.
    """

    cycle: float
    in_byte: float
    out_byte: float
    bytes_per_cycle: float
    capacity_bytes: Floats
    compute_cycles: Floats
    constant: float
    duplex: bool

    @staticmethod
    def of(instance: Instance, line: Timeline, objective: Objective) -> Economy:
        """Read the figures off an instance."""
        machine = instance.machine
        page = machine.page_bytes
        scratch = -(-line.scratch_bytes // page) * page
        constant = (
            float(objective.spm_read_byte) * float(line.spm_read_bytes.sum())
            + float(objective.spm_write_byte) * float(line.spm_write_bytes.sum())
            + float(objective.mac) * float(line.macs.sum())
        )
        return Economy(
            cycle=float(objective.cycle),
            in_byte=float(objective.dram_in_byte),
            out_byte=float(objective.dram_out_byte),
            bytes_per_cycle=float(machine.bytes_per_cycle),
            capacity_bytes=(machine.spm_pages * page - scratch).astype(np.float64),
            compute_cycles=line.compute_cycles.astype(np.float64),
            constant=constant,
            duplex=machine.duplex,
        )

    @property
    def byte_time(self) -> float:
        """Objective units that one byte of DMA time costs when nothing hides it."""
        return self.cycle / self.bytes_per_cycle


@dataclass(frozen=True, kw_only=True, eq=False)
class Multipliers:
    """Lagrange multipliers (n,): ``spm`` per byte held, ``load`` and ``store`` per DMA byte.

    On one channel ``load`` and ``store`` are the same array. Legal when not negative and
    ``load`` (duplex: ``load + store``) is at most ``Economy.byte_time``.
    """

    spm: Floats
    load: Floats
    store: Floats

    @staticmethod
    def legal(economy: Economy, spm: Floats, load: Floats, store: Floats) -> Multipliers:
        """The nearest legal multipliers (clamped, and scaled down where a sum is too large)."""
        spm, load, store = (np.maximum(np.nan_to_num(x), 0.0) for x in (spm, load, store))
        limit = economy.byte_time
        if not economy.duplex:
            load = np.minimum(load, limit)
            return Multipliers(spm=spm, load=load, store=load)
        total = load + store
        factor = np.where(total > limit, limit / np.maximum(total, 1e-300), 1.0)
        return Multipliers(spm=spm, load=load * factor, store=store * factor)

    def mixed(self, other: Multipliers, weight: float) -> Multipliers:
        """``weight`` of the other and the rest of this one (legal if both are)."""
        load = (1 - weight) * self.load + weight * other.load
        simplex = self.load is self.store
        return Multipliers(
            spm=(1 - weight) * self.spm + weight * other.spm,
            load=load,
            store=load if simplex else (1 - weight) * self.store + weight * other.store,
        )

    def slack_price(self, economy: Economy) -> Floats:
        """``rho_i``: the price of a cycle of computing in each step."""
        dma = self.load + self.store if economy.duplex else self.load
        return np.maximum(economy.cycle - economy.bytes_per_cycle * dma, 0.0)
