"""Entry points of installed packages: found by name, imported only when one is used.

A package adds to the program by entry points in its ``pyproject.toml``::

    [project.entry-points."spmopt.schedulers"]
    greedy = "my_package:greedy"

The groups are ``spmopt.schedulers``, ``spmopt.objectives``, ``spmopt.operators``,
``spmopt.kernels``, ``spmopt.machines`` and ``spmopt.technologies``. Names that the program has
itself stay its own.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, TypeVar

from spmopt.core.errors import InputError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")
_LOG = logging.getLogger("spmopt")


@cache
def plugins(group: str) -> Mapping[str, EntryPoint]:
    """Return the entry points of ``group`` by name; nothing is imported."""
    from importlib.metadata import entry_points

    found: dict[str, EntryPoint] = {}
    # Sorted, so that of two packages with one name the same one wins everywhere.
    for point in sorted(entry_points(group=group), key=lambda each: (each.name, each.value)):
        if point.name in found and found[point.name].value != point.value:
            _LOG.warning(
                "warning: %s %s of %s is left out, for %s has one of that name",
                *(group, point.name, package_of(point), package_of(found[point.name])),
            )
        found.setdefault(point.name, point)
    return found


def package_of(point: EntryPoint) -> str:
    """Name and version of the package that an entry point is from."""
    return "a package" if point.dist is None else f"{point.dist.name} {point.dist.version}"


@dataclass(frozen=True, kw_only=True, eq=False)
class Registry(Mapping[str, T]):
    """Registry of one kind, by name; a mapping of the program's own records.

    Attributes
    ----------
    group
        Of entry points.
    make
        Record of an object that a package or a user gives under a name; raises
        :class:`InputError` where it is none.
    own
        The program's own records by name.
    added
        Those registered, and those loaded from packages.
    """

    group: str
    make: Callable[[str, object], T]
    own: Mapping[str, T]
    added: dict[str, T] = field(default_factory=dict)

    def __getitem__(self, name: str) -> T:
        return self.own[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.own)

    def __len__(self) -> int:
        return len(self.own)

    def packages(self) -> Mapping[str, str]:
        """Return the package of each name that one adds; none of them is imported."""
        return {name: package_of(point) for name, point in self.foreign().items()}

    def names(self) -> tuple[str, ...]:
        """Return all names, own ones first; no package is imported."""
        return tuple(dict.fromkeys((*self.own, *self.added, *self.foreign())))

    def foreign(self) -> Mapping[str, EntryPoint]:
        """Return the entry points of packages, but those whose names the program has itself."""
        return {name: each for name, each in plugins(self.group).items() if name not in self.own}

    def register(self, name: str, found: object) -> T:
        """Add a record, or a function that makes one.

        Raises :class:`InputError` where the name is taken.
        """
        record = self.make(name, found)
        # The same record again is no clash: a notebook cell may run twice.
        if name in self.names() and self.added.get(name) != record:
            raise InputError(f"{self.group}: {name} is taken; choose another name")
        self.added[name] = record
        return record

    def find(self, name: str) -> T | None:
        """Return the record called ``name``, imported if a package has it; None if there is none.

        Raises
        ------
        InputError
            The package cannot be imported, or names something else.
        """
        if name in self.added:  # before the program's own: a user may have replaced one
            return self.added[name]
        if name in self.own:
            return self.own[name]
        if name in plugins(self.group):
            self.added[name] = self._load(plugins(self.group)[name])
        return self.added.get(name)

    def _load(self, point: EntryPoint) -> T:
        where = f"{self.group} {point.name} of {package_of(point)}"
        try:
            return self.make(point.name, point.load())
        except InputError as error:
            raise InputError(f"{where}: {error}") from error
        except Exception as error:  # whatever a package does when it is imported
            reason = " ".join(str(error).split())
            raise InputError(
                f"{where}: cannot be loaded: {type(error).__name__}: {reason}"
            ) from error
