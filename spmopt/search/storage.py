"""Where studies are kept: a SQLite file, any database, or a journal; and whose trials run.

That a process has ended is seen at once on its own machine, from elsewhere, in a database, once
its heartbeat stops.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from time import sleep
from typing import Any
from warnings import catch_warnings, simplefilter

import msgspec
import optuna
from alembic.util import CommandError
from optuna.exceptions import OptunaError
from optuna.storages import BaseStorage, InMemoryStorage, JournalStorage, RDBStorage
from optuna.storages._rdb.models import BaseModel
from optuna.storages.journal import JournalFileBackend
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState
from sqlalchemy import Engine
from sqlalchemy.event import listens_for
from sqlalchemy.exc import DatabaseError, DBAPIError, SQLAlchemyError

from spmopt.core.errors import PACKAGES, InputError
from spmopt.core.processes import has_ended, number_here, own_name
from spmopt.core.validation import exists, is_file, is_folder, without_password

JOURNAL = "journal:"
_URL = re.compile(r"[a-z][a-z0-9+]*://.*")
_BEAT_S, _GRACE_S = 10, 60
_TRIES, _WAIT_S = 6, 0.5
_SQLITE_WAIT_S = 60
_POSTGRESQL = "postgresql"
"""The database whose driver the program names among its extras."""
_LONGEST = 200
"""Characters of an error of a database."""
_JOURNAL_BEGINS = b'{"op_code"'


def open_storage(url: str, *, beat_s: int = _BEAT_S, grace_s: int = _GRACE_S) -> BaseStorage:
    """Open ``journal:FILE``, a database by its URL, or a SQLite file.

    Parameters
    ----------
    url
        As the command line has it.
    beat_s, grace_s
        Seconds between signs of life of a trial, and without one until it counts as lost.

    Raises
    ------
    InputError
        It cannot be opened.
    """
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    path = file_of(url)
    if path is not None and is_folder(path):
        raise InputError(f"{_option(url)}: is a folder; name a file in it")
    if path is not None and not is_folder(path.parent):
        raise InputError(f"{_option(url)}: no such folder as {path.parent}; create it first")
    with reading(url):
        if path is not None and url.startswith(JOURNAL):
            return _journal(path)
        return _database(url, beat_s, grace_s)


def in_memory() -> BaseStorage:
    """Open a storage that is gone with this process."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return InMemoryStorage()


def open_known(url: str) -> BaseStorage:
    """Open one that is there.

    Raises
    ------
    InputError
        It is not, or cannot be opened.
    """
    file = file_of(url)
    if file is not None and not is_file(file):
        raise InputError(f"{_option(url)}: no such file; run 'spmopt tune' first")
    return open_storage(url)


def file_of(url: str) -> Path | None:
    """Return the file of a journal or of a SQLite storage."""
    if url.startswith(JOURNAL):
        return Path(url.removeprefix(JOURNAL))
    if not _URL.fullmatch(url):
        return Path(url)
    name = re.fullmatch(r"sqlite(?:\+\w+)?:///([^?]+)(?:\?.*)?", url)
    return Path(name[1]) if name and name[1] != ":memory:" else None


def _journal(path: Path) -> JournalStorage:
    """Open a journal, made if there is none; remove a last line that a full disk has cut off."""
    if is_file(path):
        with path.open("rb") as file:
            begin = file.read(len(_JOURNAL_BEGINS))
        # Either an empty file or one that begins as a journal: never truncate a file of others.
        if not _JOURNAL_BEGINS.startswith(begin):
            raise ValueError("it is no journal of Optuna")
        with path.open("r+b") as file:
            content = file.read()
            whole = content.rfind(b"\n") + 1
            if whole < len(content):
                file.truncate(whole)
    elif exists(path):  # a pipe would be waited for
        raise ValueError("it is no regular file")
    return JournalStorage(JournalFileBackend(str(path)))


def _database(url: str, beat_s: int, grace_s: int) -> RDBStorage:
    address = url if _URL.fullmatch(url) else f"sqlite:///{url}"
    is_sqlite = address.startswith("sqlite")

    def open_once() -> RDBStorage:
        storage = RDBStorage(
            address,
            # Another process may hold the file for the length of a transaction.
            engine_kwargs={"connect_args": {"timeout": _SQLITE_WAIT_S}} if is_sqlite else None,
            heartbeat_interval=beat_s,
            grace_period=grace_s,
        )
        if is_sqlite:
            _finish_tables(storage.engine)
        return storage

    storage = _patiently(open_once)
    if is_sqlite:
        _quicken(storage.engine)
    return storage


def own_trials(study: Study) -> list[FrozenTrial]:
    """List the running trials of this process."""
    own = own_name()
    return [trial for trial in running(study) if trial.user_attrs.get(PROCESS) == own]


