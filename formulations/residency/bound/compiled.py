"""The dual by compiled code (``dual.c``), where the installation has it: the same bits, sooner.

``dual.py`` and ``program/paths.py`` compute the same with NumPy. ``SPMOPT_KERNEL=numpy`` in the
environment chooses that way.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from ctypes import Structure, byref, c_double, c_int64, c_void_p
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from formulations.residency.bound.duals import MoveDuals
from formulations.residency.bound.ranked import RankedIntervals
from formulations.solver.program import Floats
from spmopt.core.table import Ints

LIBRARY = "libspmopt_dual"
"""File beside this one, with the ending of the platform's shared libraries."""
# As in the source in C: steps of a block of minima, and ways to move.
_BLOCK = 16
_WAYS_TO_MOVE = 4
_SHARE, _SHARES = 20_000, 4
"""Accesses that are worth a share of their own, and most shares. Sums of floats depend on the
shares, so that these do not depend on the threads."""


States = NDArray[np.int8]


@dataclass(frozen=True, kw_only=True, eq=False)
class CheapestSteps:
    """Step (a,) of the cheapest load, store before leaving, and store, within each interval."""

    load_at: Ints
    drop_at: Ints
    clean_at: Ints


@cache
def library() -> ctypes.CDLL | None:
    """Load the compiled code; None where there is none, or the environment says NumPy."""
    if os.environ.get("SPMOPT_KERNEL") == "numpy":
        return None
    for path in Path(__file__).parent.glob(f"{LIBRARY}.*"):
        try:
            code = ctypes.CDLL(str(path))
        except OSError:  # built for another platform
            continue
        if _is_of_this_source(code):
            return code
    return None


def failure() -> str | None:
    """Say in a line why NumPy does the work; None where the library does it, or need not."""
    if os.environ.get("SPMOPT_KERNEL") == "numpy" or library() is not None:
        return None
    found = any(Path(__file__).parent.glob(f"{LIBRARY}.*"))
    state = "of another version" if found else "missing"
    return (
        f"the compiled code of bounds is {state}: NumPy does its work, up to 15 times slower; "
        "where there is a C compiler, install spmopt again, or run 'python -m "
        "formulations.compile_kernel' in a checkout"
    )


def _is_of_this_source(code: ctypes.CDLL) -> bool:
    """Return whether the library was compiled from the ``dual.c`` beside it."""
    if not hasattr(code, "source"):
        return False
    code.source.restype = ctypes.c_char_p
    text = Path(__file__).with_name("dual.c").read_bytes()
    return bool(code.source().decode() == sha256(text).hexdigest())


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="dual")


def _structure(name: str, *fields: tuple[str, Any]) -> type[Structure]:
    return type(name, (Structure,), {"_fields_": list(fields)})


def _arrays(name: str, *fields: str) -> type[Structure]:
    return _structure(name, *((field, c_void_p) for field in fields))


_INTERVALS = _structure(
    "Intervals",
    *((name, c_int64) for name in ("accesses", "steps", "period", "ranks")),
    *((name, c_void_p) for name in ("slice", "step", "begin", "flags", "size", "fetches", "ratio")),
    *((name, c_void_p) for name in ("moved", "streamed")),
    *((name, c_double) for name in ("used_moved", "used_streamed")),
)
_MINIMA = ("value", "prefix", "suffix", "sparse")
_DUALS = _structure(
    "Duals",
    *((name, c_void_p) for name in ("loaded", "stored", "held", "held_before")),
    *((name, c_double) for name in ("loaded_fixed", "stored_fixed", "in_byte", "out_byte")),
    *((name, c_double) for name in ("unpacked", "packed")),
    ("blocks", c_int64),
    *((name, c_void_p) for name in _MINIMA),
)
_ENTERED = ("dirty_in", "clean_in", "gone_in", "dirty", "clean", "gone", "bypass")
_COSTS = _arrays("Costs", *_ENTERED, "best")
_POSITIONS, _STATES = ("load_at", "drop_at", "clean_at"), ("after", "arrived", "before")
_WAYS = ("arrive_dirty", "arrive_clean", "arrive_gone", "from_clean", "from_gone")
_CHOICES = _arrays("Choices", *_POSITIONS, *_WAYS, *_STATES)
_USED = ("held", "into", "out")
_USE = _arrays("Use", *_USED)
_ARCS = ("hold", "load", "drop", "clean", "keep_here", "load_here", "clean_here", "stream")
_ARC_COLUMNS = _arrays("ArcColumns", *_ARCS, *_POSITIONS)


