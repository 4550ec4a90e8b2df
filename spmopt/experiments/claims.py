"""Who is at which cases of a store: a hidden file for each process, locked while it is alive."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from spmopt.experiments.locks import lock, own_name


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
        self._path = store.with_name(f".{store.name}.{own_name()}.claims")
        self._file: BinaryIO | None = None

    def of_others(self) -> dict[Any, str]:
        """Give the cases that live processes are at, and who; drop those of dead ones."""
        found: dict[Any, str] = {}
        for path in sorted(self._store.parent.glob(f".{self._store.name}.*.claims")):
            if path != self._path:
                owner = path.name.removeprefix(f".{self._store.name}.").removesuffix(".claims")
                found |= dict.fromkeys(self._keys(path, owner), owner)
        return found

    def add(self, keys: Iterable[Any]) -> None:
        """Note that this process is at some cases."""
        if self._file is None:
            self._file = self._path.open("w+b")
            lock(self._file)
        self._file.write("".join(json.dumps(key) + "\n" for key in keys).encode())
        self._file.flush()

    def close(self) -> None:
        """Give up all cases."""
        if self._file is not None:
            self._path.unlink(missing_ok=True)
            self._file.close()
            self._file = None

    def _keys(self, path: Path, owner: str) -> list[Any]:
        with suppress(FileNotFoundError), path.open("r+b") as file:
            lines = file.read().splitlines()
            if not lock(file, wait=False):
                return [_key(json.loads(line)) for line in lines]
            path.unlink()
            self._report(f"process {owner} has ended; its cases go to whoever is next")
        return []


def _key(value: Any) -> Any:
    """Read a key, a text or several."""
    return tuple(value) if isinstance(value, list) else value
