"""What a study and its trials keep in a storage, and their schedules as files in a folder."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from functools import partial
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
from optuna.trial import FrozenTrial, Trial, TrialState
from sqlalchemy.exc import SQLAlchemyError

from spmopt.core.errors import InputError, unknown
from spmopt.hardware.settings import Setting, shown_setting
from spmopt.io.files import StoredResult
from spmopt.search.axes import SpaceAxis
from spmopt.search.candidate import Candidate
from spmopt.search.evaluation import NetworkOutcome, TrialOutcome, unpacked
from spmopt.search.setup import Setup
from spmopt.search.space import Space
from spmopt.search.storage import sqlite_file, why

SETUP, FOLDER = "spmopt", "schedules"
"""Attributes of a study: its :class:`Setup`, and where its schedules are."""
ERROR, PROOF, AS_BEFORE = "error", "proof", "as_before"
"""Attributes of trials: why one came to nothing, why one was pruned, which one it repeats."""
FIGURES, NETWORKS, MACHINE, SECONDS = "figures", "networks", "machine", "seconds"
LEAST = "least"
"""Of a network in a trial: what any schedule takes at least."""


def distributions(space: Space) -> dict[str, BaseDistribution]:
    """What Optuna samples from, by field."""
    return {axis.key: _distribution(axis) for axis in space.axes}


def values_of(space: Space, parameters: Mapping[str, Any]) -> dict[str, Setting]:
    """A point of ``space`` from what Optuna keeps of it."""
    return {axis.key: parameters[axis.key] for axis in space.axes}


def remember(study: Study, setup: Setup) -> None:
    """Note what a study is about, or check that it is what it was.

    Raises
    ------
    InputError
        The study is about something else.
    """
    wanted, known = setup.record(), study.user_attrs.get(SETUP)
    if known is None:
        if study.get_trials(deepcopy=False) or not _minimizes(study, len(setup.objectives)):
            raise InputError(
                f"study {study.study_name}: was not made by this program, or its storage is cut "
                "short: it does not say what it is of; give another --study"
            )
        study.set_user_attr(SETUP, wanted)
        study.set_metric_names(list(setup.objectives))
        return
    differing = differences(_plain(known), _plain(wanted))
    if differing:
        raise InputError(
            f"study {study.study_name}: is another one, of {'; '.join(differing)}; repeat its own "
            "options, or give another --study"
        )


def setup_of(study: Study) -> Setup:
    """What a study is about.

    Raises
    ------
    InputError
        It does not say so.
    """
    known = study.user_attrs.get(SETUP)
    if known is None or not _minimizes(study, len(known["objectives"])):
        raise InputError(
            f"study {study.study_name}: was not made by this program, or its storage is cut short: "
            "it does not say what it is of"
        )
    return Setup.of_record(known)


def counts(trial: FrozenTrial) -> bool:
    """Whether a trial is one of those asked for: not put back, nor waiting."""
    if trial.state is TrialState.FAIL:
        return ERROR in trial.user_attrs
    return trial.state is not TrialState.WAITING


def is_feasible(trial: FrozenTrial) -> bool:
    """Whether it was solved, and holds every constraint."""
    held = all(excess <= 0 for excess in trial.constraints.values())
    return trial.state is TrialState.COMPLETE and held


def note_solved(
    trial: Trial,
    setup: Setup,
    candidate: Candidate,
    answer: TrialOutcome,
    files: Mapping[str, str | None],
) -> tuple[float, ...]:
    """Note what a trial came to, and the files of its schedules; return its objectives."""
    spent = {name: one.spent for name, one in answer.networks.items() if one.spent is not None}
    figures = setup.figures(candidate, spent)
    networks = {name: solved_record(one, files[name]) for name, one in answer.networks.items()}
    trial.set_user_attr(FIGURES, figures)
    trial.set_user_attr(NETWORKS, networks)
    trial.set_user_attr(MACHINE, candidate.record())
    trial.set_user_attr(SECONDS, answer.seconds)
    for limit in (each for each in setup.space.constraints if not each.is_static):
        trial.set_constraint(str(limit), limit.excess(figures))
    return tuple(figures[name] for name in setup.objectives)


def solved_record(solved: NetworkOutcome, file: str | None) -> dict[str, object]:
    """One network of a trial; ``file`` holds its schedule."""
    return {
        **({} if solved.spent is None else asdict(solved.spent)),
        LEAST: asdict(solved.least),
        "scheduler": solved.scheduler,
        "status": str(solved.status),
        "verified": solved.verified,
        "value": None if solved.value is None else float(solved.value),
        "bound": None if solved.bound is None else float(solved.bound),
        "gap": solved.gap,
        "unit": solved.unit,
        "seconds": solved.solve_s,
        "seconds_checked": solved.checked_s,
        "notes": list(solved.notes),
        "file": file,
    }


def _distribution(axis: SpaceAxis) -> BaseDistribution:
    if axis.choices:
        return CategoricalDistribution(axis.choices)
    if isinstance(axis.low, float) or isinstance(axis.high, float):
        step = float(axis.step) or None
        return FloatDistribution(float(axis.low), float(axis.high), log=axis.log, step=step)
    step = int(axis.step) or 1
    return IntDistribution(int(axis.low), int(axis.high), log=axis.log, step=step)


def _minimizes(study: Study, count: int) -> bool:
    """Whether it minimizes so many objectives."""
    return study.directions == [StudyDirection.MINIMIZE] * count


def _plain(value: Any) -> Any:
    """As it comes back from JSON."""
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


def begin(storage: BaseStorage, name: str, setup: Setup, folder: Path | None = None) -> Study:
    """The study of that name, made if there is none; its schedules are kept in ``folder``.

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
    """The schedules of a study, where they are still to be had."""
    folder = study.user_attrs.get(FOLDER)
    return Schedules(None if folder is None else Path(folder))


