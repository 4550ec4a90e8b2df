"""Tensors of one page that are only read, one a step: where Belady's rule is optimal."""

from __future__ import annotations

from fractions import Fraction
from functools import cache, partial
from math import ceil

from hypothesis import given, settings
from hypothesis import strategies as st

from spmopt.core.objective import TRAFFIC
from spmopt.core.scheduler import Request, Scheduler
from spmopt.policies.belady import belady
from spmopt.policies.belady_size import belady_size
from spmopt.policies.lru import lru
from spmopt.policies.static import stream
from spmopt.schedulers.registry import find
from spmopt.verifier import bound
from tests.assemble.small import reading
from tests.policies.owed import residency_plan_of, totals
from tests.thorough import share

TEXTBOOK = "70120304230321201701"
"""Reference string of operating-system textbooks; 3 frames: LRU faults 12 times, MIN 9."""


def traffic(policy: Scheduler, trace: str, frames: int) -> int:
    """Bytes that the policy moves, one a read from DRAM."""
    problem = reading(trace, frames, 1)
    return totals(
        problem, residency_plan_of(policy(problem, Request(objective=TRAFFIC)))
    ).traffic_bytes


def fewest_reads(trace: str, frames: int) -> int:
    """Fewest reads from DRAM over all ways to keep what has been read."""

    @cache
    def best(step: int, kept: frozenset[str]) -> int:
        if step == len(trace):
            return 0
        name = trace[step]
        after = kept | {name}
        choices = [after] if len(after) <= frames else [after - {out} for out in after]
        return (name not in kept) + min(best(step + 1, choice) for choice in choices)

    return best(0, frozenset())


def lru_reads(trace: str, frames: int, *, drop_dead: bool) -> int:
    """Reads from DRAM of least recently used, with a list in order of use."""
    recent: list[str] = []
    reads = 0
    for step, name in enumerate(trace):
        if name in recent:
            recent.remove(name)
        else:
            reads += 1
            del recent[: max(0, len(recent) - frames + 1)]
        if not drop_dead or name in trace[step + 1 :]:
            recent.append(name)
    return reads


@given(st.text("abcdef", min_size=1, max_size=12), st.integers(1, 4))
@settings(max_examples=share(100), deadline=None)
def test_belady_is_optimal_and_lru_is_lru(trace: str, frames: int) -> None:
    least = fewest_reads(trace, frames)
    assert traffic(belady, trace, frames) == least
    assert traffic(lru, trace, frames) == lru_reads(trace, frames, drop_dead=True) >= least
    assert traffic(stream, trace, frames) == len(trace)


def test_textbook_string() -> None:
    assert lru_reads(TEXTBOOK, 3, drop_dead=False) == 12
    # To drop what is dead, and not to keep what is read, saves reads on top of the rules.
    assert traffic(lru, TEXTBOOK, 3) == 9
    assert traffic(belady, TEXTBOOK, 3) == fewest_reads(TEXTBOOK, 3) == 8


def test_lru_thrashes_on_a_loop_that_is_one_too_long_and_belady_does_not() -> None:
    loop = "abcd" * 5
    assert lru_reads(loop, 3, drop_dead=False) == 20
    assert traffic(lru, loop, 3) == 18
    # The first round reads all four; then three stay and one is read in every round.
    assert traffic(belady, loop, 3) == fewest_reads(loop, 3) == 4 + 4


def fluid_bound(trace: str, frames: int) -> Fraction:
    """Traffic that no schedule beats, even if it keeps tensors in part (linear program)."""
    problem = reading(trace, frames, 1)
    certificate = find("lp-bound").load()(problem, Request(objective=TRAFFIC)).certificate
    assert certificate is not None
    return bound(problem, certificate)


@given(st.text("abcdefg", min_size=1, max_size=24), st.integers(1, 5))
@settings(max_examples=share(25), deadline=None)
def test_belady_reaches_the_bound_of_the_fluid_relaxation(trace: str, frames: int) -> None:
    # Exactly so, but for dual values rounded to 2**-40.
    least = ceil(fluid_bound(trace, frames) - Fraction(1, 1000))
    for policy in (belady, belady_size):
        for granularity in ("tensor", "page"):
            chosen = partial(policy, granularity=granularity)
            assert traffic(chosen, trace, frames) == least
