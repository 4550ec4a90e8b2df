"""All that is shown of a study, found once, for people and programs alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from optuna.study import Study
from optuna.trial import FrozenTrial

from spmopt.search.findings.built import Built, built_of
from spmopt.search.findings.leads import Lead, uncertain_leads
from spmopt.search.findings.replay import candidate_of, results_for
from spmopt.search.findings.shown import Tally, best, front, tally
from spmopt.search.findings.varies import Varies, variation
from spmopt.search.findings.worth import Prices, prices_of
from spmopt.search.space.setup import Setup
from spmopt.search.study.schedules import Schedules


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What is shown of a study.

    Attributes
    ----------
    trials
        The front, or with ``top`` so many of the best in the first objective.
    top
        How many were asked for; None: the front.
    counted
        How many trials came to what.
    built
        Machines of the trials, by number.
    leads
        Of members of the front that another trial may be as good as, by number.
    varies
        What each objective varies with.
    worth
        Number of a trial, network, and what more of each resource is worth there.
    """

    trials: tuple[FrozenTrial, ...]
    top: int | None
    counted: Tally
    built: Mapping[int, Built | None]
    leads: Mapping[int, Lead]
    varies: Mapping[str, Varies]
    worth: tuple[tuple[int, str, Prices], ...] = ()


def found_of(study: Study, setup: Setup, top: int | None = None) -> Found:
    """The front of a study, or the ``top`` best, with all but what is worth."""
    trials = front(study) if top is None else best(study, top)
    return Found(
        trials=tuple(trials),
        top=top,
        counted=tally(study),
        built={trial.number: built_of(setup, trial) for trial in trials},
        leads=uncertain_leads(study, setup, trials) if top is None else {},
        varies=variation(study, setup) if trials else {},
    )


def worth_of(
    setup: Setup, found: Found, schedules: Schedules, tell: Callable[[str], None]
) -> tuple[tuple[int, str, Prices], ...]:
    """What more of each resource is worth, on every machine and network that is shown.

    ``tell`` hears of schedules that are made again.
    """
    rows = []
    for trial, network, stored in results_for(setup, found.trials, schedules, tell):
        prices = prices_of(stored, candidate_of(setup, trial), network)
        if prices is not None:
            rows.append((trial.number, network.label, prices))
    return tuple(rows)
