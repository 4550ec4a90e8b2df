"""One verified result, and all that there is to see of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from spmopt.analysis import Analysis
from spmopt.api.drawn import Drawn
from spmopt.api.shown import Shown
from spmopt.audit import audit
from spmopt.core.errors import ScheduleError
from spmopt.core.instance import Instance
from spmopt.core.result import Result
from spmopt.core.schedule import Schedule
from spmopt.io.document import write_text
from spmopt.io.files import StoredResult, read_result, write_result
from spmopt.report.analysis import analysis_parts
from spmopt.report.headings import require_schedule
from spmopt.report.page import page_of
from spmopt.report.results import result_parts
from spmopt.report.schedule_view import ScheduleView
from spmopt.report.tables import Part
from spmopt.report.trace import trace_events, trace_text


@dataclass(frozen=True, eq=False, repr=False)
class Solved(Shown):
    """A result of :func:`spmopt.api.solve`, or of a file.

    Its figures are those of ``result``: ``status``, ``value`` and ``bound`` (exact, in units of
    ``result.objective``), ``gap``, ``schedule``, ``totals``.
    """

    stored: StoredResult

    @property
    def instance(self) -> Instance:
        """What was scheduled."""
        return self.stored.instance

    @property
    def result(self) -> Result:
        """The verified schedule, its figures and its bound."""
        return self.stored.result

    def parts(self) -> Iterator[Part]:
        """As ``spmopt solve`` prints it."""
        yield from result_parts(self.instance, self.result)

    def picture(self, *, timing: str = "steps") -> ScheduleView:
        """All that can be seen of the schedule, as arrays; ``timing``: ``steps`` or ``replay``.

        Raises
        ------
        InputError
            There is no schedule, or nothing of it can be shown.
        """
        _required(self)
        return ScheduleView.of(self.stored, timing=timing)

    def draw(self, picture: str = "map", *, timing: str = "steps") -> Drawn:
        """A picture by its name in ``spmopt plot --picture``; a notebook shows it, ``save`` too."""
        return drawn(picture, [self.picture(timing=timing)])

    def analyse(self, per: str | None = None) -> Analysed:
        """Where time and traffic go: by ``operation``, ``layer``, ``tensor`` or ``use``, too."""
        return Analysed(self.instance, self.result, _required(self), per)

    def save(self, path: str | Path) -> None:
        """Write a result file, as ``spmopt solve -o``."""
        write_result(Path(path), self.stored)

    def save_page(self, path: str | Path, other: Solved | None = None) -> None:
        """Write a page (HTML) of this schedule, or of this and another of the same instance."""
        shown = (self,) if other is None else (self, other)
        write_text(Path(path), page_of([each.picture() for each in shown]))

    def save_trace(self, path: str | Path, *, timing: str = "steps") -> None:
        """Write a trace for https://ui.perfetto.dev, as ``spmopt trace``."""
        picture = self.picture(timing=timing)
        write_text(Path(path), trace_text(picture, trace_events(picture)))


@dataclass(frozen=True, eq=False, repr=False)
class Analysed(Shown):
    """Where the time, traffic and reuse of a schedule go."""

    instance: Instance
    result: Result
    schedule: Schedule
    per: str | None
    analysis: Analysis = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "analysis", Analysis.of(self.instance, self.schedule))

    def parts(self) -> Iterator[Part]:
        """As ``spmopt analyze`` prints it."""
        yield from analysis_parts(self.analysis, self.result, self.per)


def read(path: str | Path) -> Solved:
    """Read and verify a result file.

    Raises
    ------
    InputError
        It cannot be read.
    ScheduleError
        Its schedule breaks a rule, or something that it claims is not true.
    """
    stored = read_result(Path(path))
    violations = audit(stored.instance, stored.result).violations
    if violations:
        raise ScheduleError(f"{path}: not verified: {violations[0]}")
    return Solved(stored)


def drawn(name: str, pictures: Sequence[ScheduleView]) -> Drawn:
    """A picture of one schedule, or of two, by its name in ``spmopt plot --picture``."""

    def write(path: Path) -> None:
        # Only a picture needs matplotlib.
        from spmopt.report.plots.schedule import save_picture

        save_picture(name, pictures, path)

    made = " and ".join(each.result.scheduler for each in pictures)
    return Drawn(f"{name} of {pictures[0].instance.name}, {made}", write)


def _required(solved: Solved) -> Schedule:
    where = f"{solved.instance.name}, {solved.result.scheduler}"
    return require_schedule(where, solved.instance, solved.result)
