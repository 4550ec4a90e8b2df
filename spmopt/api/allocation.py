"""Addresses for buffers of known lifetimes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from spmopt.api.arguments import check
from spmopt.api.callbacks import QUIET, Callbacks
from spmopt.api.shown import Shown
from spmopt.core.errors import ArgumentError, InputError

if TYPE_CHECKING:
    from spmopt.core.params import SolveParams
    from spmopt.core.placement import Buffer, Placed, Placement
    from spmopt.reporting.tables import Part

_TARGET = "formulations.placement.place"  # by name: it loads a solver


@dataclass(frozen=True, eq=False, repr=False)
class BufferPlacement(Shown):
    """Offsets of buffers in one memory.

    Attributes
    ----------
    buffers
        Buffers to place.
    placed
        Offsets and height in bytes, where a placement was found, and a proved bound.
    minimized
        Whether the height was to be least.
    stopped
        Whether the search was stopped.
    """

    buffers: Sequence[Buffer]
    placed: Placed
    minimized: bool = False
    stopped: bool = False

    @property
    def fixed(self) -> int:
        """Number of buffers whose offset was given."""
        return sum(buffer.fixed_bytes is not None for buffer in self.buffers)

    @property
    def is_infeasible(self) -> bool:
        """Whether it is proved that no placement fits the capacity."""
        from spmopt.core.result import Status

        return self.placed.status is Status.INFEASIBLE

    def parts(self) -> Iterator[Part]:
        """Yield the result in one line."""
        from spmopt.reporting.tables import Line

        yield Line(text=self.sentence())

    def sentence(self) -> str:
        """Return the result as a sentence."""
        found = self.placed
        if found.placement is None:
            until = "until the interruption" if self.stopped else "within the limits"
            return f"no placement found {until}; none is lower than {found.bound_bytes} bytes"
        return self._find(found.placement)

    def _find(self, placement: Placement) -> str:
        from spmopt.reporting.quantities import percent

        gap = self.placed.gap or 0
        over = percent(gap, by="over", of="the least", up=True).removeprefix("+")
        known = f"at most {over}" if gap else "the least"
        more = ""
        count = len(self.buffers)
        what = "1 buffer" if count == 1 else f"{count} buffers"
        if self.fixed:
            what += (
                ", all fixed by the file,"
                if self.fixed == count
                else f", {self.fixed} of them fixed,"
            )
            known += " with fixed offsets as they are"
        if self.placed.method == "hints":
            what += " where the hints have them"
            more = "" if self.minimized or gap == 0 else "; --minimize looks for less"
        height = f"{placement.height_bytes} bytes"
        return f"{what} in {height} ({known}, {self.placed.bound_bytes} needed{more})"

    def record(self) -> Mapping[str, object]:
        """Return figures, as ``spmopt allocate --json``."""
        from spmopt.reporting.results import conflict_record

        found = self.placed
        return {
            "buffers": len(self.buffers),
            "fixed": self.fixed,
            "status": found.status.value,
            "height_bytes": None if found.placement is None else found.placement.height_bytes,
            "bound_bytes": found.bound_bytes,
            "gap": found.gap,
            "method": found.method,
            "conflict": conflict_record(found.conflict),
        }

    def rows(self) -> Sequence[Mapping[str, object]]:
        """Return a row for each buffer."""
        offsets = self.placed.placement
        return [
            {
                "name": buffer.name,
                "lower": buffer.lower,
                "upper": buffer.upper,
                "size_bytes": buffer.size_bytes,
                "offset_bytes": None if offsets is None else offsets.offsets_bytes[number],
            }
            for number, buffer in enumerate(self.buffers)
        ]

    def save(self, path: str | Path) -> None:
        """Write the table of buffers with their offsets; nothing where none were found."""
        from spmopt.io.minimalloc import write_buffers

        # Without offsets the file would be a copy of the input.
        if self.placed.placement is not None:
            write_buffers(Path(path), self.buffers, self.placed.placement.offsets_bytes)


@check
def place(
    buffers: str | Path | Sequence[Buffer],
    *,
    capacity: str | int | None = None,
    minimize: bool = False,
    time_limit: float = 60.0,
    params: SolveParams | str | Path | None = None,
    callbacks: Callbacks = QUIET,
) -> BufferPlacement:
    """Assign offsets in one memory to buffers with known lifetimes.

    Parameters
    ----------
    buffers
        Buffers, or a CSV file as that of MiniMalloc.
    capacity
        Size of the memory, e.g. 1MiB; an integer is in bytes.
    minimize
        Minimize the peak, and prove a bound.
    time_limit
        Time limit of the search, in seconds.
    params
        Parameters of the search: a TOML file, or SolveParams.
    callbacks
        Receive heights and bounds as they improve, and stop the search.

    Returns
    -------
    BufferPlacement
        A placement, where one was found, and a proved bound on its height.

    Raises
    ------
    InputError
        A file that cannot be read, or neither capacity nor ``minimize``.
    """
    from spmopt.core.params import SolveParams
    from spmopt.core.scheduler import Incumbent, Request
    from spmopt.core.units import Dimension, parse_quantity
    from spmopt.io.minimalloc import read_buffers

    if capacity is None and not minimize:
        raise InputError("give capacity, or minimize for the least height")
    # Written so that nan fails, too.
    if not time_limit > 0:
        raise ArgumentError("time_limit", f" {time_limit}: must be more than 0 seconds")
    size = capacity
    if isinstance(size, str):
        size = parse_quantity(size, Dimension.BYTES, "capacity")
    name = ""
    if isinstance(buffers, str | Path):
        name, buffers = Path(buffers).name, read_buffers(Path(buffers))
    search = import_module(_TARGET)
    callbacks.progress("placing", None)

    def better(news: Incumbent) -> None:
        callbacks.on_incumbent(replace(news, scheduler=name))

    request = Request(
        time_limit_s=time_limit,
        stop=callbacks.stop,
        on_incumbent=better,
        params=SolveParams.of(params),
    )
    # Deciding a capacity is far easier than proving a least height.
    placed = search.place(buffers, size, request, lowest=minimize)
    return BufferPlacement(buffers, placed, minimize, callbacks.stop())
