"""One trial's work: schedules of all networks on one machine, verified, with bounds.

Arguments and answers are plain records, for a process of its own, here or elsewhere.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from io import BytesIO
from time import monotonic
from typing import Any

from spmopt.core.errors import InputError
from spmopt.core.fusion.tileable_graph import source_graph, whole
from spmopt.core.problem import Problem
from spmopt.core.result import Result, Status
from spmopt.core.solution import Solution
from spmopt.core.validation import MOST_BYTES, json_value
from spmopt.io.files import decode_result, encode_result
from spmopt.schedulers.registry import BOUNDER
from spmopt.search.candidate import Candidate
from spmopt.search.cuts import Cut
from spmopt.search.figures import Spent
from spmopt.search.proofs import CutPool, Least, least_of, least_of_fusion_plans
from spmopt.search.setup import Setup
from spmopt.solving import compare
from spmopt.sweeps.cases import Network
from spmopt.sweeps.work import SolveOptions

LEAST = "least"
"""Key of a network's lower bounds, over all schedules, in the record of a trial."""


@dataclass(frozen=True, kw_only=True)
class NetworkOutcome:
    """One network on one machine.

    Attributes
    ----------
    record
        Fields that a study stores; the README of this folder lists them.
    spent
        Time, energy and traffic of the schedule, or their lower bounds; None if there is neither.
    cut
        Cut for other machines from the dual values of the bound; None if there is none.
    packed
        The result as a compressed file; empty where it is not kept.
    """

    record: Mapping[str, Any]
    spent: Spent | None
    cut: Cut | None
    packed: bytes = b""


@dataclass(frozen=True, kw_only=True)
class TrialOutcome:
    """Outcomes of a trial by network; ``seconds`` are all of the wall time."""

    networks: dict[str, NetworkOutcome]
    seconds: float


def evaluate(
    setup: Setup,
    candidate: Candidate,
    near: Mapping[str, Cut],
    keep: bool,
) -> TrialOutcome:
    """Schedule every network of ``setup`` on ``candidate``.

    Parameters
    ----------
    setup, candidate
        Networks and options, and the machine.
    near
        Dual values to search from, by network. Any values keep schedules legal and bounds true.
    keep
        Whether to give the schedules, too.

    Raises
    ------
    InputError
        A network or machine that cannot be used.
    ScheduleError
        An illegal schedule or an untrue bound.
    """
    started, found = monotonic(), {}
    for network in setup.networks:
        # Lowering is cached, and done before the clock starts.
        candidate.problem(network)
        began, label = monotonic(), network.label
        stored = result_of(setup, candidate, network, near.get(label))
        outcome = _outcome(setup, stored, began)
        found[label] = replace(outcome, packed=pack(stored) if keep else b"")
    return TrialOutcome(networks=found, seconds=monotonic() - started)


def result_of(
    setup: Setup, candidate: Candidate, network: Network, near: Cut | None = None
) -> Solution:
    """Find the best schedule of one network on one machine, with its problem.

    With ``bound_only`` it is the bound of the objective of schedules.
    """
    problem = candidate.problem(network)
    names = setup.schedulers or (BOUNDER,)
    found = _run(setup, problem, names, setup.schedule_for, near)
    valued = [
        (result.value, place) for place, result in enumerate(found) if result.value is not None
    ]
    # Pairs of value and place: equal values go to the first scheduler, so that runs repeat.
    best = found[min(valued)[1] if valued else 0]
    return Solution.of(problem, best)


def cut_of(stored: Solution, *, proved: Fraction | None = None) -> Cut | None:
    """Make a cut for other machines from the dual values of a result.

    Those of energy, and of another order than the listed one, prove nothing. ``proved`` is their
    bound, where it was just evaluated; one that was read from a file is not to be trusted.
    """
    certificate = stored.result.certificate
    if certificate is None or stored.is_fused:
        return None
    try:
        return Cut.of(stored.problem, certificate, proved)
    except InputError:
        return None


