"""Run the tile products of a schedule with numbers, by the executor of commands.

Independent of the verifier: bytes move only as the commands say, and an operation sees only what
the scratchpad and the streams of its step give it; all else is poison.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spmopt.core.operation import Operation
from spmopt.core.problem import Problem
from spmopt.core.schedule import Schedule
from spmopt.execution.commands import machine_program
from spmopt.execution.executor import execute
from spmopt.execution.memory import Bytes
from spmopt.tiles.layer import TileGrid
from tests.tiles.maps import element, sizes, touched

Matrix = NDArray[np.int32]
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
    kernel = _Tiles(grid, problem)
    contents = [kernel.initial(tensor, given) for tensor in range(len(problem.tensors))]
    done = execute(machine_program(problem, schedule), contents, kernel)
    dx, dw, y = (kernel.matrix(name, done.contents) for name in ("dX", "dW", "Y"))
    return Computed(dx=dx, dw=dw, y=y, ran=kernel.ran)


class _Tiles:
    """Kernel of tile products, which notes the names of the operations that ran."""

    def __init__(self, grid: TileGrid, problem: Problem) -> None:
        self._grid, self._problem = grid, problem
        self.ran: list[str] = []

    def __call__(self, index: int, operands: Sequence[Bytes]) -> list[Bytes]:
        operation = self._problem.operations[index]
        self.ran.append(operation.name)
        inputs = dict(zip(operation.reads, operands, strict=True))
        return (self._add if operation.kind == "sum" else self._multiply)(operation, inputs)

    def matrix(self, name: str, dram: Sequence[Bytes]) -> Matrix:
        """A matrix, put together from its tiles in DRAM; of a feature map, whose tiles overlap,
        what they have in common is added up.
        """
        layer = self._grid.layer
        if name == "dX" and layer.window is not None:
            return self._map(dram)
        lengths = {"M": layer.m, "K": layer.k, "N": layer.n}
        whole: Matrix = np.zeros([lengths[axis] for axis in _AXES[name]], np.int32)
        for tensor, record in enumerate(self._problem.tensors):
            if record.name.startswith(f"{name}["):
                part = self._slices(tensor)
                shape = whole[part].shape
                whole[part] = dram[tensor].view(np.int32).reshape(shape)
        return whole

    def _map(self, dram: Sequence[Bytes]) -> Matrix:
        whole: Matrix = np.zeros(sizes(self._grid.layer), np.int32)
        for tensor, record in enumerate(self._problem.tensors):
            if record.name.startswith("dX["):
                places = self._elements(tensor)
                numbers = dram[tensor].view(np.int32)
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

    def initial(self, tensor: int, given: dict[str, Matrix]) -> Bytes | None:
        """Bytes of a tensor in DRAM at the start."""
        if not self._problem.tensors[tensor].in_dram:
            return None
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

    def _multiply(self, operation: Operation, inputs: dict[int, Bytes]) -> list[Bytes]:
        """The tile products that an operation is named by, each added to what it writes."""
        tiles = {self._problem.tensors[t].name: self._numbers(t, inputs[t]) for t in inputs}
        results = []
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
            results.append(_bytes(total))
        return results

    def _add(self, operation: Operation, inputs: dict[int, Bytes]) -> list[Bytes]:
        """The sum of all that an operation reads, all partial sums of one tile."""
        (written,) = operation.writes
        assert {self._tile(tensor) for tensor in inputs} == {self._tile(written)}
        numbers = [seen.view(np.int32) for seen in inputs.values()]
        return [_bytes(np.sum(numbers, axis=0))]

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
