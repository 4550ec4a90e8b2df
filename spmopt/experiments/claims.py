"""Who is at which cases of a store: a hidden file for each process, locked while it is alive."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from spmopt.core.processes import file_name
from spmopt.io.locks import append, lock, remove_dead

_CLAIMS = ".claims"


class Claims:
    """Cases that processes are at, in files ``.STORE.HOST-PID.claims`` beside the store.

    Every method is to be called with the store locked.

    Parameters
    ----------
    store
        File of the store.
    report
        Told of processes that ended before their cases.
    """

    def __init__(self, store: Path, report: Callable[[str], None]) -> None:
        self._store, self._report = store, report
        self._path = store.with_name(f".{store.name}.{file_name()}{_CLAIMS}")
        self._file: IO[Any] | None = None

    def of_others(self) -> dict[Any, str]:
        """Return the cases of live processes, each with its owner; drop cases of dead ones."""
        found: dict[Any, str] = {}
        begin = f".{self._store.name}."
        for name in sorted(os.listdir(self._store.parent)):
            if name.startswith(begin) and name.endswith(_CLAIMS) and name != self._path.name:
                owner = name.removeprefix(begin).removesuffix(_CLAIMS)
                found |= dict.fromkeys(self._keys(self._path.with_name(name), owner), owner)
        return found

    def add(self, keys: Iterable[Any]) -> None:
        """Note that this process is at some cases."""
        if self._file is None:
            # Unbuffered: others must see a claim before its case begins.
            self._file = self._path.open("w+b", buffering=0)
            lock(self._file)
        append(self._file, "".join(json.dumps(key) + "\n" for key in keys).encode())

    def close(self) -> None:
        """Give up all cases; remove files of dead processes."""
        if self._file is not None:
            self._path.unlink(missing_ok=True)
            self._file.close()
            self._file = None
        remove_dead(self._store.parent, f".{self._store.name}.", _CLAIMS)

    def _keys(self, path: Path, owner: str) -> list[Any]:
        with suppress(FileNotFoundError), path.open("r+b") as file:
            lines = file.read().splitlines()
            # The lock, not the process number, tells life: numbers are reused, and hosts may share
            # a disk.
            if not lock(file, wait=False):
                return [_key(json.loads(line)) for line in lines]
            path.unlink()
            process = owner.rpartition("-")[0]
            self._report(f"process {process} has ended; its cases go to whoever is next")
        return []


def _key(value: Any) -> Any:
    """Read a key, a text or several."""
    # JSON has no tuples, and lists cannot be keys.
    return tuple(value) if isinstance(value, list) else value
