"""A memory technology: points of one source, and interpolation between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import cached_property
from math import inf, isfinite

from spmopt.core.errors import InputError
from spmopt.hardware.fit import Fit, fit, through


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """Figures of a source for one capacity; latencies and energies are of one access.

    Attributes
    ----------
    capacity_bytes
        Size of the memory.
    read_latency_ns, write_latency_ns
        From the start of an access to its end.
    read_energy_pj, write_energy_pj
        Dynamic energy.
    leakage_mw
        Power of the whole memory, idle or not.
    area_mm2
        Of the whole memory, periphery included.
    configuration
        Design goal of the memory, where a source has several designs of a capacity.
    """

    capacity_bytes: int
    read_latency_ns: float
    write_latency_ns: float
    read_energy_pj: float
    write_energy_pj: float
    leakage_mw: float
    area_mm2: float
    configuration: str = ""

    def __post_init__(self) -> None:
        for name in ("capacity_bytes", *FIGURES):
            value = getattr(self, name)
            if not (isfinite(value) and value > 0):
                raise InputError(f"{name} must be greater than 0, is {value}")

    @property
    def edap(self) -> float:
        """Energy-delay-area product (pJ ns mm2) by which configurations are chosen.

        Energy and delay are sums of a read and a write. DeepNVM++ (algorithm 1) does not
        state its costs; leakage, which is no energy of an access, is left out here.
        """
        energy = self.read_energy_pj + self.write_energy_pj
        return energy * (self.read_latency_ns + self.write_latency_ns) * self.area_mm2


FIGURES = tuple(f.name for f in fields(Point) if f.name not in ("capacity_bytes", "configuration"))
"""Names of the figures that depend on the capacity; they end in their units."""


class Basis(StrEnum):
    """Where the figures come from."""

    PUBLISHED = "published"
    FITTED = "fit"
    EXTRAPOLATED = "fit, beyond its points"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScratchpadFigures:
    """A scratchpad of some technology: figures of one access, and per byte.

    ``access_bytes`` go through in one access. A *bank* does one access at a time, so that its
    rate is ``access_bytes`` over the latency, without pipelining.
    """

    technology: str
    basis: Basis
    access_bytes: int
    point: Point

    @property
    def read_pj_per_byte(self) -> float:
        """Energy to read a byte, where whole accesses are read."""
        return self.point.read_energy_pj / self.access_bytes

    @property
    def write_pj_per_byte(self) -> float:
        """Energy to write a byte, where whole accesses are written."""
        return self.point.write_energy_pj / self.access_bytes

    @property
    def leakage_w(self) -> float:
        """Leakage power in watts."""
        return self.point.leakage_mw / 1000

    @property
    def read_bytes_per_s(self) -> float:
        """Read rate of one bank."""
        return self.access_bytes / self.point.read_latency_ns * 1e9

    @property
    def write_bytes_per_s(self) -> float:
        """Write rate of one bank."""
        return self.access_bytes / self.point.write_latency_ns * 1e9

    def rates(self, banks: int | None) -> tuple[int, int] | tuple[None, None]:
        """Return the read and write rates of so many banks; None where they are not counted."""
        if banks is None:
            return None, None
        alone = (self.read_bytes_per_s, self.write_bytes_per_s)
        # Rounded down: a rate must not flatter the technology.
        read, write = (max(1, int(banks * rate)) for rate in alone)
        return read, write


FURTHEST = 8
"""A fit is used up to so many times the capacity of its last point; further on no run is near."""


class Interpolation(StrEnum):
    """Interpolation between and beyond the points."""

    NOTHING = "nothing"
    FIT = "fit"
    POWER = "power"


@dataclass(frozen=True, kw_only=True)
class Technology:
    """A way to build a scratchpad.

    Attributes
    ----------
    name, cell, source
        Its name, the kind of its cells, and the source of its figures.
    access_bytes
        Bytes that one access reads or writes: latency and energy are of so many.
    between
        With ``nothing`` the points are exact, and there are no others; with ``fit`` all figures
        are of the fitted curves, at the points too, so that none falls with the capacity; with
        ``power`` they are of the power law through two points.
    retention_ns
        How long contents last since they were written; None: as long as anybody needs.
    points
        By capacity, and of one capacity by their energy-delay-area product: configurations, of
        which the first is the one of the capacity (algorithm 1 of DeepNVM++).
    """

    name: str
    cell: str
    source: str
    access_bytes: int
    between: Interpolation
    points: tuple[Point, ...]
    retention_ns: float | None = None

    def __post_init__(self) -> None:
        where = f"technology {self.name}"
        if self.retention_ns is not None and not 0 < self.retention_ns < inf:
            raise InputError(f"{where}: retention must be greater than 0, is {self.retention_ns}")
        if self.access_bytes < 1:
            raise InputError(f"{where}: access_bytes must be at least 1, is {self.access_bytes}")
        if not self.points:
            raise InputError(f"{where}: has no point; add one")
        # The first of each capacity is then its best configuration.
        points = tuple(sorted(self.points, key=lambda point: (point.capacity_bytes, point.edap)))
        known = set()
        for point in points:
            key = point.capacity_bytes, point.configuration
            if key in known:
                raise InputError(
                    f"{where}: two points have a capacity of {point.capacity_bytes} bytes and the "
                    f"configuration {point.configuration!r}; name the configuration of each"
                )
            known.add(key)
        # The record is frozen; only this normalization may write to it.
        object.__setattr__(self, "points", points)
        if self.has_fit:
            try:
                # Computed now, so that a file with too few points fails where it is read.
                _ = self.fits
            except InputError as error:
                raise InputError(f"{where}: {error}; add points, or set between") from None

    @property
    def capacities_bytes(self) -> tuple[int, ...]:
        """Capacities of the points, ascending."""
        return tuple(point.capacity_bytes for point in self.best)

    @property
    def has_fit(self) -> bool:
        """Whether there are figures at other capacities than the points."""
        return self.between is not Interpolation.NOTHING

    @property
    def most_bytes(self) -> int:
        """The largest capacity that there are figures of."""
        last = self.capacities_bytes[-1]
        return FURTHEST * last if self.has_fit else last

    @cached_property
    def best(self) -> tuple[Point, ...]:
        """Of each capacity the configuration with the least energy-delay-area product."""
        chosen: dict[int, Point] = {}
        for point in self.points:
            chosen.setdefault(point.capacity_bytes, point)
        return tuple(chosen.values())

    @cached_property
    def fits(self) -> Mapping[str, Fit]:
        """The fit of each of ``FIGURES``; raises :class:`InputError` with too few points."""
        find = through if self.between is Interpolation.POWER else fit
        return {
            name: find(self.capacities_bytes, [getattr(point, name) for point in self.best])
            for name in FIGURES
        }

    def at(self, capacity_bytes: int) -> ScratchpadFigures:
        """Return the scratchpad of that capacity.

        Raises
        ------
        InputError
            A capacity without figures: not a point where there is no fit, or far beyond a fit.
        """
        if capacity_bytes < 1:
            raise InputError(f"technology {self.name}: capacity must be at least 1 byte")
        if self.between is Interpolation.NOTHING:
            return self._scratchpad(Basis.PUBLISHED, self._publish(capacity_bytes))
        first, *_, last = self.capacities_bytes
        if capacity_bytes > self.most_bytes:
            raise InputError(
                f"technology {self.name}: {_megabytes(capacity_bytes)} is too far beyond the "
                f"points of its fit, {_megabytes(first)} to {_megabytes(last)}; it is used up to "
                f"{FURTHEST} times the last one, {_megabytes(self.most_bytes)}; take less"
            )
        basis = Basis.FITTED if first <= capacity_bytes <= last else Basis.EXTRAPOLATED
        values = {name: each.curve.at(capacity_bytes) for name, each in self.fits.items()}
        return self._scratchpad(
            basis, Point(capacity_bytes=capacity_bytes, configuration="", **values)
        )

    def _publish(self, capacity_bytes: int) -> Point:
        for point in self.best:
            if point.capacity_bytes == capacity_bytes:
                return point
        known = ", ".join(map(_megabytes, self.capacities_bytes))
        raise InputError(
            f"technology {self.name}: has no figures for {_megabytes(capacity_bytes)}, only for "
            f"{known}, and none are made up between or beyond; take one of these, or a "
            "technology with a fit"
        )

    def _scratchpad(self, basis: Basis, point: Point) -> ScratchpadFigures:
        return ScratchpadFigures(
            technology=self.name, basis=basis, access_bytes=self.access_bytes, point=point
        )


def _megabytes(size_bytes: int) -> str:
    return f"{size_bytes / 1e6:.10g} MB"
