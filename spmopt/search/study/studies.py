"""Studies by storage and name."""

from __future__ import annotations

from pathlib import Path
from warnings import catch_warnings, simplefilter

import optuna
from optuna.storages import BaseStorage
from optuna.study import Study
from sqlalchemy.exc import SQLAlchemyError

from spmopt.core.errors import InputError, unknown
from spmopt.search.space.setup import Setup
from spmopt.search.study.record import FOLDER, remember, setup_of
from spmopt.search.study.schedules import Schedules
from spmopt.search.study.storage import why


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
