"""One trial's work: schedules of all networks on one machine, verified, with bounds.

Arguments and answers are plain records, for a process of its own, here or elsewhere.
"""

from __future__ import annotations

import gzip
import json
import platform
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from time import monotonic

from spmopt import __version__
from spmopt.core.errors import InputError
from spmopt.core.instance import Instance
from spmopt.core.machine import Area, Bank, Energy, SpmTechnology
from spmopt.core.objective import objective_entry
from spmopt.core.result import Result, Status
from spmopt.io.files import StoredResult, decode_result, encode_result
from spmopt.metrics import metrics
from spmopt.schedulers.registry import BOUNDER
from spmopt.search.candidate import Candidate
from spmopt.search.cuts import Cut
from spmopt.search.figures import Spent
from spmopt.search.proofs import CutPool, Least, least_of
from spmopt.search.setup import Setup
from spmopt.solving import compare
from spmopt.sweeps.cases import Network
from spmopt.sweeps.work import SolveOptions
from spmopt.verifier import bound, verify

Near = Mapping[str, Cut]
"""Prices of a neighboring machine, by network."""


@dataclass(frozen=True, kw_only=True)
class NetworkOutcome:
    """One network on one machine.

    Attributes
    ----------
    scheduler, status, verified, notes
        Of the schedule; without one there are bounds alone.
    spent
        What the schedule takes, or what any schedule takes at least; None where there is neither.
    least
        What any schedule takes at least, by this one's bound too.
    value, bound, gap
        Of the objective of schedules, in ``unit``.
    solve_s, checked_s
        Seconds of the scheduler; wall seconds of all schedulers and the verifier.
    cut
        What the prices of the bound prove of other machines; None where they prove nothing.
    stored
        The result as a compressed file.
    """

    scheduler: str
    status: Status
    verified: bool
    notes: tuple[str, ...]
    spent: Spent | None
    least: Spent
    value: Fraction | None
    bound: Fraction | None
    gap: float | None
    unit: str
    solve_s: float
    checked_s: float
    cut: Cut | None
    stored: bytes = b""


@dataclass(frozen=True, kw_only=True)
class TrialOutcome:
    """What came of a trial, by network; ``seconds`` are all of the wall time."""

    networks: dict[str, NetworkOutcome]
    seconds: float


def evaluate(
    setup: Setup,
    candidate: Candidate,
    near: Near,
    keep: bool,
    known: Mapping[str, bytes] | None = None,
) -> TrialOutcome:
    """Schedule every network of ``setup`` on ``candidate``.

    Parameters
    ----------
    setup, candidate
        What on what.
    near
        Prices to search from; whatever they are, schedules are legal and bounds true.
    keep
        Whether to give the schedules, too.
    known
        Compressed results of a machine that schedules cannot tell from ``candidate``, by network:
        they are verified and taken over, see :mod:`spmopt.search.evaluation`.

    Raises
    ------
    InputError
        A network or machine that cannot be used.
    ScheduleError
        An illegal schedule or an untrue bound.
    """
    started, known = monotonic(), known or {}
    found = {}
    for name, network in ((network.label, network) for network in setup.networks):
        given = (near.get(name), known.get(name))
        found[name] = _solved(setup, candidate, network, given, keep)
    return TrialOutcome(networks=found, seconds=monotonic() - started)


def result_of(
    setup: Setup, candidate: Candidate, network: Network, near: Cut | None = None
) -> StoredResult:
    """The best schedule of one network on one machine, with its instance.

    With ``bound_only`` it is the bound of the objective of schedules.
    """
    instance = candidate.instance(network)
    names = setup.schedulers or (BOUNDER,)
    found = _run(setup, instance, names, setup.schedule_for, near)
    with_value = [result for result in found if result.value is not None]
    best = min(with_value, key=_value) if with_value else found[0]
    versions = {"spmopt": __version__, "python": platform.python_version()}
    return StoredResult(instance=instance, result=best, versions=versions)


def cut_of(stored: StoredResult, *, proved: Fraction | None = None) -> Cut | None:
    """What the prices of a result prove of other machines.

    Those of energy, and of another order than the listed one, prove nothing. ``proved`` is their
    bound, where it was just evaluated; one that was read from a file is not to be trusted.
    """
    certificate = stored.result.certificate
    if certificate is None:
        return None
    try:
        return Cut.of(stored.instance, certificate, proved)
    except InputError:
        return None


