"""What a study has found, for people and programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spmopt.cli import Code
from spmopt.cli.output import print_json, results, say, tell
from spmopt.cli.tune_lines import (
    bounded,
    counts_text,
    header_lines,
    not_minimised,
    varies_lines,
)
from spmopt.report.quantities import duration, percent, si
from spmopt.report.table import draw_rows
from spmopt.search.findings.leads import Lead, uncertain_leads
from spmopt.search.findings.replay import candidate_of, results_for
from spmopt.search.findings.shown import (
    Tally,
    best,
    front,
    never_held,
    require_feasible,
    tally,
    trial_record,
)
from spmopt.search.findings.varies import Varies, variation
from spmopt.search.findings.worth import Prices, prices_of
from spmopt.search.study.record import NETWORKS, PROOF, SECONDS

if TYPE_CHECKING:
    from optuna.study import Study
    from optuna.trial import FrozenTrial

    from spmopt.search.space.setup import Setup
    from spmopt.search.study.schedules import Schedules

_UNITS = {
    "spm": "B",
    "page": "B",
    "bandwidth": "B/s",
    "throughput": "OP/s",
    "clock": "Hz",
    "time_s": "s",
    "energy_j": "J",
    "traffic_bytes": "B",
    "power_w": "W",
    "edp_js": "Js",
}
_WORTH = ("trial", "network", "bound", "1 MB more SPM", "1 GB/s more DRAM", "1 PE more")
_SLOPES = (
    "Worth: how much the certified bound falls at first, for each MB, GB/s and PE (multiply-"
    "accumulate unit) more, by the prices that prove it."
)
_ALIKE = "Worth of SPM: speed of its banks, energies and leakage stay as they are."


def shown_trials(study: Study, top: int | None) -> list[FrozenTrial]:
    """The front, or so many of the best in the first objective."""
    return front(study) if top is None else best(study, top)


def show_study(
    study: Study,
    setup: Setup,
    schedules: Schedules,
    *,
    as_json: bool,
    worth: bool = False,
    top: int | None = None,
) -> Code:
    """Print front, importances and counts, with ``worth`` what more of each resource is worth.

    With ``top`` so many of the best in the first objective take the place of the front.
    """
    require_feasible(study, setup)
    found, counted = shown_trials(study, top), tally(study)
    rows = worth_rows(setup, found, schedules) if worth else []
    leads = uncertain_leads(study, setup, found) if top is None else {}
    varies = variation(study, setup) if found else {}
    shown = _Found(trials=found, counted=counted, worth=rows, leads=leads, varies=varies)
    if as_json:
        print_json(_record(study, setup, shown, "front" if top is None else "best"))
    else:
        _print(study, setup, shown)
    if found:
        return Code.OK
    tell(never_held(study, setup))
    return Code.NOTHING_FOUND


def show_trial(trial: FrozenTrial, setup: Setup, *, as_json: bool) -> None:
    """Print one trial: its machine, figures, and what each network comes to."""
    record = trial_record(trial, setup)
    if as_json:
        print_json(record)
        return
    say(f"trial {trial.number}: {record['state']}")
    lines = [(key, _shown(key, value)) for key, value in trial.params.items()]
    figures = trial.user_attrs.get("figures") or {}
    lines += [(name, bounded(name, setup) + _shown(name, value)) for name, value in figures.items()]
    limits = {str(limit) for limit in setup.space.constraints}
    lines += [(key, _held(each)) for key, each in trial.constraints.items() if key in limits]
    wide = max(len(name) for name, _ in lines)
    for name, text in lines:
        say(f"  {name:<{wide}}  {text}")
    for name, one in (trial.user_attrs.get(NETWORKS) or {}).items():
        say(f"  {name}: {_network(one, setup)}", indent=4)
    if PROOF in trial.user_attrs:
        say(f"  {proof_text(trial.user_attrs[PROOF])}", indent=4)


def proof_text(proof: Mapping[str, Any]) -> str:
    """Why a trial was not solved, in a sentence."""
    if "impossible" in proof:
        return f"no such machine: {proof['impossible']}"
    least = ", ".join(f"{name} {_shown(name, value)}" for name, value in proof["bounds"].items())
    if "constraint" in proof:
        return f"excluded: no schedule holds {proof['constraint']}, for any has at least {least}"
    values = zip(proof["bounds"], proof["values"], strict=True)
    better = ", ".join(f"{name} {_shown(name, value)}" for name, value in values)
    return f"excluded: any schedule has at least {least}; trial {proof['by']} has {better}"


def csv_rows(study: Study, setup: Setup, top: int | None) -> list[dict[str, object]]:
    """The front as rows: fields, objectives, and what each network comes to.

    ``within_gap`` is the trial that a member may be no better than, see ``search/leads.py``.
    """
    found, rows = shown_trials(study, top), []
    leads = uncertain_leads(study, setup, found) if top is None else {}
    for trial in found:
        row: dict[str, object] = {"trial": trial.number, **trial.params}
        if top is None:
            row["within_gap"] = leads[trial.number].of if trial.number in leads else ""
        row |= dict(zip(setup.objectives, trial.values, strict=True))
        for name, one in (trial.user_attrs.get(NETWORKS) or {}).items():
            keys = ("scheduler", "status", "verified", "gap", "time_s", "energy_j", "traffic_bytes")
            row |= {f"{name}.{key}": one.get(key) for key in keys}
        rows.append(row)
    return rows


def worth_rows(
    setup: Setup, found: Sequence[FrozenTrial], schedules: Schedules
) -> list[tuple[int, str, Prices]]:
    """What more of each resource is worth, on every machine and network of the front."""
    rows = []
    for trial, network, stored in results_for(setup, found, schedules):
        prices = prices_of(stored, candidate_of(setup, trial), network)
        if prices is not None:
            rows.append((trial.number, network.label, prices))
    return rows


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """What is shown of a study."""

    trials: list[FrozenTrial]
    counted: Tally
    worth: list[tuple[int, str, Prices]]
    leads: Mapping[int, Lead]
    varies: Mapping[str, Varies]

    @property
    def marks(self) -> list[str]:
        """Numbers of the trials, ``~`` at those that another may be as good as."""
        return [f"{each.number}{'~' * (each.number in self.leads)}" for each in self.trials]


def _record(study: Study, setup: Setup, shown: _Found, name: str) -> dict[str, object]:
    return {
        "study": study.study_name,
        "setup": setup.record(),
        "not_minimised": not_minimised(setup),
        "counts": {key: getattr(shown.counted, key) for key in shown.counted.__slots__},
        name: [
            trial_record(trial, setup) | {"within_gap": _lead_record(shown.leads.get(trial.number))}
            for trial in shown.trials
        ],
        "importances": {key: dict(each.parts) for key, each in shown.varies.items()},
        "importances_trials": {key: each.trials for key, each in shown.varies.items()},
        "worth": [
            {"trial": number, "network": label, **{k: getattr(each, k) for k in each.__slots__}}
            for number, label, each in shown.worth
        ],
    }


def _lead_record(lead: Lead | None) -> dict[str, object] | None:
    if lead is None:
        return None
    keys = ("value", "other", "least")
    values = {name: dict(zip(keys, row, strict=True)) for name, row in lead.values.items()}
    return {"trial": lead.of, "values": values}


def _print(study: Study, setup: Setup, shown: _Found) -> None:
    labels = ", ".join(network.label for network in setup.networks)
    say(f"study {study.study_name}: {labels}; {counts_text(shown.counted)}")
    for line in header_lines(setup):
        say(line)
    if not shown.trials:
        return
    say("")
    fields = [axis.key for axis in setup.space.axes]
    columns = ("trial", *fields, *setup.objectives, "gap", "seconds")
    marked = zip(shown.marks, shown.trials, strict=True)
    draw_rows(
        columns, [(mark, *_row(each, fields, setup)) for mark, each in marked], results(), left=()
    )
    for number, lead in shown.leads.items():
        say(_lead_text(number, lead), indent=2)
    say("")
    for line in varies_lines(shown.varies):
        say(line)
    if shown.worth:
        say("")
        lines = [(str(number), name, *_worth(each)) for number, name, each in shown.worth]
        draw_rows(_WORTH, lines, results(), left=("network",))
        say(_SLOPES)
        if any(candidate_of(setup, trial).machine.memory is not None for trial in shown.trials):
            say(_ALIKE)


def _row(trial: FrozenTrial, fields: Sequence[str], setup: Setup) -> tuple[str, ...]:
    networks = trial.user_attrs.get(NETWORKS) or {}
    gaps = [one["gap"] for one in networks.values() if one.get("gap") is not None]
    seconds = trial.user_attrs.get(SECONDS)
    return (
        *(_shown(key, trial.params[key]) for key in fields),
        *(
            bounded(name, setup) + _shown(name, value)
            for name, value in zip(setup.objectives, trial.values, strict=True)
        ),
        percent(max(gaps), fill=True) if gaps else "-",
        "-" if seconds is None else f"{seconds:.2f}",
    )


def _lead_text(number: int, lead: Lead) -> str:
    said = [
        f"{name} {_shown(name, own)} against {_shown(name, other)} ({percent(own / other - 1)}), "
        f"which may be {_shown(name, least)}"
        for name, (own, other, least) in lead.values.items()
    ]
    return f"~ {number}: within the gap of trial {lead.of}: {'; '.join(said)}"


def _worth(prices: Prices) -> tuple[str, ...]:
    per_pe = "-" if prices.per_pe is None else si(prices.per_pe, prices.unit)
    slopes = (si(value, prices.unit) for value in (prices.bound, prices.per_mb, prices.per_gbps))
    return (*slopes, per_pe)


def _network(one: Mapping[str, Any], setup: Setup) -> str:
    parts = [f"{one['scheduler']}, {one['status']}"]
    figures = {"time": "time_s", "energy": "energy_j", "traffic": "traffic_bytes"}
    asked = setup.needs if setup.bound_only else figures
    parts += [
        bounded(figures[key], setup) + _shown(figures[key], one[figures[key]]) for key in asked
    ]
    if one["gap"] is not None:
        parts.append(f"gap {percent(one['gap'])}")
    parts.append(f"solved in {duration(one['seconds'])}")
    if one["verified"]:
        parts.append("verified")
    return "; ".join(parts)


def _held(excess: float) -> str:
    return "holds" if excess <= 0 else "does not hold"


def _shown(key: str, value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return si(value, _UNITS[key]) if key in _UNITS else f"{value:.6g}"


def write_csv(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    """Write rows; raises :class:`InputError` where they cannot be."""
    import csv
    from io import StringIO

    from spmopt.io.document import write_text

    text = StringIO()
    heads = list(dict.fromkeys(key for row in rows for key in row))
    writer = csv.DictWriter(text, heads, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(path, text.getvalue())
