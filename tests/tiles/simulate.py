"""Run the tile products of a schedule with numbers, in a scratchpad and a DRAM of bytes.

Independent of the verifier: bytes move only as the commands say, an operation sees only what the
residency table and the streams of its step give it, and every byte of the scratchpad that no
tensor lies on is overwritten before each step.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spmopt.core.operation import Operation
from spmopt.core.problem import Problem
from spmopt.core.schedule import Command, Schedule
from spmopt.core.table import Ints
from spmopt.tiles.layer import TileGrid
from tests.tiles.maps import element, sizes, touched

Matrix = NDArray[np.int32]
Bytes = NDArray[np.uint8]
JUNK = 0xA5
_TILE = re.compile(r"(\w+)(?:@\d+)?\[(\d+),(\d+)\]")
_PRODUCT = re.compile(r"(dX|dW|Y)\((\d+),(\d+),(\d+)\)")
_AXES = {"dY": "MN", "X": "MK", "W": "KN", "dX": "MK", "dW": "KN", "Y": "MN"}


@dataclass(frozen=True)
class Computed:
    """What was computed: dX, dW and Y, zero where they were not, and what ran, by name."""

    dx: Matrix
    dw: Matrix
    y: Matrix
    ran: list[str]


def simulate(
    grid: TileGrid, problem: Problem, schedule: Schedule, given: dict[str, Matrix]
) -> Computed:
    """Compute from ``given`` (dY, X, W) as ``schedule`` says."""
    run = _Run(grid, problem, schedule, given)
    ran = [run.step(step) for step in range(len(schedule.steps))]
    return Computed(dx=run.matrix("dX"), dw=run.matrix("dW"), y=run.matrix("Y"), ran=ran)


class _Run:
    def __init__(
        self, grid: TileGrid, problem: Problem, schedule: Schedule, given: dict[str, Matrix]
    ) -> None:
        self._grid = grid
        self._problem = problem
        self._schedule = schedule
        self._page = problem.machine.page_bytes
        self._spm: Bytes = np.full(problem.machine.spm_pages * self._page, JUNK, np.uint8)
        self._dram: list[Bytes] = [self._initial(t, given) for t in range(len(problem.tensors))]

    def matrix(self, name: str) -> Matrix:
        """A matrix, put together from its tiles in DRAM; of a feature map, whose tiles overlap,
        what they have in common is added up.
        """
        layer = self._grid.layer
        if name == "dX" and layer.window is not None:
            return self._map()
        lengths = {"M": layer.m, "K": layer.k, "N": layer.n}
        whole: Matrix = np.zeros([lengths[axis] for axis in _AXES[name]], np.int32)
        for tensor, record in enumerate(self._problem.tensors):
            if record.name.startswith(f"{name}["):
                part = self._slices(tensor)
                shape = whole[part].shape
                whole[part] = self._dram[tensor].view(np.int32).reshape(shape)
        return whole

    def _map(self) -> Matrix:
        whole: Matrix = np.zeros(sizes(self._grid.layer), np.int32)
        for tensor, record in enumerate(self._problem.tensors):
            if record.name.startswith("dX["):
                places = self._elements(tensor)
                numbers = self._dram[tensor].view(np.int32)
                for place, number in zip(places, numbers.tolist(), strict=False):
                    whole[place] += number
        return whole

    def _elements(self, tensor: int) -> list[tuple[int, int, int, int]]:
        """Places in the feature map of what a tile of it holds, in order."""
        window, rows, columns = self._grid.layer.window, *self._ranges(tensor)
        assert window is not None
        found = touched(window, rows, columns)
        assert self._problem.tensors[tensor].size_bytes == 4 * max(1, len(found))
        return found

    def _ranges(self, tensor: int) -> tuple[range, range]:
        """Rows and columns of the im2col matrix that a tile of it stands for."""
        high, wide = self._slices(tensor)
        layer = self._grid.layer
        rows = range(high.start, min(high.stop, layer.m))
        return rows, range(wide.start, min(wide.stop, layer.k))

    def _is_map(self, tensor: int) -> bool:
        return self._grid.layer.window is not None and self._tile(tensor)[0] in ("X", "dX")

    def step(self, step: int) -> str:
        """Run one step; return the name of its operation."""
        places = self._places(step)
        self._forget(places)
        operation = self._problem.operations[int(self._schedule.steps.operation[step])]
        rows = np.flatnonzero(self._schedule.commands.step == step).tolist()
        streams, later = [], []
        for row in rows:
            kind, tensor, _ = command = self._command(row)
            if kind == Command.LOAD:
                self._load(command, places)
            elif kind == Command.STREAM_IN:
                streams.append(command)
            elif kind == Command.STREAM_OUT or tensor in operation.writes:
                later.append(command)
            else:
                self._store(command, places)
        inputs = self._inputs(operation, step, places, streams)
        results = (self._add if operation.kind == "sum" else self._multiply)(operation, inputs)
        for written in operation.writes:
            kept = slice(0, self._resident(written, step))
            self._spm[self._addresses(written, kept, places)] = results[written][kept]
        for kind, tensor, part in later:
            if kind == Command.STREAM_OUT:
                self._dram[tensor][part] = results[tensor][part]
            else:
                self._store((kind, tensor, part), places)
        return operation.name

    def _initial(self, tensor: int, given: dict[str, Matrix]) -> Bytes:
        record = self._problem.tensors[tensor]
        if not record.in_dram:
            return np.full(record.size_bytes, JUNK, np.uint8)
        name, _, _ = self._tile(tensor)
        if self._is_map(tensor):
            numbers = [given[name][place] for place in self._elements(tensor)] or [0]
            return np.array(numbers, np.int32).view(np.uint8)
        tile = np.ascontiguousarray(given[name][self._slices(tensor)])
        return tile.reshape(-1).view(np.uint8).copy()

    def _tile(self, tensor: int) -> tuple[str, int, int]:
        found = _TILE.fullmatch(self._problem.tensors[tensor].name)
        assert found is not None
        return found[1], int(found[2]), int(found[3])

    def _slices(self, tensor: int) -> tuple[slice, slice]:
        """Rows and columns of its matrix that a tile holds."""
        name, row, column = self._tile(tensor)
        tile = self._grid.tile
        pieces = {"M": tile.m, "K": tile.k, "N": tile.n}
        high, wide = (pieces[axis] for axis in _AXES[name])
        return (slice(row * high, (row + 1) * high), slice(column * wide, (column + 1) * wide))

    def _command(self, row: int) -> tuple[int, int, slice]:
        commands = self._schedule.commands
        part = slice(int(commands.begin[row]), int(commands.end[row]))
        return int(commands.kind[row]), int(commands.tensor[row]), part

    def _places(self, step: int) -> dict[tuple[int, int], int]:
        """SPM page of each (tensor, page) in this step; no two share one."""
        table = self._schedule.placements
        now = table.take((table.begin <= step) & (step < table.end))
        places: dict[tuple[int, int], int] = {}
        columns = (now.tensor, now.tensor_page, now.pages, now.spm_page)
        for tensor, first, pages, at in zip(*(c.tolist() for c in columns), strict=True):
            places.update({(tensor, first + page): at + page for page in range(pages)})
        assert len(set(places.values())) == len(places)
        return places

    def _forget(self, places: dict[tuple[int, int], int]) -> None:
        free = np.ones(self._problem.machine.spm_pages, np.bool_)
        free[list(places.values())] = False
        self._spm.reshape(-1, self._page)[free] = JUNK

    def _addresses(self, tensor: int, part: slice, places: dict[tuple[int, int], int]) -> Ints:
        offsets = np.arange(part.start, part.stop)
        pages = [places[tensor, page] for page in (offsets // self._page).tolist()]
        addresses: Ints = np.array(pages, np.int64) * self._page + offsets % self._page
        return addresses

    def _load(self, command: tuple[int, int, slice], places: dict[tuple[int, int], int]) -> None:
        _, tensor, part = command
        self._spm[self._addresses(tensor, part, places)] = self._dram[tensor][part]

    def _store(self, command: tuple[int, int, slice], places: dict[tuple[int, int], int]) -> None:
        _, tensor, part = command
        self._dram[tensor][part] = self._spm[self._addresses(tensor, part, places)]

    def _resident(self, tensor: int, step: int) -> int:
        table = self._schedule.residency
        here = (table.tensor == tensor) & (table.begin <= step) & (step < table.end)
        return int(table.size_bytes[here].sum())

    def _inputs(
        self,
        operation: Operation,
        step: int,
        places: dict[tuple[int, int], int],
        streams: list[tuple[int, int, slice]],
    ) -> dict[int, Bytes]:
        """What the operation sees of each tensor that it reads: junk where nothing is there."""
        seen: dict[int, Bytes] = {}
        for tensor in operation.reads:
            size = self._problem.tensors[tensor].size_bytes
            seen[tensor] = np.full(size, JUNK, np.uint8)
            kept = slice(0, self._resident(tensor, step))
            seen[tensor][kept] = self._spm[self._addresses(tensor, kept, places)]
        for _, tensor, part in streams:
            seen[tensor][part] = self._dram[tensor][part]
        return seen

    def _multiply(self, operation: Operation, inputs: dict[int, Bytes]) -> dict[int, Bytes]:
        """The tile products that an operation is named by, each added to what it writes."""
        tiles = {self._problem.tensors[t].name: self._numbers(t, inputs[t]) for t in inputs}
        results = {}
        for name, written in zip(operation.name.split("+"), operation.writes, strict=True):
            found = _PRODUCT.fullmatch(name)
            assert found is not None
            result, i, k, j = found.groups()
            if result == "dX":
                product, place = tiles[f"dY[{i},{j}]"] @ tiles[f"W[{k},{j}]"].T, (i, k)
            elif result == "dW":
                product, place = tiles[f"X[{i},{k}]"].T @ tiles[f"dY[{i},{j}]"], (k, j)
            else:
                product, place = tiles[f"X[{i},{k}]"] @ tiles[f"W[{k},{j}]"], (i, j)
            assert self._tile(written) == (result, *map(int, place))
            if self._is_map(written):
                product = self._folded(written, product)
            before = inputs.get(written)
            # What is in a result's tile is a sum of the same shape: no window is unfolded.
            shape = product.shape
            total = product if before is None else product + before.view(np.int32).reshape(shape)
            results[written] = _bytes(total)
        return results

    def _add(self, operation: Operation, inputs: dict[int, Bytes]) -> dict[int, Bytes]:
        """The sum of all that an operation reads, all partial sums of one tile."""
        (written,) = operation.writes
        assert {self._tile(tensor) for tensor in inputs} == {self._tile(written)}
        numbers = [seen.view(np.int32) for seen in inputs.values()]
        return {written: _bytes(np.sum(numbers, axis=0))}

    def _folded(self, tensor: int, product: Matrix) -> Matrix:
        """Add up rows of im2col in the elements of the feature map that they stand for."""
        window, rows, columns = self._grid.layer.window, *self._ranges(tensor)
        assert window is not None
        place = {each: number for number, each in enumerate(self._elements(tensor))}
        total: Matrix = np.zeros(max(1, len(place)), np.int32)
        for (row, column), number in np.ndenumerate(product):
            found = element(window, rows[row], columns[column])
            if found is not None:
                total[place[found]] += number
        return total

    def _unfolded(self, tensor: int, seen: Bytes) -> Matrix:
        """The rows of im2col that a tile of the feature map gives the array."""
        window, rows, columns = self._grid.layer.window, *self._ranges(tensor)
        assert window is not None
        numbers = dict(zip(self._elements(tensor), seen.view(np.int32).tolist(), strict=False))
        found = [[element(window, row, column) for column in columns] for row in rows]
        return np.array([[0 if e is None else numbers[e] for e in line] for line in found])

    def _numbers(self, tensor: int, seen: Bytes) -> Matrix:
        if self._is_map(tensor):
            name = self._tile(tensor)[0]
            return self._unfolded(tensor, seen) if name == "X" else seen.view(np.int32)
        rows, _ = self._slices(tensor)
        name, _, _ = self._tile(tensor)
        length = {"M": self._grid.layer.m, "K": self._grid.layer.k}[_AXES[name][0]]
        numbers: Matrix = seen.view(np.int32).reshape(min(rows.stop, length) - rows.start, -1)
        return numbers


def _bytes(numbers: Matrix) -> Bytes:
    return np.ascontiguousarray(numbers, np.int32).reshape(-1).view(np.uint8)