def running(study: Study) -> list[FrozenTrial]:
    """List the trials under way."""
    return study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))


def beat(storage: BaseStorage, trial: FrozenTrial | Trial) -> None:
    """Record a sign of life of a trial, where the storage takes them."""
    if isinstance(storage, RDBStorage):
        storage.record_heartbeat(trial._trial_id)


@contextmanager
def beating(storage: BaseStorage, study: Study) -> Iterator[None]:
    """Record signs of life of the running trials of this process, in the background."""
    done = Event()
    interval = storage.get_heartbeat_interval() if isinstance(storage, RDBStorage) else None

    def run() -> None:
        while not done.wait(interval):
            # A beat that is missed is made up for by the next one.
            with suppress(SQLAlchemyError, OptunaError):
                for trial in own_trials(study):
                    beat(storage, trial)

    thread = Thread(target=run, daemon=True)
    if interval is not None:
        thread.start()
    try:
        yield
    finally:
        done.set()
        if thread.is_alive():
            thread.join()


def _quicken(engine: Engine) -> None:
    """Write ahead: a trial is some twenty transactions, each else as long as the disk takes.

    Still no crash spoils the file; the last moments before a power cut may be lost.
    """
    # Connections opened before have no listener and would keep the slow settings.
    engine.dispose()

    @listens_for(engine, "connect")
    def begin(connection: Any, record: object) -> None:
        del record
        for setting in ("journal_mode = WAL", "synchronous = NORMAL"):
            connection.execute(f"PRAGMA {setting}")


def _finish_tables(engine: Engine) -> None:
    """Make the indexes that are missing where a process was killed while it made the tables.

    Optuna makes an index only with its table, and the index of studies keeps names unique: each
    command that goes on would begin another study of the same name (two of some 300 kills).
    """
    for table in BaseModel.metadata.tables.values():
        for index in table.indexes:
            index.create(engine, checkfirst=True)


def _patiently(open_once: Callable[[], RDBStorage]) -> RDBStorage:
    """Try again: two processes that begin at once both make the tables, and one of them fails."""
    with catch_warnings():
        simplefilter("ignore")
        for _ in range(_TRIES - 1):
            try:
                return open_once()
            except SQLAlchemyError as error:
                if type(error) is DatabaseError:  # no database, or a damaged one, and stays so
                    raise
                sleep(_WAIT_S)
        return open_once()


@contextmanager
def using(url: str) -> Iterator[None]:
    """Say in one line why a storage cannot be used; raises :class:`InputError`."""
    try:
        yield
    except (SQLAlchemyError, OptunaError, OSError) as error:
        raise InputError(f"{_option(url)}: cannot be used ({why(error)})") from None


@contextmanager
def reading(url: str) -> Iterator[None]:
    """Say in one line that a storage cannot be read: damaged, of another program or version.

    This is the one check at this boundary: of errors that Optuna, a database or a decoder raises.

    Raises
    ------
    InputError
        In place of that error.
    """
    try:
        yield
    except InputError:
        raise
    except ImportError as error:
        # A driver that finds no library of its own has an error without a name.
        missing = error.name or " ".join(str(error).split())
        package = f"'{PACKAGES['psycopg']}'" if url.startswith(_POSTGRESQL) else error.name
        hint = f"; pip install {package}" if package else ""
        raise InputError(f"{_option(url)}: its driver is not installed ({missing}){hint}") from None
    except _UNREADABLE as error:
        hint = "name another one, or a copy from before"
        raise InputError(f"{_option(url)}: cannot be read ({why(error)}); {hint}") from None


_UNREADABLE = (
    *(SQLAlchemyError, OptunaError, CommandError, OSError, RuntimeError, msgspec.MsgspecError),
    *(ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError),
)


def _option(url: str) -> str:
    return f"--storage {without_password(url)}"


def why(error: BaseException) -> str:
    """Return the message of the database, without those of wrapping libraries."""
    cause = error.__cause__ or error
    message = cause.orig if isinstance(cause, DBAPIError) else cause
    return without_password(" ".join(str(message).split()))[:_LONGEST]


PROCESS = "process"
"""Attribute of a trial: who runs it."""
LOST = "its process ended before it"


def is_lost(trial: FrozenTrial) -> bool:
    """Return whether a running trial is of a process of this machine that has ended."""
    return has_ended(str(trial.user_attrs.get(PROCESS, "")))


def whereabouts(trial: FrozenTrial) -> str:
    """Name the process that runs it: ``process 4711 of this machine``; empty if unknown."""
    process = str(trial.user_attrs.get(PROCESS, ""))
    number = number_here(process)
    if number is not None:
        return f"process {number} of this machine"
    machine, _, other = process.rpartition(":")
    return f"process {other.partition('.')[0]} of {machine.partition(':')[0]}" if machine else ""
