"""The boundary: input from outside is checked here, or refused in one line.

Errors of the system and of libraries become one :class:`InputError`. The way out is here too: cells
that a spreadsheet would run, and the passwords of addresses.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from spmopt.core.errors import InputError, SpmoptError

MOST_BYTES = 256 << 20
"""Of a file of text: the result of a million operations has fewer."""
MOST_TABLE_BYTES, MOST_YAML_BYTES = 1 << 20, 1 << 18
"""Of TOML and of YAML, which people write, and which take about a second to read."""
_MOST_DOTS = 64
"""Of one key of TOML."""
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
    """Read a file.

    Raises
    ------
    InputError
        It cannot be read, is a folder, or has more than ``most`` bytes.
    """
    where = where or str(path)
    with guard(where, advice=advice):
        if is_folder(path):
            raise InputError(f"{where}: cannot be read (Is a directory); name a file in it")
        with path.open("rb") as file:
            # One byte more tells a file of the limit from a larger one.
            content = file.read(most + 1)
    if len(content) > most:
        raise InputError(f"{where}: over {most >> 10:,} KiB; that is too large to be read")
    return content


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
        It cannot be read, or is not TOML.
    """
    if isinstance(source, Path):
        text = read_text(source, where, most=MOST_TABLE_BYTES, kind="TOML")
    else:
        text = source.read_text(encoding="utf-8")
    # Tables in tables take tomllib quadratic time and memory.
    if any(key.count(".") > _MOST_DOTS for key in re.split(r"[=,\n\[\]{}\s]", text)):
        raise InputError(f"{where}: a key of more than {_MOST_DOTS} parts; tables are not so deep")
    with guard(where, "TOML"):
        return tomllib.loads(text)


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
        # Never ``load``: YAML may construct any Python object.
        return yaml.safe_load(text)


def read_json(path: Path) -> object:
    """Read one JSON value.

    Raises
    ------
    InputError
        The file cannot be read, or is not JSON (truncated, for one).
    """
    try:
        return json_value(read_bytes(path))
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{path}: not a complete JSON file ({shorten(str(error))}); it may be truncated: "
            "write it again"
        ) from None


def json_value(text: bytes) -> Any:
    """Return one JSON value; raise ValueError or RecursionError for any other text."""
    import msgspec

    return msgspec.json.decode(text)


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
