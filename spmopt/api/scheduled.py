"""Scheduling: one scheduler, or several against one bound."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from spmopt.api.drawn import Drawn
from spmopt.api.shown import Shown
from spmopt.api.solved import Solved, drawn
from spmopt.cli.inputs import make_request
from spmopt.cli.options import Search
from spmopt.core.errors import InputError, unknown
from spmopt.core.instance import Instance
from spmopt.core.objective import objective_named
from spmopt.core.result import Result
from spmopt.io.files import StoredResult
from spmopt.report.comparison import compare_view
from spmopt.report.tables import Part
from spmopt.schedulers.registry import COMPARED, COMPARED_BANKS, find
from spmopt.solve import compare as run


@dataclass(frozen=True, eq=False, repr=False)
class Compared(Shown):
    """Results of one instance, held against one certified bound.

    ``compared["page"]`` is the result of a scheduler, by its name.
    """

    instance: Instance
    results: Sequence[Result]

    def __getitem__(self, scheduler: str) -> Solved:
        for result in self.results:
            if result.scheduler == scheduler:
                return Solved(StoredResult.made_here(self.instance, result))
        raise unknown("scheduler of the comparison", scheduler, [r.scheduler for r in self.results])

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[Solved]:
        return (self[result.scheduler] for result in self.results)

    @property
    def best(self) -> Solved:
        """The best schedule; raises :class:`InputError` where there is none."""
        known = [result for result in self.results if result.value is not None]
        if not known:
            raise InputError(f"{self.instance.name}: no scheduler of the comparison has a schedule")
        return self[min(known, key=lambda result: result.value or 0).scheduler]

    def excess(self, scheduler: str) -> tuple[float, float]:
        """How far a schedule is above the optimum of its order, relatively: at least, and at most.

        At least is against the best schedule in the listed order, at most against the bound.

        Raises
        ------
        InputError
            It has no schedule or no bound, or another order than the best one.
        """
        result = self[scheduler].result
        listed = [each.value for each in self.results if each.value and each.order is None]
        if result.value is None or result.gap is None or result.order is not None or not listed:
            raise InputError(
                f"{scheduler}: needs a schedule in the listed order, and a bound on it"
            )
        return float(result.value / min(listed) - 1), result.gap

    def parts(self) -> Iterator[Part]:
        """As ``spmopt compare`` prints it."""
        yield from compare_view(self.instance, self.results).parts()

    def draw(self, first: str, second: str, *, timing: str = "steps") -> Drawn:
        """What each of two schedules keeps that the other does not, as ``spmopt plot`` draws it."""
        return drawn("compare", [self[name].picture(timing=timing) for name in (first, second)])


def solve(
    instance: Instance,
    scheduler: str = "page",
    *,
    objective: str = "time",
    time_limit: float = 60.0,
    tolerance: float = 1e-4,
    threads: int = 2,
) -> Solved:
    """Schedule an instance, verify the schedule and certify its bound.

    Parameters
    ----------
    instance
        Of :func:`spmopt.api.instance`, or :func:`spmopt.io.files.read_instance`.
    scheduler
        A name of ``spmopt schedulers``, with its options after colons.
    objective
        ``time``, ``replay``, ``traffic`` or ``energy``.
    time_limit
        Seconds.
    tolerance
        Gap at which a schedule counts as optimal.
    threads
        That a solver may use.

    Raises
    ------
    InputError
        An unknown scheduler or objective, or one that does not go with the other.
    """
    return compare(
        instance,
        [scheduler],
        objective=objective,
        time_limit=time_limit,
        tolerance=tolerance,
        threads=threads,
    )[find(scheduler).name]


def compare(
    instance: Instance,
    schedulers: Sequence[str] | None = None,
    *,
    objective: str = "time",
    time_limit: float = 60.0,
    tolerance: float = 1e-4,
    threads: int = 2,
) -> Compared:
    """Run several schedulers, all held against the best certified bound.

    ``schedulers`` None: all usual ones that know the objective. Otherwise as :func:`solve`; the
    time limit is for each.
    """
    search = Search(
        objective=objective, time_limit=time_limit, tolerance=tolerance, threads=threads
    )
    request = make_request(search, instance, lambda message, part: None, lambda: False)
    names = _usual(instance, objective) if schedulers is None else schedulers
    if not names:
        raise InputError("schedulers: name at least one")
    return Compared(instance, run(instance, list(dict.fromkeys(names)), request))


def _usual(instance: Instance, objective: str) -> list[str]:
    aim = objective_named(objective, instance.machine)
    usual = COMPARED_BANKS if instance.machine.banks else COMPARED
    return [name for name in usual if find(name).takes(aim)]