class _Record:
    """A structure of pointers, and the arrays that they point to."""

    def __init__(self, kind: type[Structure], **values: Any) -> None:
        self.values = values
        self.structure = kind(
            **{
                name: value.ctypes.data if isinstance(value, np.ndarray) else value
                for name, value in values.items()
            }
        )

    def __getitem__(self, name: str) -> Any:
        return self.values[name]


class Kernel:
    """Compiled evaluation of the dual of some accesses; one evaluation at a time.

    Its arrays are those of the latest evaluation, for ``duals``.
    """

    def __init__(self, code: ctypes.CDLL, intervals: RankedIntervals) -> None:
        self._code = code
        self.duals: MoveDuals | None = None
        count, ratios = intervals.step.size, intervals.line.moved.ratios[0].size
        # Those of each ratio, one after the other.
        steps = ratios * intervals.steps
        starts = np.array([0, *(stop for _, stop in intervals.slices)], np.int64)
        self._tensors = int(starts[1])
        self._intervals = _Record(
            _INTERVALS,
            accesses=count,
            steps=steps,
            period=intervals.steps,
            ranks=len(intervals.slices),
            slice=starts,
            step=intervals.at.astype(np.int32),
            begin=(intervals.begin + intervals.offset).astype(np.int32),
            flags=_flags(intervals),
            size=intervals.size_bytes.astype(np.float64),
            fetches=intervals.fetches.astype(np.float64),
            ratio=intervals.ratio,
            moved=None if intervals.setups is None else intervals.setups.moved,
            streamed=None if intervals.setups is None else intervals.setups.streamed,
            used_moved=0.0 if intervals.setups is None else intervals.setups.used_moved,
            used_streamed=0.0 if intervals.setups is None else intervals.setups.used_streamed,
        )
        self.blocks = max(-(-steps // _BLOCK), 1)
        entries = (steps, steps, steps, self.blocks * self.blocks.bit_length())
        self._minima = {
            name: np.empty((max(entry, 1), _WAYS_TO_MOVE))
            for name, entry in zip(_MINIMA, entries, strict=True)
        }
        self._held_before = np.empty(steps + 1)
        self._at = _Record(
            _DUALS, held_before=self._held_before, blocks=self.blocks, **self._minima
        ).structure
        self._count, self._steps, self._ratios = count, steps, ratios
        self._offset = intervals.offset
        self.shares = self._cut(intervals, max(1, min(_SHARES, count // _SHARE, self._tensors)))
        self.workers = min(intervals.threads, len(self.shares))

    @cached_property
    def _path(self) -> tuple[_Record, _Record, list[_Record], Floats]:
        """Buffers of an evaluation: costs after each access, choices, and the use of each share.

        The last is (shares, 3, n + 2), the use of each once more.
        """
        few = {name: np.empty(self._count) for name in ("dirty", "clean", "gone", "best")}
        positions = {name: np.empty(self._count, np.int32) for name in _POSITIONS}
        ways = {name: np.empty(self._count, np.uint8) for name in _WAYS}
        states = {name: np.empty(self._count, np.int8) for name in _STATES}
        used = np.empty((len(self.shares), 3, self._steps + 2))
        use = [_Record(_USE, **dict(zip(_USED, rows, strict=True))) for rows in used]
        return _Record(_COSTS, **few), _Record(_CHOICES, **positions, **ways, **states), use, used

    def evaluate(self, duals: MoveDuals) -> None:
        """Find cheapest paths and the use of their bytes, unless known for these dual values."""
        if self.duals is duals:
            return
        cost, choice, use, used = self._path
        self.duals = None
        at = self._prepare(duals)
        intervals = self._intervals.structure

        def descend(share: int) -> None:
            first, last = self.shares[share]
            used[share].fill(0.0)
            mine, tensors = byref(use[share].structure), (c_int64(first), c_int64(last))
            costs, choices = byref(cost.structure), byref(choice.structure)
            self._code.forward(byref(intervals), byref(at), costs, choices, *tensors)
            self._code.trace(byref(intervals), byref(at), costs, choices, mine, *tensors)

        self._for_each(descend)
        self.duals = duals

    @property
    def best(self) -> Floats:
        """(a,) Cost of the cheapest path up to each access, and on to the end at the last ones."""
        result: Floats = self._path[0]["best"]
        return result

    def use(self) -> tuple[Floats, Floats, Floats]:
        """Return (n,) bytes that the paths hold in each step, read and write."""
        # The last entries stand for no step: infinite cost everywhere.
        held, into, out = self._path[3].sum(axis=0)[:, :-2]
        columns = (np.cumsum(held), into, out)
        if self._ratios == 1:
            return columns
        return tuple(each.reshape(self._ratios, -1).sum(axis=0) for each in columns)

    def states(self) -> tuple[CheapestSteps, States, States, States]:
        """Return (a,) the cheapest steps, and the path's states after, on and before arrival."""
        choice = self._path[1]
        steps = CheapestSteps(
            **{name: choice[name].astype(np.int64) - self._offset for name in _POSITIONS}
        )
        return steps, choice["after"], choice["arrived"], choice["before"]

    def ahead(self, duals: MoveDuals) -> dict[str, Floats]:
        """Return cheapest costs (a,) up to each state of each access."""
        cost, at = self._costs(), self._prepare(duals)
        self._sweep(self._code.forward, byref(at), byref(cost.structure), None)
        return cost.values

    def back(self, duals: MoveDuals) -> dict[str, Floats]:
        """Return cheapest costs (a,) to go on from each state of each access."""
        cost, at = self._costs(), self._prepare(duals)
        self._sweep(self._code.backward, byref(at), byref(cost.structure))
        del cost.values["best"]
        return cost.values

    def arcs(self, duals: MoveDuals) -> dict[str, Any]:
        """Return the costs of all arcs (a,), and the cheapest steps."""
        at = self._prepare(duals)
        costs = {name: np.empty(self._count) for name in _ARCS}
        positions = {name: np.empty(self._count, np.int64) for name in _POSITIONS}
        to = _Record(_ARC_COLUMNS, **costs, **positions)
        self._code.arcs(byref(self._intervals.structure), byref(at), byref(to.structure))
        return costs | {name: each - self._offset for name, each in positions.items()}

    def _costs(self) -> _Record:
        return _Record(_COSTS, **{name: np.empty(self._count) for name in (*_ENTERED, "best")})

    def _prepare(self, duals: MoveDuals) -> Structure:
        """Lay out the dual values, and the minima over steps; earlier evaluations are gone."""
        self.duals = None
        at = self._at
        # A structure made anew each time took a fifth of the time of a step on small problems.
        at.loaded, at.stored = duals.loaded.ctypes.data, duals.stored.ctypes.data
        at.held = duals.held.ctypes.data
        at.loaded_fixed, at.stored_fixed = duals.loaded_fixed, duals.stored_fixed
        at.in_byte, at.out_byte = duals.in_byte, duals.out_byte
        at.unpacked, at.packed = duals.unpacked, duals.packed
        self._code.prepare(byref(self._intervals.structure), byref(at))
        return at

    def _sweep(self, function: Callable[..., None], *arguments: Any) -> None:
        """Call a function for the tensors of each share."""
        intervals = byref(self._intervals.structure)

        def call(share: int) -> None:
            first, last = self.shares[share]
            function(intervals, *arguments, c_int64(first), c_int64(last))

        self._for_each(call)

    def _for_each(self, call: Callable[[int], None]) -> None:
        """Call for each share, in threads: their outputs are apart."""
        if self.workers == 1:
            for share in range(len(self.shares)):
                call(share)
        else:
            list(_pool(self.workers).map(call, range(len(self.shares))))

    def _cut(self, intervals: RankedIntervals, parts: int) -> list[tuple[int, int]]:
        """Cut the tensors, as they stand in the first slice, into shares of about equal work."""
        lengths = np.diff([0, *(stop for _, stop in intervals.slices)])
        accesses = np.cumsum(np.searchsorted(-lengths, -np.arange(self._tensors), side="left"))
        cuts = np.searchsorted(accesses, np.arange(1, parts) * self._count / parts)
        bounds = [0, *np.unique(cuts).tolist(), self._tensors]
        return [(a, b) for a, b in pairwise(bounds) if a < b]


def _flags(intervals: RankedIntervals) -> NDArray[np.uint16]:
    """Return (a,) flags of each access for the code, a bit each."""
    bits = (
        intervals.read,
        intervals.write,
        intervals.required_resident,
        intervals.dead,
        intervals.live,
        intervals.from_dram,
        intervals.final,
        intervals.dirty,
        intervals.absent,
        intervals.early,
    )
    result: NDArray[np.uint16] = sum(
        (bit.astype(np.uint16) << place for place, bit in enumerate(bits)),
        np.zeros(intervals.step.size, np.uint16),
    )
    return result


_kernels: WeakKeyDictionary[RankedIntervals, Kernel] = WeakKeyDictionary()


def kernel_of(intervals: RankedIntervals) -> Kernel | None:
    """Return the compiled dual of these accesses, made once; None where there is no such code."""
    code = library()
    if code is None or not intervals.step.size:
        return None
    found = _kernels.get(intervals)
    if found is None:
        found = _kernels[intervals] = Kernel(code, intervals)
    return found