def known(storage: BaseStorage, name: str | None) -> tuple[Study, Setup]:
    """A study that is there; without a name the only one.

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
    def kept(self) -> bool:
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
        part = self._folder / f".{name}.part"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            part.write_bytes(packed)
            part.replace(self._folder / name)
        except OSError as error:
            raise InputError(f"{self._folder}: cannot be written ({error.strerror})") from None
        return name

    def read(self, name: str) -> StoredResult | None:
        """A result by the name of its file; None where it is not there, or cut off."""
        packed = self.packed(name)
        return None if packed is None else unpacked(packed, name)

    def packed(self, name: str) -> bytes | None:
        """A compressed result by the name of its file; None where it is not there."""
        if self._folder is None:
            return None
        try:
            return (self._folder / name).read_bytes()
        except OSError:
            return None


def folder_for(storage: str, study: str, given: Path | None) -> Path | None:
    """Where the schedules of a study are: as ``given``, or beside its SQLite file."""
    if given is not None:
        return given / study
    file = sqlite_file(storage)
    return None if file is None else file.with_name(f"{file.stem}.schedules") / study


_MOST = 3
"""So many differences are said, of more their number."""
_MADE = ("objectives", "scheduler", "schedule_for", "tolerance", "time_limit_s")

_Pair = tuple[str, Any, Any, Callable[[Any], str]]
"""What is compared, both values, and how they are shown."""


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """What ``new`` has in place of what ``old`` had, as ``batch 4, was 64``.

    Both as ``Setup.record`` gives them, and JSON reads them.
    """
    pairs = [
        *_networks(old["networks"], new["networks"]),
        *_space(old["space"], new["space"]),
        *((key, old.get(key), new.get(key), _listed) for key in _MADE),
    ]
    said = [_sentence(*pair) for pair in pairs if pair[1] != pair[2]]
    more = len(said) - _MOST
    return said if more <= 0 else [*said[:_MOST], f"and {more} more"]


def _sentence(what: str, was: Any, now: Any, shown: Callable[[Any], str]) -> str:
    old, new = shown(was), shown(now)
    if old == new:  # by rounding
        old, new = str(was), str(now)
    return f"{what} {new}, was {old}"


def _networks(old: list[Mapping[str, Any]], new: list[Mapping[str, Any]]) -> Iterator[_Pair]:
    """Their names, or where these are the same what is different about them."""
    was, now = ([each["title"] or each["name"] for each in networks] for networks in (old, new))
    if was != now:
        yield "networks", was, now, _listed
        return
    for name, one, other in zip(now, old, new, strict=True):
        of = f" of {name}" if len(now) > 1 else ""
        for key in dict.fromkeys((*one, *other)):
            yield f"{key}{of}", one.get(key), other.get(key), _listed


def _space(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[_Pair]:
    was, now = old["machine"], new["machine"]
    if was.get("name") != now.get("name"):
        yield "machine", was.get("name"), now.get("name"), _listed
    else:
        yield from _fields("machine.", was, now)
    yield from _fields("", old["space"], new["space"])
    yield "constraints", old["constraints"], new["constraints"], _listed
    for table in ("cost", "weights"):
        yield from _fields(f"{table}.", old[table], new[table])


def _fields(prefix: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[_Pair]:
    for key in dict.fromkeys((*old, *new)):
        yield f"{prefix}{key}", old.get(key), new.get(key), partial(_values, key)


def _values(key: str, given: Any) -> str:
    """Values of a field; a range by its ends and step."""
    if isinstance(given, Mapping):
        ends = f"{shown_setting(key, given['low'])} to {shown_setting(key, given['high'])}"
        step = f" by {shown_setting(key, given['step'])}" if given.get("step") else ""
        return f"{ends}{step}{' (log)' if given.get('log') else ''}"
    if isinstance(given, list):
        return " or ".join(shown_setting(key, each) for each in given)
    return _listed(None) if given is None else shown_setting(key, given)


def _listed(given: Any) -> str:
    if isinstance(given, list):
        return " and ".join(map(_listed, given)) if given else _listed(None)
    if isinstance(given, bool):
        return "yes" if given else "no"
    return "not given" if given in (None, "") else str(given)
