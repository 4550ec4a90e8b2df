"""Three to six sentences on the decisions, with figures."""

from __future__ import annotations

from collections.abc import Sequence

from spmopt.core.problem import Problem
from spmopt.reporting.ablation.decisions import Decision, Key
from spmopt.reporting.fusion_plans import fusion_plan_words
from spmopt.reporting.quantities import percent, share, si, usage

_LITTLE = 1e-4  # of the time at the start: a smaller saving counts as none
_COMPUTES = 0.98  # of the time: with more computing hardly anything is left to save


def sentences(decisions: Sequence[Decision]) -> list[str]:
    """Return sentences on the savings: in all, the largest, the rest, and the limits."""
    found = [_whole(decisions), _most(decisions), _rule(decisions), _rest(decisions)]
    return [text for text in (*found, _waiting(decisions), _traffic(decisions)) if text]


def seconds(decision: Decision, cycles: float) -> str:
    """Write cycles as time."""
    return si(decision.seconds(cycles), "s")


def _whole(decisions: Sequence[Decision]) -> str:
    """Say how much the best schedule saves against the start, and how much is left at most."""
    first, last = decisions[0], decisions[-1]
    start = f"{seconds(first, first.cycles)} ({Key.START.words})"
    saved = first.cycles - last.cycles
    if saved <= _LITTLE * first.cycles:
        text = f"Time stays at {start}: no decision makes it faster"
    else:
        times = f", {first.cycles / last.cycles:.3g} times as fast" if last.cycles else ""
        less = f"{share(saved / first.cycles)} less{times}"
        text = f"Time falls from {start} to {seconds(last, last.cycles)}: {less}"
    if last.bound is None:
        return f"{text}."
    # Exactly: bound and value are fractions.
    if last.gap == 0:
        return f"{text}. This is the optimum over {last.bound_of}."
    least = f"Lower bound over {last.bound_of}: {seconds(last, float(last.bound))}, certified"
    part = float(1 - last.bound / last.cycles) if last.cycles else 0.0
    left = percent(part, up=True).removeprefix("+")
    return f"{text}. {least}; at most {left} more can be saved."


def _most(decisions: Sequence[Decision]) -> str:
    """Say which decision saves most, and how."""
    saved = decisions[0].cycles - decisions[-1].cycles
    best = max(decisions[1:], key=lambda each: each.saved_cycles, default=None)
    if best is None or saved <= _LITTLE * decisions[0].cycles:
        return ""
    head = f"Largest saving: {_with_name(best)}, {seconds(best, best.saved_cycles)}"
    part = share(best.saved_cycles / saved)
    place = decisions.index(best)
    before, after = decisions[place - 1].totals, best.totals
    less = before.traffic_bytes - after.traffic_bytes
    moved = f"{si(abs(less), 'B')} {'less' if less >= 0 else 'more'} DRAM traffic"
    fusion, how = best.result.fused, ""
    if best.key is Key.FUSION and fusion is not None:
        plan = fusion_plan_words(fusion)
        how = f"; results stay on chip from operation to operation ({plan})"
    return f"{head} ({part} of all savings), {moved}{how}."


def _with_name(decision: Decision) -> str:
    if decision.key is Key.POLICY:
        return f"a greedy rule, {decision.result.scheduler}"
    return "computing in fusion tiles" if decision.key is Key.FUSION else decision.key.words


def _rule(decisions: Sequence[Decision]) -> str:
    """Compare a greedy rule with optimal residency."""
    known = {each.key: each for each in decisions}
    rule, exact = known.get(Key.POLICY), known.get(Key.RESIDENCY)
    if rule is None or exact is None or not rule.saved_cycles + exact.saved_cycles:
        return ""
    both = rule.saved_cycles + exact.saved_cycles
    name = rule.result.scheduler
    head = f"Residency can save {seconds(rule, both)}: {name} saves "
    left = exact.saved_cycles / rule.cycles if rule.cycles else 0.0
    tail = f"optimal residency takes {percent(left).removeprefix('+')} less time than {name}"
    if exact.why:
        tail = f"optimal residency: {exact.why}"
    elif left <= _LITTLE:
        tail = "optimal residency is hardly faster"
    return f"{head}{share(rule.saved_cycles / both)} of it; {tail}."


def _rest(decisions: Sequence[Decision]) -> str:
    """Say which decisions save nothing, and why."""
    idle = [each for each in decisions[1:] if not each.saved_cycles and each.why]
    said = [f"{_with_name(each)}: {each.why}" for each in idle if each.key is not Key.RESIDENCY]
    return f"No saving: {'; '.join(said)}." if said else ""


def _waiting(decisions: Sequence[Decision]) -> str:
    """Say how long the engine computes, and how much waiting is left."""
    first, last = decisions[0], decisions[-1]
    if not last.cycles:
        return ""
    computes = last.totals.compute_cycles
    part = computes / last.cycles
    head = f"Compute takes {seconds(last, computes)}"
    begins, ends = (seconds(each, each.waiting_cycles) for each in (first, last))
    tail = f"stalls fall from {begins} to {ends}"
    near = ", hardly anything is left to save" if part >= _COMPUTES else ""
    return f"{head} ({share(part)} of the best time); {tail}{near}."


def _traffic(decisions: Sequence[Decision]) -> str:
    """Compare traffic with the start, and say how full the scratchpad gets."""
    first, last = decisions[0].totals, decisions[-1].totals
    if not first.traffic_bytes:
        return ""
    used = usage(last.peak_spm_bytes, decisions[-1].problem.machine.spm_bytes)
    change = last.traffic_bytes / first.traffic_bytes - 1
    moved = f"{si(first.traffic_bytes, 'B')} to {si(last.traffic_bytes, 'B')}"
    peak = f"the scratchpad holds at most {used}"
    return f"DRAM traffic goes from {moved} ({percent(change)}); {peak}."


def remarks(problem: Problem) -> list[str]:
    """Say which decisions are not searched."""
    if not any(tensor.kind.value.endswith("gradient") for tensor in problem.tensors):
        return []
    return [
        "Not searched: recomputation. Each activation of the training iteration is computed once."
    ]
