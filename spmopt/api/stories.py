"""What each decision about a network is worth: its schedules from DRAM alone to the optimum."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from spmopt.api.arguments import checked
from spmopt.api.callbacks import QUIET, Callbacks
from spmopt.api.lowering import relisted
from spmopt.api.scheduling import require_limits
from spmopt.api.shown import Shown
from spmopt.api.solutions import Solution
from spmopt.core.errors import InfeasibleError

if TYPE_CHECKING:
    from spmopt.core.graph import Graph
    from spmopt.core.instance import Instance
    from spmopt.core.result import Result
    from spmopt.core.scheduler import Incumbent, Request
    from spmopt.reporting.story import Decision, Key
    from spmopt.reporting.tables import Part
    from spmopt.schedulers.registry import SchedulerEntry

_START, _EXACT = "stream", ("page", "banks")
"""Who schedules from DRAM alone, and who is asked for optimal residency: the first that is able."""
_LIST_SHARE, _SEARCH_SHARE = 0.3, 0.35
"""Of the time limit: for optimal residency, and as much for pieces, in the listed order. Of what is
left then: for the search for an order; the rest is for schedules in it."""


_UNKNOWN = "nobody chooses pieces on such a machine"


@dataclass(frozen=True, eq=False, repr=False)
class Story(Shown):
    """What each decision is worth, each with a verified schedule; see :func:`story`.

    Attributes
    ----------
    instance
        What was scheduled: the list as given.
    decisions
        Of the start, and of each decision, the best schedule then known.
    """

    instance: Instance
    decisions: Sequence[Decision]

    @property
    def best(self) -> Solution:
        """Best schedule of all."""
        return self.solutions()[str(self.decisions[-1].key)]

    def solutions(self) -> dict[str, Solution]:
        """Return the best schedule after each decision, by its name: start, policy, and so on."""
        from spmopt.io.files import StoredResult

        return {
            str(each.key): Solution(StoredResult.made_here(each.instance, each.result))
            for each in self.decisions
        }

    def parts(self, width: int | None = None) -> Iterator[Part]:
        """Yield heading, a table of the decisions, and sentences."""
        from spmopt.reporting.story import story_parts

        del width
        yield from story_parts(self.instance, self.decisions)

    def record(self) -> Mapping[str, object]:
        """Return instance, sentences and figures, as ``spmopt story --json``."""
        from spmopt.reporting.story import story_record

        return story_record(self.instance, self.decisions)

    def rows(self) -> Sequence[Mapping[str, object]]:
        """Return one row of figures a decision."""
        from spmopt.reporting.story.record import decision_rows

        return decision_rows(self.decisions)

    def page(self, callbacks: Callbacks = QUIET) -> tuple[str, str, dict[str, object]]:
        """Return what a page shows in a line, its text, and a record of it."""
        from spmopt.reporting.page.story import story_page
        from spmopt.reporting.story import page_record

        callbacks.progress("making the page", None)
        record = page_record(self.instance, self.decisions)
        return str(record["title"]), story_page(record), {"decisions": len(self.decisions)}

    def save_solutions(self, folder: str | Path) -> None:
        """Write a result file of each schedule, as start.json and pieces.json."""
        for name, solution in self.solutions().items():
            solution.save(Path(folder) / f"{name}.json")


@checked
def story(
    instance: Instance,
    *,
    pieces: str | None = None,
    reorder: bool = True,
    time_limit: float = 60.0,
    tolerance: float = 1e-4,
    threads: int = 2,
    callbacks: Callbacks = QUIET,
) -> Story:
    """Tell what each decision about a network is worth, from DRAM alone to the optimum.

    One after the other: everything from DRAM, the best greedy rule, optimal residency, pieces of
    the batch, another order of the operations. Each has a verified schedule and, where there is
    one, its certified bound; what is no faster than the schedule before is not taken, and said.

    Parameters
    ----------
    instance
        What :func:`lower` returns, in the order listed.
    pieces
        Fusion space, as for solve; default: all, where fusion is possible.
    reorder
        Search another order of the operations, and schedule in it.
    time_limit
        Time limit of all searches together, in seconds.
    tolerance, threads, callbacks
        As for :func:`solve`.

    Returns
    -------
    Story
        Prints a table with sentences; :func:`report` makes a page of it.

    Raises
    ------
    InputError
        An unknown choice of pieces, or one that the instance cannot be computed in.
    InfeasibleError
        No legal schedule exists.
    """
    from spmopt.api.covers import require_pieces
    from spmopt.core.scheduler import Request

    require_limits(time_limit, tolerance, threads=threads)
    require_pieces(pieces)
    request = Request(
        tolerance=tolerance,
        time_limit_s=time_limit,
        threads=threads,
        stop=callbacks.stop,
        report=callbacks.progress,
        on_incumbent=callbacks.on_incumbent,
    )
    teller = _Teller(instance, request, *_chooser(instance, pieces))
    teller.tell_list()
    teller.tell_order(reorder)
    return Story(instance, teller.decisions)


def _chooser(instance: Instance, pieces: str | None) -> tuple[SchedulerEntry | None, str]:
    """Return who chooses a cover, or None and why nothing is computed in pieces."""
    from spmopt.api.covers import solver, usual_pieces
    from spmopt.core.pieces.listing import listing_of

    if pieces is None:
        pieces, note = usual_pieces(instance, "time")
        if pieces == "none":
            lowered = "the operations are lowered already"
            return None, note or (lowered if instance.listed is None else _UNKNOWN)
    elif pieces == "none":
        return None, "they were not asked for"
    listing_of(instance)  # says why not, before anything is scheduled
    return solver(None, pieces, None), ""


class _Teller:
    """Decides one after the other, each from the best schedule so far.

    Attributes
    ----------
    decisions
        Those told so far.
    """

    def __init__(
        self, instance: Instance, request: Request, chooser: SchedulerEntry | None, unable: str
    ) -> None:
        self._instance, self._request = instance, request
        self._chooser, self._unable = chooser, unable
        self.decisions: list[Decision] = []

    def tell_list(self) -> None:
        """Decide all but the order, in one run: what starts from something else finds it there."""
        from spmopt.reporting.story import Key
        from spmopt.schedulers.registry import Kind, compared, find

        usual = map(find, compared(self._instance.machine.features))
        rules = [each for each in usual if each.kind is Kind.POLICY and each.name != _START]
        exact, chooser = self._exact(), [self._chooser] if self._chooser else []
        within = self._within(_LIST_SHARE * self._request.time_limit_s)
        found = self._run(self._instance, [find(_START), *rules, *exact, *chooser], within)
        self._begin(found[_START])
        made = [found[each.name] for each in rules if each.name in found]
        own = [each for each in made if each.value is not None and each.order is None]
        self._decide(Key.POLICY, min(own, key=lambda each: each.value or 0, default=None))
        for key, entries in ((Key.RESIDENCY, exact), (Key.PIECES, chooser)):
            why = self._unable if key is Key.PIECES else ""
            self._decide(key, found.get(entries[0].name) if entries else None, why=why)

    def tell_order(self, reorder: bool) -> None:
        """Decide the order: search one, and schedule in it all that was scheduled so far."""
        from spmopt.reporting.story import Key
        from spmopt.solving.named_orders import SEARCHED, order_named

        left = self._request.remaining_s()
        if not reorder or left <= 0:
            why = self._unfinished if reorder else "none was asked for"
            self._decide(Key.ORDER, None, why=why)
            return
        self._request.report("searching orders", None)
        order = order_named(self._instance, SEARCHED, self._within(_SEARCH_SHARE * left))
        left = self._request.remaining_s()
        if order is None:
            self._decide(Key.ORDER, None, why="none of those compared is faster than that listed")
        elif left <= 0:
            self._decide(Key.ORDER, None, why=self._unfinished)
        else:
            instance = relisted(self._instance, SEARCHED, order, self._graph())
            by = self._exact() if self._chooser is None else [self._chooser]
            found = self._run(instance, by, self._of_order(left))
            self._decide(Key.ORDER, found[by[0].name], instance=instance)

    def _run(
        self, instance: Instance, entries: Sequence[SchedulerEntry], request: Request
    ) -> dict[str, Result]:
        """Return what schedulers found, by name; of those begun before an interrupt."""
        from spmopt.solving import compare

        return {each.scheduler: each for each in compare(instance, entries, request)}

    def _within(self, limit_s: float) -> Request:
        """Return the request for a part of the time."""
        return replace(self._request, time_limit_s=limit_s, started=monotonic())

    def _of_order(self, limit_s: float) -> Request:
        """Return the request for schedules in another order; what bounds them bounds no others."""
        request = self._within(limit_s)

        def tell(news: Incumbent) -> None:
            bound = news.bound if news.of_covers else None
            where = f"{news.scheduler} in another order"
            request.on_incumbent(replace(news, scheduler=where, bound=bound, other_order=True))

        return replace(request, on_incumbent=tell)

    def _begin(self, result: Result) -> None:
        from spmopt.core.modes import unfit
        from spmopt.core.result import Status
        from spmopt.reporting.story import Decision, Key

        if result.status is Status.INFEASIBLE:
            raise InfeasibleError(unfit(self._instance) or "; ".join(result.notes))
        assert result.totals is not None
        cycles = result.totals.makespan_cycles
        start = Decision(
            key=Key.START,
            instance=self._instance,
            result=result,
            made=result,
            before_cycles=cycles,
        )
        self.decisions.append(start)

    def _decide(
        self, key: Key, made: Result | None, *, why: str = "", instance: Instance | None = None
    ) -> None:
        """Take what was made for a decision if it is faster than the best so far."""
        from spmopt.reporting.story import Key

        before, chooser = self.decisions[-1], self._chooser
        family = "" if chooser is None else chooser.chosen.get("family", "all")
        kept = replace(before, key=key, made=made, before_cycles=before.cycles, why=why)
        if key is Key.PIECES and made is not None:
            kept = replace(kept, family=family)
        if made is None or made.totals is None:
            kept = replace(kept, why=why or self._unfinished)
        elif made.totals.makespan_cycles < before.cycles:
            on = instance or self._instance
            if made.pieces is not None:
                kept = replace(kept, result=made, instance=made.pieces.instance, family=family)
            else:
                kept = replace(kept, result=made, instance=on, family="")
        else:
            kept = replace(kept, why=_no_faster(before, made))
        self.decisions.append(kept)

    @property
    def _unfinished(self) -> str:
        if self._request.stop():
            return "not tried, for the run was interrupted"
        return "not tried within the time limit"

    def _exact(self) -> list[SchedulerEntry]:
        """Return who finds optimal residency on this machine; none where nobody does."""
        from spmopt.schedulers.registry import find

        features = self._instance.machine.features
        return [e for e in map(find, _EXACT) if e.takes_features(features)][:1]

    def _graph(self) -> Graph | None:
        """Return what operations are of, where they are computed in pieces."""
        from spmopt.core.pieces.listing import listing_of

        return None if self._chooser is None else listing_of(self._instance).graph


def _no_faster(before: Decision, made: Result) -> str:
    """Say that a schedule is no faster than the best so far."""
    from spmopt.core.result import Status
    from spmopt.reporting.quantities import percent, si

    assert made.totals is not None
    cycles = made.totals.makespan_cycles
    if cycles > before.cycles and before.cycles:
        over = percent(cycles / before.cycles - 1).removeprefix("+")
        return f"its best schedule takes {si(before.seconds(cycles), 's')}, {over} more"
    if made.status is Status.OPTIMAL:
        return "nothing faster is possible"
    bound = made.bound if made.pieces is None else made.cover_bound
    if bound is None or not cycles:
        return "nothing faster was found"
    left = percent(float(1 - bound / cycles)).removeprefix("+")
    return f"nothing faster was found; {left} less is possible at most"
