"""Steps of all operations as one binary file, of the records in ``spmopt_operators.h``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spmopt.execution.emission.binary import SECTION, Names, sections
from spmopt.execution.emission.lines import VERSION
from spmopt.execution.emission.reference.steps import Step, Steps, View, type_code

MAGIC = b"SPMOPTOP"
_WORD, _LONG, _INTEGER, _NUMBER = np.dtype("<u4"), np.dtype("<u8"), np.dtype("<i8"), np.dtype("<f8")
_SECTIONS = ("results", "tasks", "buffers", "steps", "views", "integers", "numbers", "names")
HEADER = np.dtype(
    [
        ("magic", "S8"),
        ("version", _WORD),
        ("unused", _WORD),
        *((name, SECTION) for name in _SECTIONS),
    ]
)
RESULT = np.dtype([("type", _WORD), ("compared", _WORD), ("allowed", _NUMBER)])


def _words(*names: str) -> list[tuple[str, np.dtype[np.uint32]]]:
    return [(name, _WORD) for name in names]


TASK = np.dtype(_words("first_buffer", "buffers", "first_step", "steps"))
BUFFER = np.dtype([*_words("use", "place", "type", "unused"), ("elements", _LONG)])
STEP = np.dtype(
    [
        *_words("kernel", "first_view", "results", "operands"),
        *_words("first_integer", "integers", "first_number", "numbers"),
    ]
)
VIEW = np.dtype(
    [*_words("buffer", "rank", "first_integer", "unused"), ("offset", _LONG), ("elements", _LONG)]
)


def binary(
    tasks: Sequence[Steps],
    dtypes: Sequence[np.dtype[Any] | None],
    allowed: Sequence[float | None],
) -> bytes:
    """Return the content of ``operators.bin``.

    Parameters
    ----------
    tasks
        By operation.
    dtypes : (m,)
        Types of the elements of tensors.
    allowed : (m,)
        By how much elements of tensors may differ from what is expected; None where they are not
        compared.
    """
    tables = _Tables()
    for each in tasks:
        tables.add(each)
    rows = [
        (type_code(dtype), limit is not None, limit or 0.0)
        for dtype, limit in zip(dtypes, allowed, strict=True)
    ]
    content: dict[str, NDArray[np.generic]] = {
        "results": np.array(rows, RESULT),
        "tasks": np.array(tables.tasks, TASK),
        "buffers": np.array(tables.buffers, BUFFER),
        "steps": np.array(tables.steps, STEP),
        "views": np.array(tables.views, VIEW),
        "integers": np.array(tables.integers, _INTEGER),
        "numbers": np.array(tables.numbers, _NUMBER),
        "names": np.frombuffer(bytes(tables.names.text), np.uint8),
    }
    header = np.zeros(1, HEADER)
    header["magic"], header["version"] = MAGIC, VERSION
    return sections(header, content)


@dataclass
class _Tables:
    """Records, one after the other; integers and numbers that are the same are there once."""

    tasks: list[tuple[int, ...]] = field(default_factory=list)
    buffers: list[tuple[int, ...]] = field(default_factory=list)
    steps: list[tuple[int, ...]] = field(default_factory=list)
    views: list[tuple[int, ...]] = field(default_factory=list)
    integers: list[int] = field(default_factory=list)
    numbers: list[float] = field(default_factory=list)
    names: Names = field(default_factory=Names)
    _places: dict[tuple[float, ...], int] = field(default_factory=dict)

    def add(self, task: Steps) -> None:
        """Add the steps of an operation."""
        at = len(self.buffers), len(task.buffers), len(self.steps), len(task.steps)
        self.tasks.append(at)
        for each in task.buffers:
            self.buffers.append((each.use, each.place, each.type, 0, each.array.size))
        for step in task.steps:
            self._add_step(step)

    def _add_step(self, step: Step) -> None:
        first = len(self.views)
        for each in (*step.results, *step.operands):
            self._add_view(each)
        number = len(self.numbers)
        self.numbers += step.numbers
        counts = len(step.results), len(step.operands)
        integers = self._integers(step.integers), len(step.integers)
        name = self.names.place(step.kernel)
        self.steps.append((name, first, *counts, *integers, number, len(step.numbers)))

    def _add_view(self, view: View) -> None:
        place = self._integers((*view.shape, *view.strides))
        elements = int(np.prod(view.shape, dtype=np.int64))
        self.views.append((view.buffer, len(view.shape), place, 0, view.offset, elements))

    def _integers(self, given: tuple[int, ...]) -> int:
        """Return where integers begin."""
        if given not in self._places:
            self._places[given] = len(self.integers)
            self.integers += given
        return self._places[given]
