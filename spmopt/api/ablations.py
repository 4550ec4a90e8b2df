"""The worth of each decision about a network: its schedules from DRAM alone to the optimum."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from spmopt.api.arguments import check
from spmopt.api.callbacks import QUIET, Callbacks
from spmopt.api.mapper import relist
from spmopt.api.scheduling import request_for
from spmopt.api.shown import Shown
from spmopt.api.solutions import Solution
from spmopt.api.verifying import require_feasible

if TYPE_CHECKING:
    from spmopt.core.graph import Graph
    from spmopt.core.problem import Problem
    from spmopt.core.result import Result
    from spmopt.core.scheduler import Incumbent, Request
    from spmopt.reporting.ablation import Decision, Key
    from spmopt.reporting.tables import Part
    from spmopt.schedulers.registry import SchedulerEntry

_START, _EXACT = "stream", ("residency", "banks")
"""Schedulers from DRAM alone, and for optimal residency: the first that supports the machine."""
_LIST_SHARE, _SEARCH_SHARE = 0.3, 0.35
"""Of the time limit: for optimal residency, and as much for tiles, in the listed order. Of what is
left then: for the search for an order; the rest is for schedules in it."""


_UNKNOWN = "nobody chooses fusion tiles on such a machine"


@dataclass(frozen=True, eq=False, repr=False)
class Ablation(Shown):
    """The worth of each decision, each with a verified schedule; see :func:`ablation`.

    Attributes
    ----------
    problem
        Scheduled problem: the layer-by-layer plan.
    decisions
        Of the start, and of each decision, the best schedule then known.
    """

    problem: Problem
    decisions: Sequence[Decision]

    @property
    def best(self) -> Solution:
        """Best schedule of all."""
        return self.solutions()[str(self.decisions[-1].key)]

    def solutions(self) -> dict[str, Solution]:
        """Return the best schedule after each decision, by its name: start, policy, and so on."""
        return {str(each.key): Solution.of(each.problem, each.result) for each in self.decisions}

    def parts(self) -> Iterator[Part]:
        """Yield heading, a table of the decisions, and sentences."""
        from spmopt.reporting.ablation import ablation_parts

        yield from ablation_parts(self.problem, self.decisions)

    def record(self) -> Mapping[str, object]:
        """Return problem, sentences and figures, as ``spmopt ablate --json``."""
        from spmopt.reporting.ablation import ablation_record

        return ablation_record(self.problem, self.decisions)

    def rows(self) -> Sequence[Mapping[str, object]]:
        """Return one row of figures a decision."""
        from spmopt.reporting.ablation.record import decision_rows

        return decision_rows(self.decisions)

    def page(self, callbacks: Callbacks = QUIET) -> tuple[str, str, dict[str, object]]:
        """Return a line on the content of a page, its text, and a record of it."""
        from spmopt.reporting.page.sheets import ablation_page

        callbacks.progress("making the page", None)
        text = ablation_page(self.problem, self.decisions)
        about = f"{self.problem.name}: what each decision is worth"
        return about, text, {"decisions": len(self.decisions)}

    def save_solutions(self, folder: str | Path) -> None:
        """Write a result file of each schedule, as start.json and fusion.json."""
        for name, solution in self.solutions().items():
            solution.save(Path(folder) / f"{name}.json")


@check
def ablation(
    problem: Problem,
    *,
    fusion: str | None = None,
    reorder: bool = True,
    time_limit: float = 60.0,
    tolerance: float = 1e-4,
    threads: int = 2,
    callbacks: Callbacks = QUIET,
) -> Ablation:
    """Measure the worth of each decision about a network, from DRAM alone to the optimum.

    One after the other: everything from DRAM, the best greedy rule, optimal residency, fusion tiles
    of the batch, another order of the operations. Each has a verified schedule and, where there is
    one, its certified bound. A schedule no faster than the one before is reported, not taken.

    Parameters
    ----------
    problem
        Result of :func:`lower`, in the order listed.
    fusion
        Fusion space, as for solve; default: all, where fusion is possible.
    reorder
        Search another order of the operations, and schedule in it.
    time_limit
        Time limit of all searches together, in seconds.
    tolerance, threads, callbacks
        As for :func:`solve`.

    Returns
    -------
    Ablation
        Prints a table with sentences; :func:`report` makes a page of it.

    Raises
    ------
    InputError
        An unknown choice of fusion tiles, or one that the problem cannot be computed in.
    InfeasibleError
        No legal schedule exists.
    """
    arguments = dict(locals())
    from spmopt.api.fusion import require_fusion

    request = request_for(problem, "time", arguments)
    require_fusion(fusion)
    teller = _Teller(problem, request, *_fusion_scheduler(problem, fusion))
    teller.tell_list()
    teller.tell_order(reorder)
    return Ablation(problem, teller.decisions)


def _fusion_scheduler(problem: Problem, fusion: str | None) -> tuple[SchedulerEntry | None, str]:
    """Return the scheduler that chooses a fusion plan, or None and the reason."""
    from spmopt.api.fusion import default_fusion, solver
    from spmopt.core.fusion.tileable_graph import tileable_graph_of

    if fusion is None:
        fusion, note = default_fusion(problem, "time")
        if fusion == "none":
            return None, note or _UNKNOWN
    elif fusion == "none":
        return None, "they were not asked for"
    # An explicit choice that is impossible is an error; only the default falls back.
    tileable_graph_of(problem)  # says why not, before anything is scheduled
    return solver(None, fusion, None), ""


class _Teller:
    """Decides one after the other, each from the best schedule so far.

    Attributes
    ----------
    decisions
        Those told so far.
    """

    def __init__(
        self,
        problem: Problem,
        request: Request,
        fusion_scheduler: SchedulerEntry | None,
        unable: str,
    ) -> None:
        self._problem, self._request = problem, request
        self._fusion_scheduler, self._unable = fusion_scheduler, unable
        self.decisions: list[Decision] = []

    def tell_list(self) -> None:
        """Decide all but the order, in one run, so that schedulers find their starts in it."""
        from spmopt.reporting.ablation import Key
        from spmopt.schedulers.registry import Kind, compare_with, find

        usual = map(find, compare_with(self._problem.machine.features))
        rules = [each for each in usual if each.kind is Kind.POLICY and each.name != _START]
        # One run for all, so that formulations start from the policies at no extra cost.
        exact, fusion_scheduler = (
            self._exact(),
            [self._fusion_scheduler] if self._fusion_scheduler else [],
        )
        within = self._within(_LIST_SHARE * self._request.time_limit_s)
        found = self._run(self._problem, [find(_START), *rules, *exact, *fusion_scheduler], within)
        self._begin(found[_START])
        made = [found[each.name] for each in rules if each.name in found]
        # Rules in another order belong to the last decision, not to this one.
        own = [each for each in made if each.value is not None and each.order is None]
        self._decide(Key.POLICY, min(own, key=lambda each: each.value or 0, default=None))
        for key, entries in ((Key.RESIDENCY, exact), (Key.FUSION, fusion_scheduler)):
            why = self._unable if key is Key.FUSION else ""
            self._decide(key, found.get(entries[0].name) if entries else None, why=why)

    def tell_order(self, reorder: bool) -> None:
        """Decide the order: search one, and schedule in it all that was scheduled so far."""
        from spmopt.reporting.ablation import Key
        from spmopt.solving.named_orders import SEARCHED, order_named

        left = self._request.remaining_s()
        if not reorder or left <= 0:
            why = self._reason_undone if reorder else "none was asked for"
            self._decide(Key.ORDER, None, why=why)
            return
        self._request.report("searching orders", None)
        order = order_named(self._problem, SEARCHED, self._within(_SEARCH_SHARE * left))
        left = self._request.remaining_s()
        if order is None:
            self._decide(Key.ORDER, None, why="none of those compared is faster than that listed")
        elif left <= 0:
            self._decide(Key.ORDER, None, why=self._reason_undone)
        else:
            problem = relist(self._problem, SEARCHED, order, self._graph())
            by = self._exact() if self._fusion_scheduler is None else [self._fusion_scheduler]
            found = self._run(problem, by, self._of_order(left))
            # by has one scheduler: an order is found only where residency or fusion was possible.
            self._decide(Key.ORDER, found[by[0].name], problem=problem)

    def _run(
        self, problem: Problem, entries: Sequence[SchedulerEntry], request: Request
    ) -> dict[str, Result]:
        """Return results by name, of schedulers begun before an interrupt."""
        from spmopt.solving import compare

        return {each.scheduler: each for each in compare(problem, entries, request)}

    def _within(self, limit_s: float) -> Request:
        """Return the request for a part of the time."""
        return replace(self._request, time_limit_s=limit_s, started=monotonic())

    def _of_order(self, limit_s: float) -> Request:
        """Return the request for schedules in another order, whose bounds hold for no others."""
        request = self._within(limit_s)

        def tell(news: Incumbent) -> None:
            # Bounds of this order would be drawn beside schedules of the listed one.
            bound = news.bound if news.of_fusion_plans else None
            where = f"{news.scheduler} in another order"
            request.on_incumbent(replace(news, scheduler=where, bound=bound, other_order=True))

        return replace(request, on_incumbent=tell)

    def _begin(self, result: Result) -> None:
        from spmopt.reporting.ablation import Decision, Key

        require_feasible(Solution(self._problem, result))
        assert result.totals is not None
        cycles = result.totals.makespan_cycles
        start = Decision(
            key=Key.START,
            problem=self._problem,
            result=result,
            made=result,
            before_cycles=cycles,
        )
        self.decisions.append(start)

    def _decide(
        self, key: Key, made: Result | None, *, why: str = "", problem: Problem | None = None
    ) -> None:
        """Take the result of a decision if it is faster than the best so far."""
        from spmopt.reporting.ablation import Key

        before, fusion_scheduler = self.decisions[-1], self._fusion_scheduler
        fusion_space = (
            "" if fusion_scheduler is None else fusion_scheduler.chosen.get("space", "all")
        )
        # The best so far stays by default: a decision never makes the result worse.
        kept = replace(before, key=key, made=made, before_cycles=before.cycles, why=why)
        if key is Key.FUSION and made is not None:
            kept = replace(kept, fusion_space=fusion_space)
        if made is None or made.totals is None:
            kept = replace(kept, why=why or self._reason_undone)
        elif made.totals.makespan_cycles < before.cycles:
            on = problem or self._problem
            if made.fused is not None:
                kept = replace(kept, result=made, problem=made.fused, fusion_space=fusion_space)
            else:
                kept = replace(kept, result=made, problem=on, fusion_space="")
        else:
            kept = replace(kept, why=_no_faster(before, made))
        self.decisions.append(kept)

    @property
    def _reason_undone(self) -> str:
        if self._request.stop():
            return "not tried, for the run was interrupted"
        return "not tried within the time limit"

    def _exact(self) -> list[SchedulerEntry]:
        """Return the scheduler for optimal residency on this machine, if any."""
        from spmopt.schedulers.registry import find

        features = self._problem.machine.features
        return [e for e in map(find, _EXACT) if e.takes_features(features)][:1]

    def _graph(self) -> Graph | None:
        """Return the graph of the operations, where they are fused."""
        from spmopt.core.fusion.tileable_graph import tileable_graph_of

        return None if self._fusion_scheduler is None else tileable_graph_of(self._problem).graph


def _no_faster(before: Decision, made: Result) -> str:
    """Say that a schedule is no faster than the best so far."""
    from spmopt.core.result import Status
    from spmopt.reporting.quantities import percent, si

    assert made.totals is not None
    cycles = made.totals.makespan_cycles
    # Problems without work take 0 cycles, of which there is no percentage.
    if cycles > before.cycles and before.cycles:
        over = percent(cycles / before.cycles - 1, by="more than", of="before").removeprefix("+")
        return f"its best schedule takes {si(before.seconds(cycles), 's')}, {over}"
    if made.status is Status.OPTIMAL:
        return "nothing faster is possible"
    bound = made.bound if made.fused is None else made.fusion_bound
    if bound is None or not cycles:
        return "nothing faster was found"
    left = percent(float(1 - bound / cycles), up=True).removeprefix("+")
    return f"nothing faster was found; {left} less is possible at most"
