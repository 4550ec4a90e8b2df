"""Errors that a user can act on: one line each, no traceback at the command line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.util import find_spec
from typing import TypeVar


class SpmoptError(Exception):
    """Base of every error the program raises on purpose."""


class InputError(SpmoptError):
    """Input that cannot be used: states the fault, its place, and the remedy."""


class ArgumentError(InputError):
    """An argument of a public function that cannot be used.

    The command line shows the ``parameter`` as the option that it is given by.
    """

    def __init__(self, parameter: str, problem: str) -> None:
        super().__init__(f"{parameter}{problem}")
        self.parameter, self.problem = parameter, problem


class MissingRuleError(InputError):
    """Operators of a file that have no rule; ``paste`` are lines of a file that gives them one."""

    def __init__(self, message: str, *, paste: str) -> None:
        super().__init__(message)
        self.paste = paste


class InfeasibleError(SpmoptError):
    """No legal schedule exists (proved, never a time-out).

    ``conflict`` says why in figures; the error is its line.
    """

    def __init__(self, why: str | Conflict) -> None:
        super().__init__(str(why))
        self.conflict = None if isinstance(why, str) else why


class SolverError(SpmoptError):
    """A solver refused a program: its figures are too large, for example."""


class ScheduleError(SpmoptError):
    """A schedule broke a rule, or its claimed figures are not the recomputed ones."""


class ContradictionError(ScheduleError):
    """Two parts of the program say opposite things, or one of its schedules is illegal."""


def unknown(what: str, name: str, known: Iterable[str]) -> InputError:
    """Make the error "no ``what`` called ``name``", with the nearest of ``known`` or all."""
    names = sorted({*known})
    near = nearest(name.lower(), names)
    choices = f"choose one of {', '.join(names)}"
    few = f" ({choices})" * (len(names) <= _FEW)
    hint = f"did you mean {near}?{few}" if near else choices
    return InputError(f"no {what} called {name!r}; {hint}")


_FEW = 8  # names that an error lists even where one of them is near


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the known name that is most like ``name``, or an empty text."""
    # 0.6 is difflib's own cutoff: below it suggestions mislead.
    return next(iter(get_close_matches(name, list(known), n=1, cutoff=0.6)), "")


NAMED = 3
"""Members that the line names; more of them are for a table."""

_Member = TypeVar("_Member")


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """Something that needs bytes: a tensor, the scratch of an operation, a buffer.

    Attributes
    ----------
    size_bytes
        Its size: of a tensor whole pages.
    lifetime
        Times ``[lower, upper)`` of a buffer.
    offset_bytes
        Where it must lie, if it must.
    """

    name: str
    size_bytes: int
    lifetime: tuple[int, int] | None = None
    offset_bytes: int | None = None

    def __str__(self) -> str:
        return f"{self.name} ({self.size_bytes} bytes)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """A proof that there is no legal schedule, or no placement.

    Attributes
    ----------
    where
        The place, as ``operation conv1`` or ``time 3``.
    need
        Who needs too much, as the beginning of a sentence that ends in bytes.
    required_bytes, available_bytes
        Of all that need them there.
    members
        Those of them that already do not fit together. ``irreducible``: any of them left out, the
        others do.
    kind
        Of bytes, as ``of SPM``; may be empty.
    step, time
        Where that is a step, or times ``[lower, upper)``.
    advice
        Advice in the words of the command line.
    """

    where: str
    need: str
    required_bytes: int
    available_bytes: int
    members: tuple[Member, ...]
    kind: str = ""
    step: int | None = None
    time: tuple[int, int] | None = None
    advice: str = ""
    irreducible: bool = True

    @property
    def missing_bytes(self) -> int:
        """Required less available."""
        return self.required_bytes - self.available_bytes

    def __str__(self) -> str:
        """Return one line, with all figures and the first few members."""
        kind = f" {self.kind}" if self.kind else ""
        figures = (
            f"{self.need} {self.required_bytes} bytes{kind}, available are "
            f"{self.available_bytes}, missing are {self.missing_bytes}"
        )
        return "; ".join(
            part for part in (f"{self.where}: {figures}", self._crowd(), self.advice) if part
        )

    def _crowd(self) -> str:
        """Return the members in words."""
        names = [str(member) for member in self.members[:NAMED]]
        more = len(self.members) - len(names)
        if more:
            names.append(f"{more} more")
        if len(names) < 2:
            return f"{names[0]} alone does not fit" if names else ""
        return f"{', '.join(names[:-1])} and {names[-1]} already do not fit together"


def irreducible(
    members: Sequence[_Member], fits: Callable[[Sequence[_Member]], bool]
) -> list[_Member]:
    """Leave out members, first ones first, as long as the rest does not fit.

    Parameters
    ----------
    members
        Do not fit together.
    fits
        Whether some do; a set that fits must fit with members left out, too.

    Returns
    -------
    list
        Members that do not fit together, though any of them left out the others do (a deletion
        filter: Chinneck and Dravnieks, ORSA Journal on Computing 3, 1991).
    """
    kept = list(members)
    position = 0
    while position < len(kept):
        rest = kept[:position] + kept[position + 1 :]
        # This member is needed for the conflict; go on to the next.
        if fits(rest):
            position += 1
        else:
            kept = rest
    return kept


PACKAGES = {
    "onnx": "onnx>=1.17",
    "onnxscript": "onnxscript>=0.7",
    "pandas": "pandas>=2.2.2",
    "psycopg": "psycopg[binary]>=3.2.2",
    "torch": "torch>=2.13",
    "yaml": "pyyaml>=6",
}
"""Requirement of each optional package, by the name of its import."""


def package_hint(package: str) -> str:
    """Return the command that installs a package, from a clone and from a wheel alike."""
    name = re.split(r"[\[>]", PACKAGES[package])[0]
    return f"needs the package {name}: pip install '{PACKAGES[package]}'"


def require_package(package: str, user: str) -> None:
    """Raise :class:`InputError` if an optional package is missing.

    Parameters
    ----------
    package
        Name of its import, a key of :data:`PACKAGES`.
    user
        Subject of the message: the option or file that needs the package.
    """
    if find_spec(package) is None:
        raise InputError(f"{user} {package_hint(package)}")
