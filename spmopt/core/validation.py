"""The boundary: input from outside is checked here, or refused in one line.

A file must be regular (or a pipe that somebody writes to), of a size, depth and number of values
that can be held; errors of the system and of libraries become one :class:`InputError`. The way out
is here too: cells that a spreadsheet would run, and the passwords of addresses.
"""

from __future__ import annotations

import json
import os
import re
import select
import stat
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources.abc import Traversable
from math import isfinite
from pathlib import Path
from typing import Any, Never

from spmopt.core.errors import InputError, SpmoptError

MOST_BYTES = 256 << 20
"""Of a file of text: the result of a million operations has fewer."""
MOST_TABLE_BYTES, MOST_YAML_BYTES = 1 << 20, 1 << 18
"""Of TOML and of YAML, which people write, and which take about a second to read."""
MOST_VALUES, MOST_CONTAINERS = 32_000_000, 4_000_000
"""Numbers, texts and so on in JSON, and lists and objects among them: about 1 GB."""
MOST_TABLE_VALUES = 1_000_000
"""Of TOML and YAML, anything that is repeated by reference counted each time."""
MOST_DIGITS = 1000
"""Of a whole number; Python itself refuses to write more than 4300."""
_MOST_DOTS = 64
"""Of one key: tables in tables, for which tomllib takes quadratic time and memory."""
_PIPE_S = 5.0
"""Until somebody writes to a pipe."""
_CHUNK = 1 << 20
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
"""Escape of one half of a character; pairs of them are frequent in other programs' files."""
_FORMULA = tuple("=+-@\t\r")
_LONGEST_WORD, _LONGEST = 200, 1_900
"""Characters that people can still read."""


def is_file(path: str | Path) -> bool:
    """Return whether there is a regular file, without an error where that cannot be known."""
    return os.path.isfile(path)


def is_folder(path: str | Path) -> bool:
    """Return whether there is a folder, without an error where that cannot be known."""
    return os.path.isdir(path)


def exists(path: str | Path) -> bool:
    """Return whether anything is there, without an error where that cannot be known."""
    return os.path.exists(path)


@contextmanager
def guard(where: str, kind: str = "", advice: str = "", *also: type[Exception]) -> Iterator[None]:
    """Turn an error of the system or of a library into one line.

    Parameters
    ----------
    where
        Name of the source, as errors begin.
    kind
        Expected format, as TOML.
    advice
        Advice to the user.
    also
        Errors of the library that reads it, beside ValueError.

    Raises
    ------
    InputError
        In place of the original error.
    """
    end = f"; {advice}" if advice else ""
    try:
        yield
    except SpmoptError:
        raise
    except OSError as error:
        raise InputError(f"{where}: cannot be read ({reason(error)}){end}") from None
    except UnicodeDecodeError as error:
        told = f"not {kind}: {error}" if kind else "not a text file"
        raise InputError(f"{where}: {told}{end}") from None
    except RecursionError:
        raise InputError(f"{where}: lists or tables are nested too deep{end}") from None
    except MemoryError:
        raise InputError(f"{where}: takes more memory than there is{end}") from None
    except Exception as error:
        if not isinstance(error, (ValueError, OverflowError, *also)):
            raise
        said = shorten(" ".join(str(error).split()))
        told = f"not {kind}: {said}" if kind else f"cannot be read ({said})"
        raise InputError(f"{where}: {told}{end}") from None


def reason(error: OSError) -> str:
    """Return the message of the system."""
    return error.strerror or str(error) or type(error).__name__


def read_bytes(path: Path, where: str = "", most: int = MOST_BYTES, advice: str = "") -> bytes:
    """Read a regular file, or a pipe that somebody writes to.

    Raises
    ------
    InputError
        It cannot be read, is none of them, or has more than ``most`` bytes.
    """
    where = where or str(path)
    with guard(where, advice=advice):
        number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        try:
            mode = os.fstat(number).st_mode
            if stat.S_ISDIR(mode):
                raise InputError(f"{where}: cannot be read (Is a directory); name a file in it")
            if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
                raise InputError(f"{where}: is no regular file; name one")
            return _contents(number, where, most, pipe=stat.S_ISFIFO(mode))
        finally:
            os.close(number)


def _contents(number: int, where: str, most: int, *, pipe: bool) -> bytes:
    found = bytearray()
    waits = select.poll() if pipe else None
    if waits is not None:
        waits.register(number, select.POLLIN)
    while True:
        if waits is not None and not waits.poll(1000 * _PIPE_S):
            raise InputError(f"{where}: nobody writes to this pipe; name a file")
        chunk = os.read(number, min(_CHUNK, most + 1))
        if not chunk:
            return bytes(found)
        found += chunk
        if len(found) > most:
            raise InputError(f"{where}: over {most >> 10:,} KiB; that is too large to be read")