def _outcome(setup: Setup, stored: Solution, began: float) -> NetworkOutcome:
    """Sum up a result that was begun at a time of the monotonic clock."""
    problem, result = stored.problem, stored.result
    if setup.bound_only:
        spent = _bounds(setup, problem, result)
    else:
        totals = result.totals
        spent = None if totals is None else Spent.of(problem.machine, totals)
    checked_s, pool = monotonic() - began, CutPool()
    cut = cut_of(stored, proved=result.bound)
    if cut is not None:
        pool.add(cut)
    bounded = result.bound
    if result.fused is not None:
        # Cuts are layer by layer; fusion may be below them, so that only its own bound counts.
        tileable, bounded = source_graph(result.fused), result.fusion_bound
        least = least_of_fusion_plans(tileable.problem(whole(tileable))[0], tileable)
    else:
        least = least_of(problem, pool)
    if bounded is not None:
        least = _raise_limit(least, setup.schedule_for, bounded)
    record = {
        **({} if spent is None else asdict(spent)),
        LEAST: asdict(least.spend(problem.machine)),
        "scheduler": result.scheduler,
        "status": str(result.status),
        "verified": result.verified,
        "value": None if result.value is None else float(result.value),
        "bound": None if bounded is None else float(bounded),
        "gap": result.gap if result.fused is None else result.fusion_gap,
        "unit": result.objective.unit,
        "seconds": result.solve_s,
        "seconds_checked": checked_s,
        "notes": list(result.notes),
        "file": None,
    }
    return NetworkOutcome(record=record, spent=spent, cut=cut)


def _bounds(setup: Setup, problem: Problem, result: Result) -> Spent | None:
    """Bound time, energy and traffic of all schedules, by a relaxation per needed objective."""
    if result.status is Status.INFEASIBLE:
        return None
    least = least_of(problem)
    for name in setup.needs:
        own = result
        if name != setup.schedule_for:
            (own,) = _run(setup, problem, (BOUNDER,), name)
        if own.bound is not None:
            # A relaxation of one objective bounds no other: each is solved on its own.
            least = _raise_limit(least, name, own.bound)
    return least.spend(problem.machine)


def _raise_limit(least: Least, name: str, bound: Fraction) -> Least:
    match name:
        case "time":
            return replace(least, cycles=max(least.cycles, bound))
        case "traffic":
            return replace(least, traffic_bytes=max(least.traffic_bytes, bound))
        case "energy":
            return replace(least, energy_j=bound)
        case _:  # no figure of a search
            return least


def _run(
    setup: Setup,
    problem: Problem,
    names: tuple[str, ...],
    objective: str,
    near: Cut | None = None,
) -> list[Result]:
    options = SolveOptions(
        objective=objective, tolerance=setup.tolerance, time_limit_s=setup.time_limit_s
    )
    request = options.request(problem)
    steps = len(problem.operations)
    # Dual values of another batch may have another number of steps, and would be refused.
    if near is not None and objective == "time" and near.certificate.spm.size == steps:
        request = replace(request, duals=near.duals(problem.machine))
    return compare(problem, names, request)


def pack(stored: Solution) -> bytes:
    """Compress a result, to the same bytes each time; quickly, not tightly."""
    text = json.dumps(encode_result(stored), separators=(",", ":"), allow_nan=False)
    return gzip.compress(text.encode(), 1, mtime=0)


def unpack(packed: bytes, where: str) -> Solution | None:
    """Read a compressed result; None where it is cut off, or none. Errors call it ``where``."""
    try:
        with gzip.open(BytesIO(packed)) as stream:
            # A small file can expand to any size: read one byte more than is allowed.
            content = stream.read(MOST_BYTES + 1)
        return None if len(content) > MOST_BYTES else decode_result(json_value(content), where)
    except (OSError, EOFError, ValueError, RecursionError, InputError, zlib.error):
        return None
