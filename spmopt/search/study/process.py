"""Who runs a trial, and whether it is still there."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from optuna.trial import FrozenTrial

PROCESS = "process"
"""Attribute of a trial: who runs it."""
LOST = "its process ended before it"


def own_name() -> str:
    """Name this process, by machine and number."""
    return f"{_machine()}:{os.getpid()}"


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
    return int(number) if machine == _machine() and number.isdigit() else None


def _machine() -> str:
    """Numbers of processes mean something within a name space only."""
    space = Path("/proc/self/ns/pid")
    return f"{platform.node()}:{space.readlink() if space.is_symlink() else ''}"