def _solved(
    setup: Setup,
    candidate: Candidate,
    network: Network,
    given: tuple[Cut | None, bytes | None],
    keep: bool,
) -> NetworkOutcome:
    lowered = candidate.instance(network)  # is kept, before the clock starts
    began, (near, packed_twin) = monotonic(), given
    twin = None if packed_twin is None else carried(packed_twin, lowered)
    stored = result_of(setup, candidate, network, near) if twin is None else twin
    instance, result = stored.instance, stored.result
    if setup.bound_only:
        spent: Spent | None = _bounds(setup, instance, result)
    elif result.totals is None:
        spent = None
    else:
        own = metrics(instance.machine, result.totals)
        traffic = float(result.totals.traffic_bytes)
        spent = Spent(time_s=own.time_s, energy_j=own.energy_j, traffic_bytes=traffic)
    checked_s = monotonic() - began
    cut = cut_of(stored, proved=result.bound)
    return NetworkOutcome(
        scheduler=result.scheduler,
        status=result.status,
        verified=result.verified,
        notes=result.notes,
        spent=spent,
        value=result.value,
        bound=result.bound,
        gap=result.gap,
        unit=result.objective.unit,
        solve_s=result.solve_s,
        checked_s=checked_s,
        least=_least(setup, instance, result, cut),
        cut=cut if twin is None else None,  # that of a twin is known
        stored=packed(stored) if keep else b"",
    )


def _least(setup: Setup, instance: Instance, result: Result, cut: Cut | None) -> Spent:
    pool = CutPool()
    if cut is not None:
        pool.put(cut)
    least = least_of(instance, pool)
    if result.bound is not None:
        least = _raised(least, setup.schedule_for, result.bound)
    return least.spent(instance.machine)


def _bounds(setup: Setup, instance: Instance, result: Result) -> Spent | None:
    """What any schedule takes at least, by a relaxation for each objective that counts."""
    if result.status is Status.INFEASIBLE:
        return None
    least = least_of(instance)
    for name in setup.needs:
        own = result
        if name != setup.schedule_for:
            (own,) = _run(setup, instance, (BOUNDER,), name, None)
        if own.bound is not None:
            least = _raised(least, name, own.bound)
    return least.spent(instance.machine)


def _raised(least: Least, name: str, bound: Fraction) -> Least:
    match name:
        case "time":
            return replace(least, cycles=max(least.cycles, bound))
        case "traffic":
            return replace(least, traffic_bytes=max(least.traffic_bytes, bound))
        case _:
            return replace(least, energy_j=bound)


def _run(
    setup: Setup,
    instance: Instance,
    names: tuple[str, ...],
    objective: str,
    near: Cut | None,
) -> list[Result]:
    search = SolveOptions(
        objective=objective, tolerance=setup.tolerance, time_limit_s=setup.time_limit_s
    )
    request = search.request(instance)
    steps = len(instance.operations)
    if near is not None and objective == "time" and near.certificate.spm.size == steps:
        request = replace(request, prices=near.prices(instance.machine))
    return compare(instance, names, request)


def _value(result: Result) -> Fraction:
    return Fraction(0) if result.value is None else result.value


def problem_of(candidate: Candidate, schedule_for: str) -> Candidate:
    """``candidate`` without what schedules for an objective do not see: equal for twins."""
    machine, with_energy = candidate.machine, objective_entry(schedule_for).per_machine
    seen = replace(
        machine,
        name="",
        source="",
        area=Area(),
        energy=replace(machine.energy, source="") if with_energy else Energy(),
        memory=None if machine.memory is None else _rates(machine.memory),
        banks=tuple(_seen(bank, with_energy) for bank in machine.banks),
    )
    return replace(candidate, machine=seen)


def carried(packed: bytes, instance: Instance) -> StoredResult | None:
    """A compressed result of a twin as one of ``instance``, verified and bounded there.

    None if it is of other operations, or is no legal schedule with its value and bound.
    """
    stored = unpacked(packed, instance.name)
    if stored is None or not _alike(stored.instance, instance):
        return None
    result, totals = stored.result, stored.result.totals
    if result.schedule is not None:
        totals = verify(instance, result.schedule).totals
        if totals is None or totals.value(result.objective) != result.value:
            return None
    if result.certificate is not None and bound(instance, result.certificate) != result.bound:
        return None
    again = replace(result, totals=totals, solve_s=0.0, cpu_s=0.0)
    return replace(stored, instance=instance, result=again)


def _seen(bank: Bank, with_energy: bool) -> Bank:
    plain = replace(bank, technology="", source="", area_mm2=None)
    if with_energy:
        return plain
    return replace(plain, read_pj_per_byte=0.0, write_pj_per_byte=0.0, leakage_w=0.0)


def _rates(memory: SpmTechnology) -> SpmTechnology | None:
    """What lowering sees of a technology: how fast its banks are, where they are counted."""
    if memory.rates is None:
        return None
    return replace(memory, technology="", source="", basis="", area_mm2=0.0, dram_bytes_per_s=1)


def _alike(left: Instance, right: Instance) -> bool:
    return left.operations == right.operations and left.tensors == right.tensors


def packed(stored: StoredResult) -> bytes:
    """A result as a compressed file, the same bytes each time; quickly, not tightly."""
    text = json.dumps(encode_result(stored), separators=(",", ":"), allow_nan=False)
    return gzip.compress(text.encode(), 1, mtime=0)


def unpacked(packed: bytes, where: str) -> StoredResult | None:
    """A compressed result; None where it is cut off, or none. ``where``: what errors call it."""
    try:
        return decode_result(json.loads(gzip.decompress(packed)), where)
    except (OSError, EOFError, ValueError, InputError, zlib.error):
        return None
