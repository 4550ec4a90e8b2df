"""What is looked at: a schedule or two, the rows of a sweep, or the front of a search."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from spmopt.cli.looking.pictured import Timing
from spmopt.cli.tuning.options import STORAGE
from spmopt.core.errors import InputError

_SEARCH = "Front of a search"


@dataclass(frozen=True, kw_only=True)
class Subject:
    """Files or a study; which one it is."""

    schedule: Annotated[
        Path | None,
        Argument(
            help="Result file, as 'spmopt solve -o' writes it, or the CSV file of a sweep.",
            show_default=False,
        ),
    ] = None
    other: Annotated[
        Path | None,
        Argument(
            metavar="SCHEDULE2",
            help="Another of the same instance, to compare with.",
            show_default=False,
        ),
    ] = None
    timing: Timing = "steps"
    storage: Annotated[
        str | None,
        Option(help=f"As for 'spmopt tune'; with --study {STORAGE}.", rich_help_panel=_SEARCH),
    ] = None
    study: Annotated[
        str | None,
        Option(
            help="Name of the study; default: the only one of the storage.",
            rich_help_panel=_SEARCH,
        ),
    ] = None
    top: Annotated[
        int | None,
        Option(
            help="So many of the best in the first objective in place of the front.",
            rich_help_panel=_SEARCH,
        ),
    ] = None

    @property
    def is_search(self) -> bool:
        """Whether it is a study."""
        return self.storage is not None or self.study is not None

    @property
    def is_sweep(self) -> bool:
        """Whether it is the rows of a sweep."""
        return self.schedule is not None and self.schedule.suffix.lower() == ".csv"

    @property
    def where(self) -> str:
        """The storage of the study."""
        return self.storage or STORAGE

    @property
    def files(self) -> list[Path]:
        """Files that are read."""
        return [each for each in (self.schedule, self.other) if each is not None]

    def require_sense(self) -> None:
        """Raise :class:`InputError` for files and options that do not go together."""
        if self.is_search and self.files:
            raise InputError(f"{self.files[0]}: name a file, or a study by --storage, not both")
        if not self.is_search and not self.files:
            raise InputError(
                "name a result file, the CSV file of a sweep, or --storage of a search"
            )
        if self.top is not None and not self.is_search:
            raise InputError("--top: is for the front of a search; add --storage")
        if self.top is not None and self.top < 1:
            raise InputError(f"--top {self.top}: must be at least 1")
        if self.is_sweep and self.other is not None:
            raise InputError(
                f"{self.schedule}: holds the rows of a sweep, which is shown by itself, one sweep "
                f"at a time; leave {self.other} out"
            )
        if self.timing != "steps" and (self.is_search or self.is_sweep):
            raise InputError("--timing: is for schedules; leave it out")
