"""Columns and rows of a fused group's program, by the names that the verifier has for them."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import floor

import numpy as np
from numpy.typing import NDArray

from formulations.fusion.steps import Amounts, UseTable
from formulations.fusion.tileable import REST, Listed
from formulations.solver.program import Floats, ProgramBuilder
from spmopt.core.fusion.certificate import Row
from spmopt.core.fusion.fused_groups import FusedGroup
from spmopt.core.operation import OpMapping
from spmopt.core.table import Bools, Ints

Shares = tuple[tuple[OpMapping, float], ...]
"""Mappings, and the share of fusion tiles that run each."""
_LEAST_SHARE = 1e-6
OF_TIME = ("inward time", "outward time", "channel time")
"""Rows that say how long the transfers of a step take."""


def in_integers(duals: Mapping[Row, float], bits: int, listed: Listed) -> dict[Row, int]:
    """Return dual values in units of ``2**-bits``; those of a step's time are at most its weight.

    Rounded to the nearest they may exceed it by a unit, which the verifier refuses. Where a byte
    weighs far more than a cycle, a unit is more than any relative margin.
    """
    # Any integers prove a bound; the nearest lose least.
    found = {row: round(dual * 2.0**bits) for row, dual in duals.items()}
    rate = listed.tileable.machine.dram_bytes_per_s
    most = floor(listed.objective.cycle * Fraction(2) ** bits) // rate
    timed: dict[Row, list[Row]] = {}
    for row in found:
        if row[0] in OF_TIME:
            timed.setdefault(row[1:], []).append(row)
    for rows in timed.values():
        total = sum(found[row] for row in rows)
        # The verifier subtracts these from the weight of the step's time, and needs the rest to be
        # >= 0. Rounding down keeps it so.
        if total > most:
            found |= {row: found[row] * most // total for row in rows}
    return found


class NamedRows:
    """The names that the verifier has for rows whose dual values prove a bound.

    Attributes
    ----------
    times
        Of a kind of rows, how often it counts the verifier's row; once if missing.
    """

    def __init__(self) -> None:
        self.times: dict[str, float] = {}
        self._names: list[tuple[NDArray[np.int32], str, list[int]]] = []
        self._single: list[tuple[int, list[Row]]] = []

    def add(self, rows: Ints, kind: str, groups: list[int]) -> None:
        """Name rows: by groups of tensors, or else by their places; a single row by its kind."""
        self._names.append((rows.astype(np.int32), kind, groups))

    def call(self, row: int, names: list[Row]) -> None:
        """Name a row, by several names where it is the same for all of them."""
        self._single.append((row, names))

    def duals(self, row_duals: Floats) -> dict[Row, float]:
        """Return the dual values of rows by name."""
        found: dict[Row, float] = {}
        for row, own in self._single:
            if row_duals[row]:
                found |= dict.fromkeys(own, float(row_duals[row]))
        for rows, kind, groups in self._names:
            times = self.times.get(kind, 1.0)
            for place in np.argwhere((rows >= 0) & (row_duals[rows] != 0)).tolist():
                single = rows.ndim == 1 and not groups
                name = [groups[place[0]]] if groups else [] if single else place
                called: Row = (kind, *name)
                dual = float(row_duals[rows[tuple(place)]]) / times
                # Several rows may bound the same bytes.
                found[called] = found.get(called, 0.0) + dual
        return found


class FusedGroupRows:
    """A fused group's program while it is built; amounts of bytes are in ``unit`` bytes.

    Parameters
    ----------
    held, carried
        As of :class:`~formulations.fusion.fused_group.FusedGroupProgram`.
    counts
        How many fusion tiles each class has.

    Attributes
    ----------
    steps, width
        Steps of a class, and of all classes.
    into, out, room
        Bytes moved in and out in each step, and bytes that take room.
    serial_in, serial_out
        The part moved before and after computing.
    constant_in, constant_out
        (width,) bytes that are moved if nothing is resident.
    slower
        Bytes that the channel could move while mappings compute longer than the fastest does.
    """

    def __init__(
        self,
        listed: Listed,
        fused_group: FusedGroup,
        held: float,
        counts: list[int],
        *,
        carried: bool,
    ) -> None:
        self.listed, self.fused_group, self.held, self.carried = listed, fused_group, held, carried
        self.micro_batches = fused_group.micro_batches
        self.steps = fused_group.end - fused_group.begin
        self.counts = counts
        # Columns near 1 suit the solver: its tolerances are absolute.
        self.unit = max(listed.capacity / 64, 1.0)
        self.builder, self.width = ProgramBuilder(), self.steps * len(self.counts)
        self.into, self.out, self.room = Amounts(), Amounts(), Amounts()
        self.serial_in, self.serial_out = Amounts(), Amounts()
        self.constant_in, self.constant_out = np.zeros((2, self.width))
        self.slower = Amounts()
        self._chosen: dict[tuple[int, int], tuple[Ints, Ints]] = {}
        self.named = NamedRows()
        self._sides: list[tuple[Ints, bool, bool]] = []

    def group(self, tensor: int) -> int:
        """Return the group that a tensor is carried across boundaries with."""
        return self.listed.groups[tensor] if self.carried else REST

    def at(self, number: int, steps: int = 0) -> Ints:
        """Return the places of the steps of a class among those of all.

        ``steps``: of its tiles, from the begin of one on; by default of one.
        """
        return number * self.steps + np.arange(steps or self.steps) % self.steps

    def columns(
        self, where: Bools | int, upper: Floats | float, lower: Floats | float = 0.0
    ) -> Ints:
        """Add quantities of bytes; -1 where there are none."""
        return self.builder.columns(where, lower=lower / self.unit, upper=upper / self.unit)

    def rows(
        self,
        where: Bools | int,
        sides: tuple[Floats | float, Floats | float],
        kind: str = "",
        groups: list[int] | None = None,
    ) -> Ints:
        """Add rows of bytes; those whose dual values prove a bound have a ``kind``.

        The paths of single bytes, which the verifier finds itself, obey the others.
        """
        lower, upper = sides
        rows = self.builder.rows(where, lower / self.unit, upper / self.unit)
        if kind:
            self.named.add(rows, kind, groups or [])
        # The sides tell the legal sign of a dual value, whatever the solver's tolerance makes of
        # it.
        some = rows[rows >= 0]
        self._sides.append((some, bool(np.all(np.isinf(upper))), bool(np.all(np.isinf(lower)))))
        return rows

    def load(self, number: int, column: Ints, fixed: Bools, ratio: Floats) -> None:
        """Load the bytes of a column in each step of a class, before computing where ``fixed``.

        ``ratio``: as of :class:`~formulations.fusion.steps.UseTable`.
        """
        at = self.at(number, column.shape[1])
        self.into.add(at, column, ratio)
        self.serial_in.add(at, np.where(fixed, column, -1), ratio)

    def store(self, number: int, column: Ints, fixed: Bools, ratio: Floats) -> None:
        """Store the bytes of a column in each step of a class, after computing where ``fixed``."""
        at = self.at(number, column.shape[1])
        self.out.add(at, column, ratio)
        self.serial_out.add(at, np.where(fixed, column, -1), ratio)

    def stream(
        self,
        uses: UseTable,
        number: int,
        resident: Ints,
        moved: tuple[Floats, Floats],
        share: float,
    ) -> None:
        """Move non-resident bytes, in and out so often, of so many times the size."""
        # R3: bytes not resident are streamed, so each resident byte saves its stream.
        used, steps = np.where(uses.used, resident, -1), self.at(number, uses.steps)
        into, out = (np.where(uses.used, each, 0.0) * uses.ratio for each in moved)
        self.into.add(steps, used, -into)
        self.out.add(steps, used, -out)
        np.add.at(self.constant_in, steps, (into * uses.size * share).sum(axis=0))
        np.add.at(self.constant_out, steps, (out * uses.size * share).sum(axis=0))
        for own, step in self._chosen:
            if own == number:
                self._split(uses, number, step, resident[:, step], share)

    def choose(  # noqa: PLR0917
        self, number: int, step: int, cost: Floats, room_bytes: Floats, cycles: Floats, free: Floats
    ) -> None:
        """Let the fusion tiles of a class run each mapping of a step (m,), in parts.

        Parameters
        ----------
        cost, room_bytes, cycles
            Of each mapping, beyond those counted: in units of the objective, bytes of scratch, and
            compute cycles.
        free
            Bytes of the scratchpad beside the scratch of each.
        """
        count = float(self.counts[number])
        chosen = self.builder.columns(len(cost), cost=cost, upper=count)
        self.builder.add(self.builder.rows(1, count, count), chosen, 1.0)
        place = np.full(len(cost), number * self.steps + step)
        self.room.add(place, chosen, room_bytes / self.unit)
        self.slower.add(place, chosen, self.listed.bytes_per_cycle / self.unit * cycles)
        room = self.rows(len(cost), (-np.inf, 0.0))
        self.builder.add(room, chosen, -free / self.unit)
        self._chosen[number, step] = chosen, room

    def run(self, primal: Floats) -> dict[int, Shares]:
        """Return, by operation that chooses, the mappings that tiles of a solution run."""
        begin, times = self.fused_group.begin, dict[int, Floats]()
        for (_, step), (chosen, _) in self._chosen.items():
            times[step] = times.get(step, 0.0) + primal[chosen] / self.micro_batches
        found = dict[int, Shares]()
        for step, shares in times.items():
            mappings = self.listed.tileable.operations[begin + step].common(self.micro_batches)
            some = np.flatnonzero(shares > _LEAST_SHARE).tolist()
            found[begin + step] = tuple((mappings[k], float(shares[k])) for k in some)
        return found

    def _split(self, uses: UseTable, number: int, step: int, resident: Ints, share: float) -> None:
        """Split the resident bytes of a step by the mappings that run, as rule R3 has them.

        A mapping that fetches an operand more often than the least streams its other bytes so much
        more often; bytes that it requires resident are. Those resident fit beside its scratch.
        """
        operation, (chosen, room) = self.fused_group.begin + step, self._chosen[number, step]
        for use in self.listed.mappings(operation, self.micro_batches):
            if not use.choices or use.tensor not in uses.tensors:
                continue
            at = uses.tensors.index(use.tensor)
            size = float(uses.size[at, 0]) * share
            parts = self.columns(len(chosen), size)
            split = self.rows(1, (0.0, 0.0))
            self.builder.add(split, parts, 1.0)
            self.builder.add(room, parts, 1.0)
            self.builder.add(split, resident[at : at + 1], -1.0)
            self.named.call(int(split[0]), self._places(uses.owners[at], number, step))
            fixed = np.array([firm for _, firm in use.choices])
            within = self.rows(len(chosen), (np.where(fixed, 0.0, -np.inf), 0.0))
            each = size / self.counts[number] / self.unit
            self.builder.add(within, parts, 1.0)
            self.builder.add(within, chosen, -each)
            # Of a sum the least is moved by tiles at its ends; each tile moves so much more.
            more = np.array([fetches for fetches, _ in use.choices], float) - use.fetches
            more *= self.listed.ratios[use.tensor]
            steps = np.full(len(chosen), number * self.steps + step)
            for amounts, moved in (
                (self.into, use.reads or use.live_after or (use.shared and use.writes)),
                (self.out, use.writes and use.live_after),
            ):
                amounts.add(steps, chosen, more * moved * each)
                amounts.add(steps, parts, -more * moved)

    def _places(self, tensors: list[int], number: int, step: int) -> list[Row]:
        """Return the names of rows of resident bytes of a step, of each of some tensors."""
        uses = self.listed.mappings(self.fused_group.begin + step, self.micro_batches)
        places = [place for place, use in enumerate(uses) if use.tensor in tensors]
        return [("resident in mappings", number, step, place) for place in places]