def read_text(
    path: Path, where: str = "", *, most: int = MOST_BYTES, kind: str = "", advice: str = ""
) -> str:
    """Read a text of UTF-8, a byte order mark left out, ends of lines as in Python.

    Raises
    ------
    InputError
        As for :func:`read_bytes`, or it is no text; ``kind`` names the format.
    """
    content = read_bytes(path, where, most, advice)
    with guard(where or str(path), kind, advice):
        text = content.decode("utf-8-sig")
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def read_toml(source: Path | Traversable, where: str) -> dict[str, Any]:
    """Read a TOML file; ``where`` names it in errors.

    Raises
    ------
    InputError
        It cannot be read, is not TOML, or is deeper, longer or larger in numbers than can be meant.
    """
    if isinstance(source, Path):
        text = read_text(source, where, most=MOST_TABLE_BYTES, kind="TOML")
    else:
        text = source.read_text(encoding="utf-8")
    keys = re.split(r"[=,\n\[\]{}]", text.replace(" ", "").replace("\t", ""))
    if max(key.count(".") for key in keys) > _MOST_DOTS:
        raise InputError(f"{where}: a key of more than {_MOST_DOTS} parts; tables are not so deep")
    with guard(where, "TOML"):
        found = tomllib.loads(text)
    _require_moderate(found, where)
    return found


def read_yaml(path: Path, where: str) -> Any:
    """Read a YAML file; ``where`` names it in errors.

    Raises
    ------
    InputError
        As for :func:`read_toml`.
    """
    import yaml  # type: ignore[import-untyped,unused-ignore]

    text = read_text(path, where, most=MOST_YAML_BYTES, kind="YAML")
    with guard(where, "YAML", "", yaml.YAMLError, TypeError, AttributeError, LookupError):
        found = yaml.safe_load(text)
    _require_moderate(found, where)
    return found


def read_json(path: Path) -> object:
    """Read one JSON value.

    Raises
    ------
    InputError
        The file cannot be read, or is not JSON (truncated, for one).
    """
    content = read_bytes(path)
    values = sum(map(content.count, (b",", b"[", b"{")))
    if values > MOST_VALUES or content.count(b"[") + content.count(b"{") > MOST_CONTAINERS:
        raise InputError(f"{path}: over {MOST_CONTAINERS:,} lists or {MOST_VALUES:,} values")
    try:
        return json_value(content.decode())
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{path}: not a complete JSON file ({shorten(str(error))}); it may be truncated: "
            "write it again"
        ) from None


def json_value(text: str) -> Any:
    """Return one JSON value; raise ValueError or RecursionError for any other text."""
    value = json.loads(
        text,
        parse_constant=_refuse_constant,
        parse_float=_finite,
        parse_int=_whole,
        object_pairs_hook=_refuse_duplicates,
    )
    if _SURROGATE.search(text):
        _refuse_lone_surrogates(value)
    return value


def _refuse_lone_surrogates(value: object) -> None:
    """Raise ValueError where a text is not Unicode: no library takes half of a pair."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = error.object[error.start]
        raise ValueError(f"a text with the lone surrogate {half!r}") from None


def _whole(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise ValueError(f"a number of {len(text)} digits")
    return int(text)


def _finite(text: str) -> float:
    number = float(text)
    return number if isfinite(number) else _refuse_constant(text)


def _refuse_constant(name: str) -> Never:
    raise ValueError(f"{name} is no JSON number, or too large")


def _refuse_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("an object has the same field twice")
    return fields


def _require_moderate(document: object, where: str) -> None:
    """Refuse numbers of too many digits, and too many values, repeated ones counted each time."""
    waiting, count = [document], 0
    while waiting:
        found = waiting.pop()
        count += 1
        if count > MOST_TABLE_VALUES:
            raise InputError(f"{where}: over {MOST_TABLE_VALUES:,} values; that is too many")
        if isinstance(found, int) and abs(found) >= 10**MOST_DIGITS:
            raise InputError(f"{where}: a number of over {MOST_DIGITS} digits; write a smaller one")
        if isinstance(found, dict):
            waiting += [*found.keys(), *found.values()]
        elif isinstance(found, list | tuple | set):
            waiting += found


def cell(value: object) -> object:
    """Return a value of a CSV cell.

    A cell that a spreadsheet would execute gets an apostrophe before it.
    """
    if not isinstance(value, str) or not _is_formula(value.lstrip("'")):
        return value
    return f"'{value}"


def plain(text: str) -> str:
    """Invert :func:`cell`."""
    return text[1:] if text[:1] == "'" and _is_formula(text.lstrip("'")) else text


def _is_formula(text: str) -> bool:
    if not text.startswith(_FORMULA) or len(text) < 2:
        return False
    try:
        float(text)
    except ValueError:
        return True
    return False


def without_password(address: str) -> str:
    """Return the URL of a database as messages may have it."""
    return re.sub(r"(://[^/@]*?):[^/]*@", r"\1:***@", address)


def shorten(message: str) -> str:
    """Return a message with the middle of long words left out, and of all that is too long."""
    if len(message) <= _LONGEST_WORD:
        return message
    words = [
        f"{word[:100]}...{word[-20:]}" if len(word) > _LONGEST_WORD else word
        for word in message.split(" ")
    ]
    text = " ".join(words)
    return text if len(text) <= _LONGEST else f"{text[:1500]} ... {text[-300:]}"


def describe(error: BaseException) -> str | None:
    """Return an unexpected error in words; None for its own errors."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{os.fsdecode(error.filename)}: {reason(error)}"
    if isinstance(error, MemoryError):
        return "takes more memory than there is; give less, or a smaller file"
    return None
