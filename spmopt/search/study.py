"""Attributes of a study and its trials in a storage; their schedules as files in a folder."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any
from warnings import catch_warnings, simplefilter

import optuna
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.storages import BaseStorage
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState
from sqlalchemy.exc import SQLAlchemyError

from spmopt.core.errors import InputError, unknown
from spmopt.core.solution import Solution
from spmopt.core.validation import read_bytes
from spmopt.hardware.settings import Setting, show_setting
from spmopt.io.document import remove_parts, replace_file
from spmopt.io.files import OLD_LOWERINGS
from spmopt.io.renames import rename_fields
from spmopt.search.axes import SpaceAxis
from spmopt.search.evaluation import unpack
from spmopt.search.setup import Setup
from spmopt.search.space import Space
from spmopt.search.storage import JOURNAL, file_of, why

SETUP, VERSION, FOLDER = "spmopt", "version", "schedules"
"""Attributes of a study: its :class:`Setup`, how that is written, and where its schedules are."""
ERROR, PROOF, AS_BEFORE = "error", "proof", "as_before"
"""Attributes of trials: why one came to nothing, why one was pruned, which one it repeats."""
FIGURES, NETWORKS, MACHINE, SECONDS = "figures", "networks", "machine", "seconds"
_LONGEST_NAME = 100
"""Bytes of the name of a folder."""
NOTED = (FIGURES, NETWORKS, MACHINE, SECONDS, PROOF, ERROR, AS_BEFORE)


def distributions(space: Space) -> dict[str, BaseDistribution]:
    """Return the distributions that Optuna samples from, by field."""
    return {axis.key: _distribution(axis) for axis in space.axes}


def values_of(space: Space, parameters: Mapping[str, Any]) -> dict[str, Setting]:
    """Make a point of ``space`` from the parameters of a trial."""
    return {axis.key: parameters[axis.key] for axis in space.axes}


def remember(study: Study, setup: Setup) -> None:
    """Store the setup of a study, or check that it has not changed.

    Raises
    ------
    InputError
        The study is about something else.
    """
    is_new = SETUP not in study.user_attrs and not study.get_trials(deepcopy=False)
    if is_new and _minimizes(study, len(setup.objectives)):
        study.set_user_attr(VERSION, 2)
        study.set_metric_names(list(setup.objectives))
        study.set_user_attr(SETUP, setup.record())  # last: with it the study is made
        return
    # Through JSON, as the storage has it: tuples become lists, keys become texts.
    differing = differences(_record_of(study), json.loads(json.dumps(setup.record())))
    if differing:
        raise InputError(
            f"study {study.study_name}: is another one, of {'; '.join(differing)}; repeat its own "
            "options, or give another --study"
        )


def setup_of(study: Study) -> Setup:
    """Read the setup of a study; raises :class:`InputError` if it has none."""
    return Setup.of_record(_record_of(study))


def _record_of(study: Study) -> dict[str, Any]:
    known: dict[str, Any] | None = rename_fields(study.user_attrs.get(SETUP))
    if known is None or not _minimizes(study, len(known["objectives"])):
        raise InputError(
            f"study {study.study_name}: was not made by this program, or its storage is cut short: "
            "it does not say what it is of; give another --study"
        )
    # Studies without a version name mappers by their old words.
    if VERSION in study.user_attrs:
        return known
    networks = [
        {**network, "mapper": OLD_LOWERINGS.get(network["mapper"], network["mapper"])}
        for network in known["networks"]
    ]
    return {**known, "networks": networks}


def counts(trial: FrozenTrial) -> bool:
    """Return whether a trial is one of those asked for: not put back, nor waiting."""
    # Optuna has no state for a trial that is put back: such a failure has no error attribute.
    if trial.state is TrialState.FAIL:
        return ERROR in trial.user_attrs
    return trial.state is not TrialState.WAITING


def is_feasible(trial: FrozenTrial) -> bool:
    """Return whether it was solved, and holds every constraint."""
    held = all(excess <= 0 for excess in trial.constraints.values())
    return trial.state is TrialState.COMPLETE and held


def _distribution(axis: SpaceAxis) -> BaseDistribution:
    if axis.choices:
        return CategoricalDistribution(axis.choices)
    if isinstance(axis.low, float) or isinstance(axis.high, float):
        step = float(axis.step) or None
        return FloatDistribution(float(axis.low), float(axis.high), log=axis.log, step=step)
    step = int(axis.step) or 1
    return IntDistribution(int(axis.low), int(axis.high), log=axis.log, step=step)


def _minimizes(study: Study, count: int) -> bool:
    """Return whether it minimizes so many objectives."""
    return study.directions == [StudyDirection.MINIMIZE] * count


def begin(storage: BaseStorage, name: str, setup: Setup, folder: Path | None = None) -> Study:
    """Open the study of that name, made if there is none; its schedules are kept in ``folder``.

    Raises
    ------
    InputError
        There is one about something else.
    """
    with catch_warnings():
        simplefilter("ignore")
        try:
            study = optuna.create_study(
                storage=storage,
                study_name=name,
                directions=["minimize"] * len(setup.objectives),
                load_if_exists=True,
            )
        except ValueError as error:
            raise InputError(f"study {name}: {error}; give another --study") from None
        except SQLAlchemyError as error:
            raise InputError(f"study {name}: cannot be opened ({why(error)})") from None
        remember(study, setup)
        if folder is not None:
            study.set_user_attr(FOLDER, str(folder.resolve()))
    return study


def schedules_of(study: Study) -> Schedules:
    """Return the schedules of a study, where they are still to be had."""
    folder = study.user_attrs.get(FOLDER)
    return Schedules(None if folder is None else Path(folder))


def look_up(storage: BaseStorage, name: str | None) -> tuple[Study, Setup]:
    """Open a study that is there; without a name the only one.

    Raises
    ------
    InputError
        There is none, none of that name, or several.
    """
    names = optuna.get_all_study_names(storage)
    if not names:
        which = "study" if name is None else f"study {name}, nor any other"
        raise InputError(f"--storage: holds no {which}; run 'spmopt tune' first")
    if name is None:
        if len(names) > 1:
            raise InputError(f"--study: the storage holds several; name one of {', '.join(names)}")
        # One study, whatever its name: the common case of a file of one search.
        (name,) = names
    if name not in names:
        raise unknown("study", name, names)
    study = optuna.load_study(study_name=name, storage=storage)
    return study, setup_of(study)


class Schedules:
    """Result files of the trials of one study; kept nowhere without a ``folder``."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    @property
    def are_kept(self) -> bool:
        """Whether they are kept."""
        return self._folder is not None

    def write(self, trial: int, network: str, packed: bytes) -> str | None:
        """Keep a compressed result; return the name of its file.

        Raises
        ------
        InputError
            It cannot be written.
        """
        if self._folder is None:
            return None
        name = f"{trial}-{re.sub(r'[^A-Za-z0-9._-]', '_', network)}.json.gz"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            # After a power cut it may be cut off: then it is made anew.
            replace_file(self._folder / name, packed, durable=False)
        except OSError as error:
            raise InputError(f"{self._folder}: cannot be written ({error.strerror})") from None
        return name

    def tidy(self, trials: Sequence[FrozenTrial]) -> None:
        """Remove files of killed processes: half written, or of no trial."""
        if self._folder is None:
            return
        remove_parts(self._folder)
        # A process writes files before it records the trial; if killed in between, no trial has
        # them.
        ended = (each for each in trials if each.state.is_finished() and not counts(each))
        with suppress(OSError):
            for trial in ended:
                for path in self._folder.glob(f"{trial.number}-*.json.gz"):
                    path.unlink(missing_ok=True)

    def read(self, name: str) -> Solution | None:
        """Read a result by the name of its file; None where it is not there, or cut off."""
        packed = self.pack(name)
        return None if packed is None else unpack(packed, name)

    def pack(self, name: str) -> bytes | None:
        """Read a compressed result by the name of its file; None where it is not there."""
        if self._folder is None:
            return None
        try:
            return read_bytes(self._folder / name)
        except InputError:
            return None


