"""Lines and numbers of SCALE-Sim's files, and errors that name where they are."""

from __future__ import annotations

import re
from pathlib import Path

from spmopt.core.errors import InputError

_WHOLE = re.compile(r"[0-9]{1,15}")


def read_text(path: Path, what: str) -> str:
    """Text of a file, without a byte order mark; ``what`` says in errors what to name.

    Raises
    ------
    InputError
        The file cannot be read, or is not text.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); name {what}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: not a text file; name {what}") from None


def positive(text: str, what: str) -> int:
    """Read a whole number of at least 1.

    Raises
    ------
    InputError
        It is none; ``what`` names it.
    """
    if _WHOLE.fullmatch(text) is None or int(text) < 1:
        shown = repr(text) if text else "missing"
        raise InputError(f"{what} is {shown}; write a whole number of at least 1")
    return int(text)
