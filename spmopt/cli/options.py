"""Arguments and options that commands have beside those of the functions they call."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

Network = Annotated[
    str, Argument(help="Name (see 'spmopt networks'), ONNX file, or instance as JSON.")
]
Networks = Annotated[
    list[str],
    Argument(
        metavar="NETWORK",
        help="Names, ONNX files, or instances as JSON.",
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
