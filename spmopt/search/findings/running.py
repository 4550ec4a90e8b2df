"""Who runs a trial, and whether it is still there."""

from __future__ import annotations

import os

from optuna.trial import FrozenTrial

from spmopt.search.study.storage import PROCESS, own_name

LOST = "its process ended before it"


def is_lost(trial: FrozenTrial) -> bool:
    """Whether a running trial is of a process of this machine that has ended."""
    number = _number_here(trial)
    if number is None:
        return False
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def whereabouts(trial: FrozenTrial) -> str:
    """Who runs it: ``process 4711 of this machine``; empty where that is not known."""
    number = _number_here(trial)
    if number is not None:
        return f"process {number} of this machine"
    machine, _, other = str(trial.user_attrs.get(PROCESS, "")).rpartition(":")
    return f"process {other} of {machine.partition(':')[0]}" if machine else ""


def _number_here(trial: FrozenTrial) -> int | None:
    """The number of its process, if that is of this machine."""
    machine, _, number = str(trial.user_attrs.get(PROCESS, "")).rpartition(":")
    here = own_name().rpartition(":")[0]
    return int(number) if machine == here and number.isdigit() else None
