"""What a study has found, for people and programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from spmopt.cli import Code
from spmopt.cli.terminal.output import print_json, results, say, tell
from spmopt.report.tables import draw_parts
from spmopt.search.findings.built import built_of
from spmopt.search.findings.found import Found
from spmopt.search.findings.lines import (
    beyond_lines,
    figure_text,
    network_text,
    proof_text,
    state_text,
)
from spmopt.search.findings.parts import study_parts
from spmopt.search.findings.records import study_record, trial_record
from spmopt.search.findings.shown import never_held, require_feasible
from spmopt.search.findings.values import shown_fields
from spmopt.search.study.record import FIGURES, NETWORKS, PROOF

if TYPE_CHECKING:
    from optuna.study import Study
    from optuna.trial import FrozenTrial

    from spmopt.search.space.setup import Setup


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
        draw_parts(study_parts(study, setup, found), results())
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


def _held(excess: float) -> str:
    return "holds" if excess <= 0 else "does not hold"
