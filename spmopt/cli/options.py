"""Arguments and options that commands have beside those of the functions they call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from spmopt.core.border import is_file
from spmopt.core.errors import InputError

Network = Annotated[
    str,
    Argument(
        help="Name (see 'spmopt networks'), ONNX file, program of torch (.pt2), or instance as "
        "JSON."
    ),
]
Networks = Annotated[
    list[str],
    Argument(
        metavar="NETWORK",
        help="Names, ONNX files, programs of torch (.pt2), or instances as JSON.",
        show_default=False,
    ),
]
Jobs = Annotated[int | None, Option(help="Number of processes; default: all processors.")]
Json = Annotated[bool, Option("--json", help="Print JSON.")]
Output = Annotated[
    Path, Option("--output", "-o", help="File to write; an existing one is replaced.")
]
OptionalOutput = Annotated[
    Path | None, Option("--output", "-o", help="File to write; an existing one is replaced.")
]
SCHEDULES, INPUTS = "Schedules", "What is scheduled"
PARTS, MANY = "Buffers and layers", "Many schedules"
"""Panels of the list of commands."""


def choices(lead: str, phrases: Mapping[str, str]) -> str:
    """Return the help of an option: ``lead``, and a line for each value with its meaning."""
    return "\n\n".join((lead, *(f"{name} - {phrase}" for name, phrase in phrases.items())))


def require_output(path: Path, read: Sequence[object] = (), option: str = "--output") -> None:
    """Fail before the work unless ``path`` can be written, and is none of the files ``read``."""
    from spmopt.io.document import require_writable

    for name in read:
        file = Path(str(name or ""))
        if is_file(path) and is_file(file) and path.samefile(file):
            raise InputError(f"{option} {path}: would replace the file that is read; name another")
    require_writable(path)
