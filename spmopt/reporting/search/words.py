"""A search in words: figures, fields, and sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from spmopt.hardware.settings import Setting, show_setting
from spmopt.reporting.quantities import duration, percent, show_bandwidth
from spmopt.search import figures, records
from spmopt.search.candidate import Candidate
from spmopt.search.figures import STATIC
from spmopt.search.findings import not_minimized
from spmopt.search.records import Findings, TrialRecord
from spmopt.search.setup import Setup
from spmopt.search.storage import LOST
from spmopt.sweeps.cases import Network

STATES = {
    **{state: state for state in records.STATES},
    "as_before": "as before",
    "excluded": "excluded by proof",
    "put_back": "lost and begun again",
}
"""How the counts of a study are called."""

LABELS: Mapping[str, str] = {
    "area_mm2": "area, mm²",
    "spm_mb": "scratchpad, MB",
    "gbps": "DRAM bandwidth, GB/s",
    "tflops": "peak throughput, TFLOP/s",
    "clock_ghz": "clock, GHz",
    "pes": "MAC units",
    "edp_js": "energy x time, Js",
    "edap_js_mm2": "energy x time x area, Js mm²",
}
"""Figures without a decimal prefix, as axes and columns call them."""


def fields_to_show(values: Mapping[str, Setting], built: Candidate | None) -> dict[str, str]:
    """Write the fields of a machine; where banks hold its channel back, the bandwidth says it."""
    found = {key: show_setting(key, value) for key, value in values.items()}
    if built is not None and (built.is_held_back or "bandwidth" in found):
        rates = (built.dram_bytes_per_s, built.machine.dram_bytes_per_s)
        found["bandwidth"] = show_bandwidth(*rates)
    return found


def header_lines(setup: Setup) -> Iterator[str]:
    """Yield the subject of a study: networks, machine, objectives, schedules."""
    space = setup.space
    networks = ", ".join(_network(each, has_batch=space.has_batch) for each in setup.networks)
    yield f"networks: {networks}"
    fixed = "".join(f"; {key} = {show_setting(key, value)}" for key, value in space.fixed.items())
    yield f"machine: {space.machine.name or 'without a name'}{fixed}"
    made = f"{'bounds' if setup.bound_only else 'schedules'} for {setup.schedule_for}"
    yield f"objectives: {', '.join(setup.objectives)}; {made}, by {setup.scheduler}"
    parts = (_weight(setup), "for one sample" * space.has_batch)
    if any(parts):
        yield f"times, energies and bytes are {', '.join(filter(None, parts))}"
    if text := _caution(setup):
        yield text


def _weight(setup: Setup) -> str:
    """Say which sums figures are, with which weights; empty where nothing is weighed or summed."""
    weights = {each.label: setup.space.weights.get(each.label, 1.0) for each in setup.networks}
    if set(weights.values()) != {1.0}:
        said = ", ".join(f"{label} x {weight:g}" for label, weight in weights.items())
        return f"weighted sums over networks ({said})"
    return "sums over networks" if len(weights) > 1 else ""


def _network(network: Network, *, has_batch: bool) -> str:
    said = [f"batch {network.batch_size}"] if network.batch_size and not has_batch else []
    said += ["training"] if network.training else []
    return f"{network.label} ({', '.join(said)})" if said else network.label


def _caution(setup: Setup) -> str:
    """Say that figures are bounds, or that schedules minimize one of several; empty if of one."""
    if setup.bound_only:
        return (
            "figures with ≥ are lower bounds, each by itself: no one schedule need reach them all"
        )
    others = not_minimized(setup)
    if not others:
        return ""
    theirs = " and ".join(others)
    verb = "is theirs" if len(others) == 1 else "are theirs"
    hint = " (--schedule-for energy minimizes it)" if setup.energy_aside else ""
    found = f"{theirs} {verb}, not the least of the machine{hint}"
    return f"schedules minimize {setup.schedule_for}; {found}"


def figure_text(name: str, value: float, setup: Setup) -> str:
    """Show a figure; those that are lower bounds are marked so."""
    bounded = setup.bound_only and name not in STATIC
    return ("≥ " if bounded else "") + figures.figure_text(name, value)


def network_text(one: Mapping[str, Any], setup: Setup) -> str:
    """Return figures of a network in a trial, and their origin, as far as known."""
    parts = [f"{one.get('scheduler') or 'unknown'}, {one.get('status') or 'unknown'}"]
    names = {"time": "time_s", "energy": "energy_j", "traffic": "traffic_bytes"}
    asked = setup.needs if setup.bound_only else names
    known = [names[key] for key in asked if one.get(names[key]) is not None]
    parts += [figure_text(name, one[name], setup) for name in known]
    if one.get("gap") is not None:
        parts.append(f"gap {percent(one['gap'], of='the bound')}")
    if one.get("seconds") is not None:
        parts.append(f"solved in {duration(one['seconds'])}")
    if one.get("verified"):
        parts.append("verified")
    return "; ".join(parts)


def counts_text(counts: Mapping[str, int]) -> str:
    """Return the number of trials of each state, in words."""
    numbers = {text: counts[name] for name, text in STATES.items()}
    said = [f"{number} {text}" for text, number in numbers.items() if number]
    total = sum(numbers.values())
    trials = f"{total} trial" if total == 1 else f"{total} trials"
    return f"{trials}: {', '.join(said)}" if said else trials


def proof_text(proof: Mapping[str, Any]) -> str:
    """Say why a trial was not solved, in a sentence."""
    if "impossible" in proof:
        return f"no such machine: {proof['impossible']}"

    def show(values: Iterable[float]) -> str:
        named = zip(proof["bounds"], values, strict=True)
        return ", ".join(f"{name} {figures.figure_text(name, value)}" for name, value in named)

    least = show(proof["bounds"].values())
    if "constraint" in proof:
        return f"excluded: no schedule holds {proof['constraint']}, for any has at least {least}"
    better = show(proof["values"])
    return f"excluded: any schedule has at least {least}; trial {proof['by']} has {better}"


def remark(number: int, findings: Findings) -> str:
    """Say which trials a member stands for, and whether figures are beyond the fit of a memory."""
    others = findings.merged.get(number, ())
    built = findings.built.get(number)
    parts = [f"as good: {', '.join(map(str, others))}"] if others else []
    parts += [f"{name} beyond its fit" for name in (built.extrapolations if built else ())]
    return "; ".join(parts)


def state_text(trial: TrialRecord) -> str:
    """Return the state of a trial, and where there is no schedule the reason in short."""
    if trial.state == "as_before":
        return f"{STATES[trial.state]}, trial {trial.as_before}"
    reasons = {"failed": str(trial.error), "lost": LOST, "put_back": LOST}
    reason = reasons.get(trial.state, trial.process if trial.state == "running" else "")
    return f"{STATES[trial.state]}: {reason}" if reason else STATES[trial.state]