def folder_for(storage: str, study: str, given: Path | None) -> Path | None:
    """Choose where the schedules of a study are: as ``given``, or beside its SQLite file."""
    if given is not None:
        return given / _file_name(study)
    file = None if storage.startswith(JOURNAL) else file_of(storage)
    if file is None:
        return None
    return file.with_name(f"{file.stem}.schedules") / _file_name(study)


def _file_name(study: str) -> str:
    """Return the name of a study's folder: its own, unless that would be elsewhere or too long."""
    is_plain = study.isprintable() and study not in (".", "..") and not re.search(r"[/\\]", study)
    if is_plain and len(study.encode()) <= _LONGEST_NAME:
        return study
    # Two names may become one after replacement; the digest keeps their folders apart.
    digest = sha256(study.encode()).hexdigest()[:12]
    return f"{re.sub(r'[^A-Za-z0-9_-]', '_', study)[:60]}-{digest}"


_MOST = 3
"""So many differences are said, of more their number."""


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """List the fields that differ, as ``batch 4, was 64``.

    Both as ``Setup.record`` gives them, and JSON reads them.
    """
    was, now = (dict(_flat(record, "")) for record in (old, new))
    keys = [key for key in {**was, **now} if was.get(key) != now.get(key)]
    found = [f"{key} {_show(key, now.get(key))}, was {_show(key, was.get(key))}" for key in keys]
    more = len(found) - _MOST
    return found if more <= 0 else [*found[:_MOST], f"and {more} more"]


def _flat(value: Any, key: str) -> Iterator[tuple[str, Any]]:
    """Yield the values of nested tables by name; networks go by number."""
    if key == "networks":
        value = {str(number): each for number, each in enumerate(value, start=1)}
    if not isinstance(value, Mapping) or "low" in value:
        yield key, value
        return
    for name, each in value.items():
        inner = name if key in ("", "space") else f"{key}.{name}"
        yield from _flat(each, inner)


def _show(key: str, given: Any) -> str:
    """Write values of a field; a range by its ends and step."""
    field = key.rpartition(".")[2] if key.startswith("machine.") else key
    if given in (None, "", [], {}):
        return "not given"
    if isinstance(given, Mapping):
        return ", ".join(f"{name} {show_setting(field, each)}" for name, each in given.items())
    if isinstance(given, list):
        return " and ".join(_show(key, each) for each in given)
    return show_setting(field, given)
