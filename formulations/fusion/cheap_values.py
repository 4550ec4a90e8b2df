"""Lower bounds on fused groups that are cheap to tell: no program is solved.

A group computes, moves what does not fit at once, and loads or stores what crosses its ends beyond
the bytes that it may hold there.
"""

from __future__ import annotations

import numpy as np

from formulations.fusion.lengths import Lengths
from formulations.fusion.tileable import Listed
from formulations.solver.program import Floats
from spmopt.core.fusion.crossing_bytes import count_bytes
from spmopt.core.fusion.least_moved import Moves, least_moved, times_moved
from spmopt.core.operation import OpMapping
from spmopt.core.table import Ints


class CheapValues:
    """Lower bounds on all groups of a graph along one axis, in objective units.

    ``held``: as in :class:`~.fused_group.FusedGroupProgram`. ``split``: none of untiled groups of
    several operations.

    Attributes
    ----------
    of_operations
        (n,) Least cost of each operation, by number of fusion tiles.
    reaches
        Farthest ends of fused groups by begin, by number of fusion tiles.
    """

    def __init__(
        self, listed: Listed, lengths: Lengths, held: float, *, split: bool = False
    ) -> None:
        self.listed, self.lengths, self.held, self.split = listed, lengths, held, split
        self.of_operations: dict[int, Floats] = {}
        self.reaches: dict[int, list[int]] = {}

    def values(self) -> Floats:
        """Return (n + 1, p, width) cheap lower bounds on fused groups."""
        listed, cost, (into, out, again) = self.listed, self.byte_costs, self.count_bytes()
        value: Floats = np.empty((listed.count + 1, len(listed.micro_batches), self.lengths.width))
        # Of compressed tensors these are bytes that move.
        held = self.held * listed.most_held / listed.capacity
        crossing = cost[0] * np.maximum(into - held, 0.0)
        crossing += cost[1] * np.maximum(out - held, 0.0)
        for way, micro_batches in enumerate(listed.micro_batches):
            computing, always = self.alone(micro_batches)
            moved = crossing + self.cost_again(again, micro_batches)
            value[:, way] = np.maximum(computing, moved + always)
        return value

    def cost_again(self, again: Ints, micro_batches: int) -> Floats:
        """Return the least cost of bytes that fusion tiles read anew: the first is left out.

        What all of them read is on chip between two as far as it fits.
        """
        over = np.maximum(again - self.listed.most_held, 0.0)
        value: Floats = self.byte_costs[0] * (micro_batches - 1) * over
        return value

    @property
    def byte_costs(self) -> tuple[float, float]:
        """Cost of a byte in and out when nothing hides it, on all channels at best."""
        listed = self.listed
        rate = listed.bytes_per_cycle * (2 if listed.tileable.machine.duplex else 1)
        time, objective = float(listed.objective.cycle) / rate, listed.objective
        return time + float(objective.dram_in_byte), time + float(objective.dram_out_byte)

    def alone(self, micro_batches: int) -> tuple[Floats, Floats]:
        """Return (n + 1, width) lower bounds on operations.

        And the part of them that is no transfer.
        """
        listed, known = self.listed, self.listed.least_alone
        can = np.isfinite(listed.cycles(micro_batches))
        one = list[float]()
        for at, fits in enumerate(can.tolist()):
            kind = listed.kind(at, micro_batches) if fits else -1
            if fits and kind not in known:
                known[kind] = self._least(at, micro_batches)
            one.append(known[kind] if fits else 0.0)
        upto = np.concatenate(([0.0], np.cumsum(one)))
        always = np.where(can, listed.unavoidable(micro_batches), 0.0)
        self.of_operations[micro_batches] = one + always
        always = self.lengths.between(np.concatenate(([0.0], np.cumsum(always))))
        value: Floats = self.lengths.between(upto) + always
        reaches = self.listed.reaches(micro_batches)
        if self.split and micro_batches == 1:
            reaches = [min(end, at + 1) for at, end in enumerate(reaches)]
        self.reaches[micro_batches] = reaches
        value[self.lengths.none(reaches)] = np.inf
        return value, always

    def _least(self, at: int, micro_batches: int) -> float:
        """Return the least time and transfers of all fusion tiles of an operation.

        Each runs its cheapest mapping, with the bytes on chip that save most.
        """
        listed, machine = self.listed, self.listed.tileable.machine
        operation = listed.tileable.operations[at]
        mappings = operation.mappings[micro_batches]
        common = [[(each, micro_batches)] for each in operation.common(micro_batches)]
        objective, rate = listed.objective, listed.bytes_per_cycle
        least_byte = float(min(objective.dram_in_byte, objective.dram_out_byte))
        # At best bytes are shared by both channels.
        rate *= 2 if machine.duplex else 1
        costs = list[float]()
        for each in common or [[(mappings.first, 1), (mappings.later, micro_batches - 1)]]:
            cycles = sum(count * mapping.compute_cycles for mapping, count in each)
            pages = sum(count * machine.pages(mapping.scratch_bytes) for mapping, count in each)
            room = micro_batches * listed.capacity - pages * machine.page_bytes
            operands = self._operands(at, micro_batches, each[0][0] if common else None)
            moved = least_moved(operands, room)
            costs.append(float(objective.cycle) * max(cycles, moved / rate) + least_byte * moved)
        return min(costs)

    def _operands(self, at: int, micro_batches: int, mapping: OpMapping | None) -> list[Moves]:
        """Return the operands of all fusion tiles, in a mapping or with the least of all."""
        found = list[Moves]()
        for place, use in enumerate(self.listed.mappings(at, micro_batches)):
            own = use if mapping is None else mapping.operands[place]
            times = times_moved(
                own.fetches,
                reads=use.reads,
                writes=use.writes,
                live=use.live_after,
                shared_sum=use.shared and use.writes,
            )
            size = self.listed.sizes[use.tensor] * (micro_batches if use.shared else 1)
            ratio = self.listed.tileable.machine.moved_ratio(
                self.listed.tileable.tensors[use.tensor].kind
            )
            found.append(Moves(size, times * ratio, own.required_resident))
        return found

    def count_bytes(self) -> tuple[Ints, Ints, Ints]:
        """Return (n + 1, width) bytes of fused groups, each tensor's once.

        Those that they must load or hold; that they store or leave; and that each of several fusion
        tiles reads, and nothing writes.
        """
        listed, lengths = self.listed, self.lengths
        return count_bytes(
            listed.tileable,
            lambda at, tensor: listed.live_after(tensor, at),
            lengths.first.tolist(),
            lengths.width,
        )
