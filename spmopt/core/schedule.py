"""A schedule in full: facts only, so that a verifier has nothing to infer."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

from spmopt.core.plan import Residency
from spmopt.core.table import Ints, Table


class Command(IntEnum):
    """Kinds of DMA commands."""

    LOAD = 0
    STORE = 1
    STREAM_IN = 2
    STREAM_OUT = 3


@dataclass(frozen=True, kw_only=True, eq=False)
class Steps(Table):
    """``operation`` and ``mode`` of every step."""

    operation: Ints
    mode: Ints


@dataclass(frozen=True, kw_only=True, eq=False)
class Commands(Table):
    """DMA commands in queue order: ``passes`` times the bytes [begin, end) of ``tensor``.

    ``step`` never decreases. ``kind`` is a :class:`Command`. Loads and stores have one pass.
    """

    step: Ints
    kind: Ints
    tensor: Ints
    begin: Ints
    end: Ints
    passes: Ints


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
    """Order, residency, DMA commands and addresses (problem statement, section 3)."""

    steps: Steps
    residency: Residency
    commands: Commands
    placements: Placements
    moves: Moves = field(default_factory=Moves.empty)
