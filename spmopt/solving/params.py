"""Parameters of the search that users can set."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Self

from spmopt.core.errors import InputError, unknown
from spmopt.core.validation import read_toml


@dataclass(frozen=True, slots=True, kw_only=True)
class SolveParams:
    """Shares of the time limit, and sizes from which the search takes less work.

    No parameter changes which schedules are legal, or which bounds hold.

    Attributes
    ----------
    all_policies_operations
        Most operations on which all policies run as starts; above it one attempt of one.
    finish_s
        Seconds of each operation, above that number, kept back to verify and to bound.
    list_fraction
        Part of the time limit for the layer-by-layer schedule from which fusion starts.
    list_gap
        Gap at which that schedule is good enough.
    replay_page_fraction
        Part of the time limit for the page-level start of a scheduler of the replay.
    replay_start_fraction
        Part of the time limit for each other optimizer that it starts from.
    orders_fraction
        Part of the time limit to search orders, on small problems.
    orders_large_fraction
        Part of the time left to search orders, on all others.
    """

    all_policies_operations: int = 5_000
    finish_s: float = 7e-5
    list_fraction: float = 0.2
    list_gap: float = 1e-3
    replay_page_fraction: float = 0.25
    replay_start_fraction: float = 0.1
    orders_fraction: float = 0.25
    orders_large_fraction: float = 0.8

    def __post_init__(self) -> None:
        for name in self.names():
            value = getattr(self, name)
            most = 1.0 if name.endswith("_fraction") else float("inf")
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise InputError(f"params: {name} must be a number, is {value!r}")
            if not 0 <= value <= most:
                within = "from 0 to 1" if most == 1.0 else "0 or more"
                raise InputError(f"params: {name} must be {within}, is {value}")

    @classmethod
    def names(cls) -> list[str]:
        """Return the names of all parameters."""
        return [each.name for each in fields(cls)]

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a TOML file with some parameters; the others keep their defaults.

        Raises
        ------
        InputError
            The file cannot be read, or has an unknown name or a value out of range.
        """
        table = read_toml(Path(path), str(path))
        for name in table:
            if name not in cls.names():
                raise InputError(f"{path}: {unknown('parameter', name, cls.names())}")
        try:
            return cls(**table)
        except InputError as error:
            raise InputError(f"{path}: {error}") from None


DEFAULTS = SolveParams()
