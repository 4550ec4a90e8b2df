"""The bound over all covers in a process of its own, beside the search of a cover.

Programs of segments are built in Python: two searches in one process would wait for each other.
What is solved is told as it comes, so that nothing is lost when the process is ended. Both searches
count what they do, and by that count the one hears of the other. When all of
the cheapest cover is solved, or that takes long, prices at borders raise the bound
(:mod:`~.agreement`), unless the list is a long one: proofs of that are told now and then.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from itertools import islice
from math import inf
from typing import NamedTuple

from formulations.covers.agreement import Agreement
from formulations.covers.listed import Listed
from formulations.covers.paths import CheapestCover, SegmentArcs
from formulations.covers.segment import SegmentValue
from formulations.solver.apart import stream
from spmopt.core.errors import InfeasibleError
from spmopt.core.objective import Objective
from spmopt.core.pieces.band_bounds import tabulated
from spmopt.core.pieces.certificate import CoverCertificate
from spmopt.core.pieces.family import Family
from spmopt.core.pieces.listing import Listing
from spmopt.core.pieces.segments import Segment

Values = dict[Segment, SegmentValue]


class News(NamedTuple):
    """What a search of the bound tells.

    Attributes
    ----------
    found
        A cover that is the cheapest as far as is known.
    solved, runs
        Segments and runs solved since the last news.
    proof
        Of a higher bound, where segments agree at borders.
    work_s
        Seconds that the search took so far, by what is counted.
    """

    found: CheapestCover
    solved: Values
    runs: Values
    proof: CoverCertificate | None
    work_s: float


_SHORT = 0.1, 0.3
"""Of what prices at borders raise a bound by: what its proof may lose so that it is short."""
_WORTH = 5e-4
"""Of the bound: what it must rise by for a proof, which takes seconds to check."""
_SEGMENT_S, _TENSOR_S, _CHECK_SHARE = 1.5e-3, 6e-7, 0.25
"""Seconds that a segment takes to check, and a tensor in a step of it; and the share of all that a
proof may take."""
_PLAIN_SHARE = 0.25
"""Of the time: the bound without prices at borders. The traffic of MobileNetV2 on 4 MB is bounded
by 518 MB after 10 s; with prices from 4 s on by 526 MB."""
_SHORT_STEPS = 24
"""Steps of segments whose first and last piece are told from the others: this triples programs."""
_OFTEN = 10.0
"""Times as long as a proof takes to make: between two."""
_LATER, _LATER_S = 0.25, 0.5
"""Of the counted time of the bound's search, and in seconds: how much later it is heard of. So much
its process may be behind before the search of covers waits for it."""
_ENDED = "the search of the bound ended early: {}"


class Problem(NamedTuple):
    """What the bound is searched of."""

    listing: Listing
    objective: Objective
    family: Family


class BoundSearch:
    """The bound over all covers, as far as its search is at a point of counted time.

    It runs ahead, in a process of its own, or is taken a step further whenever its news is due. In
    both ways a search of covers that asks at the same points of its own counted time hears the
    same, whatever the load: it waits for a process that is behind.

    Parameters
    ----------
    tell
        Told of a cover and, where its segments agree at borders, the proof of its value.
    learn
        Told what was solved.
    seconds
        Of the time limit: of these a proof may take few to check.
    apart
        In a process of its own.
    stop
        Asked often; once true, nothing more comes.
    note
        Told of a process that died and was replaced, and of what ended the search.

    Attributes
    ----------
    found
        The cheapest cover that was told of.
    unfit
        No cover fits.
    """

    def __init__(
        self,
        problem: Problem,
        tell: Callable[[CheapestCover, CoverCertificate | None], None],
        learn: Callable[[Values, Values], None],
        *,
        seconds: float = inf,
        apart: bool = True,
        stop: Callable[[], bool] = bool,
        note: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.found = CheapestCover(cover=(), value=0.0, exact=False)
        self.unfit = False
        self._tell, self._learn, self._stop, self._note = tell, learn, stop, note
        self._waiting, self._heard, self._ended = deque[News](), 0.0, False
        listing, objective, family = problem
        self._here = not apart
        if apart:
            self._news = stream(
                "formulations.covers.bounding:improve",
                tabulated(listing, family.bands),
                objective,
                family,
                seconds,
                stop=stop,
                library="highspy",
                note=note,
            )
        else:
            self._news = improve(listing, objective, family, seconds)

    def upto(self, work_s: float) -> None:
        """Tell what was found in so many counted seconds, a little later: it may be waited for."""
        while not self._ended and _heard_at(self._heard) <= work_s:
            self._receive()
        while self._waiting and _heard_at(self._waiting[0].work_s) <= work_s:
            self._take(self._waiting.popleft())

    def finish(self, enough: Callable[[float], bool]) -> None:
        """Tell what is found until that is ``enough``, asked of counted seconds; then end."""
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
        """Wait for the next news; where the search is told to stop, what has come is the last."""
        try:
            news = None if self._here and self._stop() else next(self._news, None)
        except InfeasibleError:
            self.unfit, news = True, None
        except Exception as error:  # whatever ended its process: what it has told still holds
            self._note(_ENDED.format(error))
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
            self._tell(news.found, news.proof)


def _heard_at(work_s: float) -> float:
    """Return when, of counted time, what took so long is heard of: who is behind is waited for."""
    return (1 + _LATER) * work_s + _LATER_S


def improve(
    listing: Listing, objective: Objective, family: Family, seconds: float = inf
) -> Generator[News]:
    """Yield cheapest covers, each after the programs of the one before, until one is exact.

    Then proofs of higher bounds, of which each takes a small share of ``seconds`` to check. A cover
    comes again with each of its programs, and with each search of prices: so it is known how far
    the search is.
    """
    listed = Listed(listing, objective, family)
    arcs = SegmentArcs(listed, float(listed.capacity))
    known = 0, 0
    for found in arcs.paths():
        every = arcs.solved, arcs.runs.solved
        solved, runs = (
            dict(islice(each.items(), count, None))
            for each, count in zip(every, known, strict=True)
        )
        known = len(every[0]), len(every[1])
        yield News(found, solved, runs, None, arcs.work.seconds)
        if not (solved or runs) and arcs.work.seconds > _PLAIN_SHARE * seconds:
            break
    if arcs.lengths.all:
        yield from _agreed(arcs, found, seconds)


def _agreed(arcs: SegmentArcs, plain: CheapestCover, seconds: float) -> Iterator[News]:
    """Yield proofs of bounds at prices at borders, each worth its time."""
    steps = sum(each.end - each.begin for each in arcs.solved)
    fine = steps <= _SHORT_STEPS * len(arcs.solved)
    search, told, work = Agreement(arcs, fine=fine), plain, arcs.work
    due = work.seconds
    for best in search.steps():
        proof, proved = None, told.value
        if best >= proved + _WORTH * abs(proved) and work.seconds >= due:
            begun = work.seconds
            for lost in _SHORT:
                least = best - lost * (best - plain.value)
                found = search.certificate(least)
                if least > proved and _check_s(arcs.listed, found) <= _CHECK_SHARE * seconds:
                    told, proof = replace(plain, cover=search.cover, value=least), found
                    break
            due = work.seconds + _OFTEN * (work.seconds - begun)
        yield News(told, {}, {}, proof, work.seconds)


def _check_s(listed: Listed, proof: CoverCertificate) -> float:
    """Return how long the check of a proof takes, by its segments."""
    total = 0.0
    for each in (*proof.prices, *proof.agreed, *proof.runs):
        count = 1 if each.bands > 1 else each.pieces
        steps = range(each.begin, each.end)
        tensors = len({use.tensor for at in steps for use in listed.modes(at, count)})
        classes = 3 if proof.fine and each in proof.agreed and each.bands == 1 else 1
        total += classes * (_SEGMENT_S + _TENSOR_S * tensors * len(steps))
    return total
