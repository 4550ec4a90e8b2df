"""What is said of a study in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from spmopt.report.quantities import share
from spmopt.search.findings.shown import Tally
from spmopt.search.findings.varies import Varies
from spmopt.search.space.figures import STATIC
from spmopt.search.space.setup import Setup
from spmopt.sweep.cases import Network


def header_lines(setup: Setup) -> Iterator[str]:
    """What a study is of: networks, machine, objectives, schedules."""
    space = setup.space
    networks = ", ".join(_network(each, has_batch=space.has_batch) for each in setup.networks)
    yield f"networks: {networks}"
    fixed = "".join(f"; {key} = {value}" for key, value in space.fixed.items())
    yield f"machine: {space.machine.name or 'without a name'}{fixed}"
    made = f"{'bounds' if setup.bound_only else 'schedules'} for {setup.schedule_for}"
    yield f"objectives: {', '.join(setup.objectives)}; {made}, by {setup.scheduler}"
    several = len(setup.networks) > 1
    if several or space.has_batch:
        summed = "weighted sums over networks" if several else ""
        sample = "for one sample" if space.has_batch else ""
        parts = ", ".join(part for part in (summed, sample) if part)
        yield f"times, energies and bytes are {parts}"
    if text := _caution(setup):
        yield text


def _network(network: Network, *, has_batch: bool) -> str:
    said = [f"batch {network.known_batch}"] if network.known_batch and not has_batch else []
    said += ["training"] if network.training else []
    return f"{network.label} ({', '.join(said)})" if said else network.label


def _caution(setup: Setup) -> str:
    """That figures are bounds, or that schedules minimise one of several; empty if of one."""
    if setup.bound_only:
        return (
            "figures with ≥ are lower bounds, each by itself: no one schedule need reach them all"
        )
    others = not_minimised(setup)
    if not others:
        return ""
    theirs = " and ".join(others)
    verb = "is theirs" if len(others) == 1 else "are theirs"
    return f"schedules minimise {setup.schedule_for}; {theirs} {verb}, not the least of the machine"


def bounded(name: str, setup: Setup) -> str:
    """What stands before a figure that is a bound."""
    return "≥ " if setup.bound_only and name not in STATIC else ""


def not_minimised(setup: Setup) -> list[str]:
    """What figures depend on and schedules do not minimise: some of time, energy, traffic."""
    return [] if setup.bound_only else [each for each in setup.needs if each != setup.schedule_for]


def varies_lines(found: Mapping[str, Varies]) -> Iterator[str]:
    """What each objective varies with, and what that rests on."""
    for name, each in found.items():
        if each.parts:
            said = ", ".join(f"{key} {share(part)}" for key, part in each.parts.items())
            rests = "" if each.trials is None else f" (by the {each.trials} machines solved)"
            yield f"{name} varies with {said}{rests}."


def counts_text(counted: Tally) -> str:
    """How many trials came to what."""
    words = {
        "solved": "solved",
        "as_before": "as before",
        "pruned": "excluded by proof",
        "impossible": "impossible",
        "failed": "failed",
        "running": "running elsewhere",
    }
    numbers = {text: getattr(counted, name) for name, text in words.items()}
    said = [f"{number} {text}" for text, number in numbers.items() if number]
    total = sum(numbers.values())
    trials = f"{total} trial" if total == 1 else f"{total} trials"
    return f"{trials}: {', '.join(said)}" if said else trials
