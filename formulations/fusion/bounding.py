"""The bound over the fusion space in a process of its own, beside the search of a fusion plan.

Programs of fused groups are built in Python: two searches in one process would wait for each other.
Results are sent as they come, so that nothing is lost when the process is ended. Both searches
count their work, and by that count the one hears of the other. When all of the cheapest fusion plan
is solved, or that takes long, dual values at boundaries raise the bound (:mod:`~.agreement`),
unless the list is a long one: proofs of that are told now and then.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from itertools import chain, islice
from math import inf
from typing import NamedTuple

from formulations.fusion.agreement import Agreement
from formulations.fusion.chain import Chain
from formulations.fusion.fused_group import FusedGroupValue
from formulations.fusion.paths import CheapestFusionPlan, FusedGroupArcs
from formulations.fusion.tileable import Listed
from formulations.solver.apart import stream
from spmopt.core.errors import InfeasibleError
from spmopt.core.fusion.certificate import FusionCertificate
from spmopt.core.fusion.fused_groups import FusedGroup, FusionPlan
from spmopt.core.fusion.fusion_space import FusionSpace
from spmopt.core.fusion.stripe_bounds import tabulate
from spmopt.core.fusion.tileable_graph import TileableGraph
from spmopt.core.objective import Objective
from spmopt.core.params import DEFAULTS, FusionParams

Values = dict[FusedGroup, FusedGroupValue]


class News(NamedTuple):
    """Messages of a search of the bound.

    Attributes
    ----------
    found
        A fusion plan that is the cheapest as far as is known.
    solved, runs
        Fused groups and runs solved since the last news.
    proof
        Of a higher bound, where fused groups agree at boundaries.
    work_s
        Counted seconds of the search so far.
    named
        Fusion plans to try, with estimates of their least costs, and mappings.
    settled
        Whether more of them are rare from now on.
    guess
        One to try while the programs of others are solved.
    """

    found: CheapestFusionPlan
    solved: Values
    runs: Values
    proof: FusionCertificate | None
    work_s: float
    named: tuple[tuple[FusionPlan, Chain], ...] = ()
    settled: bool = False
    guess: FusionPlan = ()


_LOST_GAIN = 0.02
"""Of the gain of duals at boundaries: the share that its proof may lose so that it is short."""
_SAME = 1e-5
"""Of the bound: the most that the first proof loses, and the rise that justifies the last one."""
_WORTH = 5e-4
"""Of the bound: the rise that justifies a proof, which takes seconds to check."""
_SPLIT_STEPS = 24
"""Steps of groups whose first and last tile are told from the others: this triples programs."""
_OFTEN = 10.0
"""Times as long as a proof takes to make: between two."""
_BEFORE = 0.9
"""Of the time until which the bound is heard of: when a proof is due, which takes a while."""
_LATER, _LATER_S = 0.25, 0.5
"""Of the counted time of the bound's search, and in seconds: how much later it is heard of. So much
its process may be behind before the search of fusion plans waits for it."""
_LOST = 1e-3
"""Of a bound: the share that its proof may lose so that it is short."""
_ENDED = "the search of the bound ended early: {}"
_HERE = "the search of the bound goes on in this process: {}"


class BoundingTask(NamedTuple):
    """Inputs of a search of the bound."""

    tileable: TileableGraph
    objective: Objective
    fusion_space: FusionSpace
    params: FusionParams = DEFAULTS.fusion


class BoundSearch:
    """The bound over the fusion space, as far as its search is at a point of counted time.

    It runs ahead, in a process of its own, or is taken a step further whenever its news is due. In
    both ways a search of fusion plans that asks at the same points of its own counted time hears
    the same, whatever the load: it waits for a process that is behind.

    Parameters
    ----------
    tell
        Told of higher bounds, with their proofs, and of fusion plans to try.
    learn
        Called with fused groups solved.
    seconds
        Of the time limit: of these a proof may take few to check.
    start_s
        Counted seconds before the first results.
    apart
        In a process of its own.
    proofs
        Prove each bound, not only higher ones where groups agree.
    stop
        Asked often; once true, nothing more comes.
    note
        Called with notes: a process that died and was replaced, the end of the search.

    Attributes
    ----------
    found
        The cheapest fusion plan that was told of.
    unfit
        No fusion plan fits.
    """

    def __init__(
        self,
        task: BoundingTask,
        tell: Callable[[News], None],
        learn: Callable[[Values, Values], None],
        *,
        seconds: float = inf,
        start_s: float = 0.0,
        apart: bool = True,
        proofs: bool = False,
        stop: Callable[[], bool] = bool,
        note: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.found = CheapestFusionPlan(fusion_plan=(), value=0.0, exact=False)
        self.unfit = False
        self._tell, self._learn, self._stop, self._note = tell, learn, stop, note
        self._waiting, self._heard, self._ended = deque[News](), start_s, False
        self._start_s = start_s
        self._here, self._task = not apart, (task, seconds, proofs, start_s)
        if apart:
            stripes = task.fusion_space.stripes
            self._news = stream(
                "formulations.fusion.bounding:improve",
                task._replace(tileable=tabulate(task.tileable, stripes)),
                seconds,
                proofs,
                start_s,
                stop=stop,
                library="highspy",
                note=note,
            )
        else:
            self._news = improve(*self._task)

    def upto(self, work_s: float) -> None:
        """Report the results of so many counted seconds, a little later: it may be waited for."""
        while not self._ended and _report_at(self._heard) <= work_s:
            self._receive()
        while self._waiting and _report_at(self._waiting[0].work_s) <= work_s:
            self._take(self._waiting.popleft())

    def wait(self) -> float:
        """Report the next results; return the counted time at which they are due.

        Infinite where there are no more.
        """
        while not self._waiting:
            if self._ended:
                return inf
            self._receive()
        news = self._waiting.popleft()
        self._take(news)
        return _report_at(news.work_s)

    @property
    def work_s(self) -> float:
        """Counted seconds of the search so far; infinite once it has ended."""
        return inf if self._ended else self._heard - self._start_s

    def finish(self, enough: Callable[[float], bool]) -> None:
        """Report results until ``enough``, asked of counted seconds; then end."""
        while self._waiting or not self._ended:
            if not self._waiting:
                self._receive()
                continue
            news = self._waiting.popleft()
            self._take(news)
            if enough(news.work_s):
                break
        self.close()

    def close(self) -> None:
        """End the search, and its process."""
        self._news.close()

    def _receive(self) -> None:
        """Wait for the next news.

        Where the search is told to stop, the results so far are the last.
        """
        try:
            news = None if self._here and self._stop() else next(self._news, None)
        except InfeasibleError:
            self.unfit, news = True, None
        except Exception as error:  # whatever ended it: all that it told still holds
            self._note((_ENDED if self._here else _HERE).format(error))
            if not self._here:
                self._here, self._news = True, improve(*self._task)
                return
            news = None
        if news is None:
            self._ended = True
        else:
            # One that has begun anew counts from the start.
            self._heard = max(self._heard, news.work_s)
            self._waiting.append(news)

    def _take(self, news: News) -> None:
        self._learn(news.solved, news.runs)
        if news.found.value >= self.found.value:  # less where it has begun anew
            self.found = news.found
            self._tell(news)


def _report_at(work_s: float) -> float:
    """Return the counted time at which a result that took so long arrives.

    Who is behind is waited for.
    """
    return (1 + _LATER) * work_s + _LATER_S


def improve(
    task: BoundingTask, seconds: float = inf, proofs: bool = False, start_s: float = 0.0
) -> Generator[News]:
    """Yield bounds, and fusion plans of low cost, each of which takes turns with the other.

    Then proofs of higher bounds, of which each takes a small share of ``seconds`` to check.
    ``proofs``: of each of the first bounds, too. Of a long list the bounds, and their plans.
    ``start_s``: seconds that count before the first.
    """
    tileable, objective, fusion_space, params = task
    listed = Listed(tileable, objective, fusion_space, params)
    arcs = FusedGroupArcs(listed, float(listed.capacity), split=True)
    arcs.work.seconds += start_s
    paths = _raise_bound(arcs, proofs)
    if not arcs.lengths.all:
        for each in paths:
            plan = (each.found.fusion_plan, Chain(least=each.found.value))
            yield each._replace(named=(plan,), settled=True)
        return
    search, found = yield from _take_turns(arcs, Agreement(arcs), paths, seconds)
    proof = arcs.certificate(found.value * (1 - _SAME))
    yield News(found, {}, {}, proof, arcs.work.seconds)
    yield from _agree(arcs, search, found, seconds)


def _take_turns(
    arcs: FusedGroupArcs, search: Agreement, paths: Iterator[News], seconds: float
) -> Generator[News, None, tuple[Agreement, CheapestFusionPlan]]:
    """Yield bounds and fusion plans, of equal counted work, as far as each may take of the time."""
    work, plans = arcs.work, search.search_plans()
    limit = arcs.listed.params.narrow_fraction * seconds / 2
    last, spent = next(paths), [0.0, 0.0]
    yield last._replace(guess=search.guess)
    while min(spent) < limit:
        # Plans first: they take time to schedule.
        turn = int(spent[1] <= spent[0])
        begun, ended = work.seconds, False
        if turn:
            search.renew()
            ended = next(plans, None) is None
            yield News(last.found, {}, {}, None, work.seconds, search.new_plans())
        else:
            news = next(paths, None)
            ended = news is None
            last = news or last
            yield last
        spent[turn] = inf if ended else spent[turn] + work.seconds - begun
    return search, last.found


def _raise_bound(arcs: FusedGroupArcs, proofs: bool) -> Iterator[News]:
    """Yield cheapest fusion plans, each after the programs of the one before, until one is exact.

    A fusion plan comes again with each of its programs: so it is known how far the search is.
    """
    known = 0, 0
    for found in arcs.paths():
        every = arcs.solved, arcs.runs.solved
        solved, runs = (
            dict(islice(each.items(), count, None))
            for each, count in zip(every, known, strict=True)
        )
        known = len(every[0]), len(every[1])
        proof = arcs.certificate(found.value * (1 - _LOST)) if proofs else None
        yield News(found, solved, runs, proof, arcs.work.seconds)


def _agree(
    arcs: FusedGroupArcs, search: Agreement, plain: CheapestFusionPlan, seconds: float
) -> Iterator[News]:
    """Yield proofs of bounds at dual values at boundaries, each worth its time."""
    steps = sum(each.end - each.begin for each in arcs.solved)
    # Classes triple the programs; long groups gain little by them. Programs of one class of tiles
    # have found plans sooner; those of three prove more of them.
    params, told, work = arcs.listed.params, plain, arcs.work
    if steps <= _SPLIT_STEPS * len(arcs.solved):
        search = search.finer()
    search.renew()
    due = work.seconds
    # The best dual values are proved in full once no better ones come.
    for last in chain((False for _ in search.steps()), (True,)):
        proof, proved = None, told.value
        worth = search.best >= proved + (_SAME if last else _WORTH) * abs(proved)
        if worth and (last or work.seconds >= due):
            begun = work.seconds
            # A slightly weaker proof may need far fewer groups, and less time to check.
            lost = 0.0 if last else _LOST_GAIN * (search.best - plain.value)
            most_s = params.check_fraction * seconds
            found, value = search.certificate(search.best - lost, most_s)
            if value > proved:
                told, proof = replace(told, value=value), found
            due = work.seconds + _OFTEN * (work.seconds - begun)
            # None would be heard of after the search of fusion plans.
            over = _BEFORE * (1 - params.finish_fraction) * seconds
            due = min(due, over) if work.seconds < over else due
        yield News(told, {}, {}, proof, work.seconds, search.new_plans(), settled=True)
    for _ in search.near_plans():
        yield News(told, {}, {}, None, work.seconds, search.new_plans(), settled=True)
