"""Schedules of trials, as files in a folder."""

from __future__ import annotations

import re
from pathlib import Path

from spmopt.core.errors import InputError
from spmopt.io.files import StoredResult
from spmopt.search.evaluation.packed import unpacked
from spmopt.search.study.storage import sqlite_file


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
