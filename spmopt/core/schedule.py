"""A residency plan, the decisions of a scheduler, and the full schedule that follows from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Self

import numpy as np

from spmopt.core.table import Ints, Table


@dataclass(frozen=True, kw_only=True, eq=False)
class Steps(Table):
    """Operation of every step: ``operation`` in ``mapping``."""

    operation: Ints
    mapping: Ints

    @classmethod
    def listed(cls, mapping: Ints) -> Self:
        """Return all operations in the order that they are listed in, with their mappings (n,)."""
        return cls(operation=np.arange(mapping.size), mapping=mapping)


@dataclass(frozen=True, kw_only=True, eq=False)
class Residency(Table):
    """Rows "the first ``size_bytes`` of ``tensor`` are resident in steps [begin, end)".

    Sorted by (tensor, begin); rows of one tensor do not overlap; where there is no row the
    tensor has no resident byte. Steps count from 0.
    """

    tensor: Ints
    begin: Ints
    end: Ints
    size_bytes: Ints


@dataclass(frozen=True, kw_only=True, eq=False)
class Stores(Table):
    """Rows "``size_bytes`` of ``tensor`` are stored in ``step``", sorted by (step, tensor).

    A store extends the suffix that is valid in DRAM downwards; if the step's operation writes
    the tensor, it carries the new version.
    """

    step: Ints
    tensor: Ints
    size_bytes: Ints


@dataclass(frozen=True, kw_only=True, eq=False)
class Ranges(Table):
    """Rows "resident bytes of ``tensor`` in steps [begin, end) lie from ``spm_page`` on".

    Each residency row lies within one of them, so that every tensor has one range of addresses.
    """

    tensor: Ints
    begin: Ints
    end: Ints
    spm_page: Ints


@dataclass(frozen=True, kw_only=True, eq=False)
class BankRows(Table):
    """Rows "``pages`` pages of ``tensor`` from ``tensor_page`` on lie in ``bank`` in [begin, end)".

    Every resident page, and of every step's scratch (``tensor`` -1), is in one row at a time, and
    keeps its address in it: where another row of the page follows at once, the page moves.
    """

    tensor: Ints
    tensor_page: Ints
    pages: Ints
    bank: Ints
    begin: Ints
    end: Ints


@dataclass(frozen=True, kw_only=True)
class ResidencyPlan:
    """Order, mappings, residency and stores; loads, streams and addresses are derived.

    With ``ranges`` the addresses are those (``contiguous``), the scratch at the top; with ``banks``
    pages go wherever there is room in their bank; without either, wherever there is room.
    """

    steps: Steps
    residency: Residency
    stores: Stores
    ranges: Ranges | None = None
    banks: BankRows | None = None


class Command(IntEnum):
    """Kinds of DMA commands."""

    LOAD = 0
    STORE = 1
    STREAM_IN = 2
    STREAM_OUT = 3


@dataclass(frozen=True, kw_only=True, eq=False)
class Commands(Table):
    """DMA commands in queue order: ``fetches`` times the bytes [begin, end) of ``tensor``.

    ``step`` never decreases. ``kind`` is a :class:`Command`. Loads and stores have one fetch.
    """

    step: Ints
    kind: Ints
    tensor: Ints
    begin: Ints
    end: Ints
    fetches: Ints


@dataclass(frozen=True, kw_only=True, eq=False)
class Placements(Table):
    """Addresses, in pages: a run of ``pages`` pages at one place during steps [begin, end).

    Page ``tensor_page + k`` of ``tensor`` lies at SPM page ``spm_page + k`` for
    ``0 <= k < pages``. ``tensor`` -1 is the scratch of the step's operation (one step long).
    """

    tensor: Ints
    tensor_page: Ints
    pages: Ints
    spm_page: Ints
    begin: Ints
    end: Ints


@dataclass(frozen=True, kw_only=True, eq=False)
class Moves(Table):
    """Copies on chip: bytes [begin, end) of ``tensor`` get new addresses as ``step`` opens.

    The old addresses are those of the step before, the new ones those of ``step``. Machines with
    banks only; no DMA channel takes part. Sorted by (step, tensor, begin).
    """

    step: Ints
    tensor: Ints
    begin: Ints
    end: Ints


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """Order, residency, DMA commands and addresses (PROBLEM.md, section 3)."""

    steps: Steps
    residency: Residency
    commands: Commands
    placements: Placements
    moves: Moves = field(default_factory=Moves.empty, metadata={"group": "banks"})
