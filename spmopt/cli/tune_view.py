"""What a study has found, for people and programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from spmopt.cli import Code
from spmopt.cli.output import print_json, results, say, tell
from spmopt.report.quantities import percent, si
from spmopt.report.table import draw_rows
from spmopt.search.findings.built import built_of
from spmopt.search.findings.found import Found
from spmopt.search.findings.lines import (
    beyond_lines,
    counts_text,
    figure_text,
    header_lines,
    lead_text,
    network_text,
    proof_text,
    state_text,
    varies_lines,
)
from spmopt.search.findings.records import study_record, trial_record
from spmopt.search.findings.replay import candidate_of
from spmopt.search.findings.shown import gap_of, never_held, require_feasible
from spmopt.search.findings.values import shown_fields
from spmopt.search.findings.worth import Prices
from spmopt.search.study.record import FIGURES, NETWORKS, PROOF, SECONDS

if TYPE_CHECKING:
    from optuna.study import Study
    from optuna.trial import FrozenTrial

    from spmopt.search.space.setup import Setup

_WORTH = ("trial", "network", "bound", "1 MB more SPM", "1 GB/s more DRAM", "1 PE more")
_SLOPES = (
    "Worth: how much the certified bound falls at first, for each MB, GB/s and PE (multiply-"
    "accumulate unit) more, by the prices that prove it."
)
_ALIKE = "Worth of SPM: speed of its banks, energies and leakage stay as they are."


def show_study(study: Study, setup: Setup, found: Found, *, as_json: bool) -> Code:
    """Print what was found in a study.

    Raises
    ------
    InputError
        No machine of the space can be built.
    """
    require_feasible(study, setup)
    if as_json:
        print_json(study_record(study, setup, found))
    else:
        _print(study, setup, found)
    if found.trials:
        return Code.OK
    tell(never_held(study, setup))
    return Code.NOTHING_FOUND


def show_trial(trial: FrozenTrial, setup: Setup, *, as_json: bool) -> None:
    """Print one trial: its machine, figures, and what each network comes to."""
    if as_json:
        print_json(trial_record(trial, setup))
        return
    say(f"trial {trial.number}: {state_text(trial)}")
    built = built_of(setup, trial)
    lines = list(shown_fields(trial.params, built).items())
    figures: Mapping[str, float] = trial.user_attrs.get(FIGURES) or {}
    lines += [(name, figure_text(name, value, setup)) for name, value in figures.items()]
    limits = {str(limit) for limit in setup.space.constraints}
    lines += [(key, _held(each)) for key, each in trial.constraints.items() if key in limits]
    wide = max((len(name) for name, _ in lines), default=0)
    for name, text in lines:
        say(f"  {name:<{wide}}  {text}")
    for name, one in (trial.user_attrs.get(NETWORKS) or {}).items():
        say(f"  {name}: {network_text(one, setup)}", indent=4)
    for line in beyond_lines({trial.number: built}):
        say(f"  {line}", indent=4)
    if PROOF in trial.user_attrs:
        say(f"  {proof_text(trial.user_attrs[PROOF])}", indent=4)


def _print(study: Study, setup: Setup, found: Found) -> None:
    labels = ", ".join(network.label for network in setup.networks)
    say(f"study {study.study_name}: {labels}; {counts_text(found.counted)}")
    for line in header_lines(setup):
        say(line)
    if not found.trials:
        return
    say("")
    _print_trials(setup, found)
    for number, lead in found.leads.items():
        say(lead_text(number, lead), indent=2)
    for line in beyond_lines(found.built):
        say(line, indent=2)
    say("")
    for line in varies_lines(found.varies):
        say(line)
    if found.worth:
        _print_worth(setup, found)


def _print_trials(setup: Setup, found: Found) -> None:
    """One line a trial; ``~`` at those that another may be as good as, ``*`` beyond a fit."""
    fields = [axis.key for axis in setup.space.axes]
    built = found.built
    if "bandwidth" not in fields and any(each and each.is_held_back for each in built.values()):
        fields.append("bandwidth")
    rows = []
    for trial in found.trials:
        own = built[trial.number]
        mark = "~" * (trial.number in found.leads) + "*" * bool(own and own.beyond)
        bandwidth = {} if own is None else {"bandwidth": own.dram_bytes_per_s}
        shown = shown_fields({**bandwidth, **trial.params}, own)
        cells = (shown.get(key, "-") for key in fields)
        rows.append((f"{trial.number}{mark}", *cells, *_came_to(trial, setup)))
    columns = ("trial", *fields, *setup.objectives, "gap", "seconds")
    draw_rows(columns, rows, results(), left=())


def _came_to(trial: FrozenTrial, setup: Setup) -> Iterator[str]:
    for name, value in zip(setup.objectives, trial.values, strict=True):
        yield figure_text(name, value, setup)
    gap, seconds = gap_of(trial), trial.user_attrs.get(SECONDS)
    yield "-" if gap is None else percent(gap, fill=True)
    yield "-" if seconds is None else f"{seconds:.2f}"


def _print_worth(setup: Setup, found: Found) -> None:
    say("")
    lines = [(str(number), name, *_slopes(each)) for number, name, each in found.worth]
    draw_rows(_WORTH, lines, results(), left=("network",))
    say(_SLOPES)
    if any(candidate_of(setup, trial).machine.memory is not None for trial in found.trials):
        say(_ALIKE)


def _slopes(prices: Prices) -> tuple[str, ...]:
    per_pe = "-" if prices.per_pe is None else si(prices.per_pe, prices.unit)
    slopes = (si(value, prices.unit) for value in (prices.bound, prices.per_mb, prices.per_gbps))
    return (*slopes, per_pe)


def _held(excess: float) -> str:
    return "holds" if excess <= 0 else "does not hold"
