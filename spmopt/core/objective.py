"""Objectives: nonnegative weights on the resources of a schedule.

And the registry of named ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from itertools import zip_longest
from math import gcd, lcm
from numbers import Rational
from typing import TYPE_CHECKING, Any

from spmopt.core.errors import InputError, unknown
from spmopt.core.plugins import Registry

if TYPE_CHECKING:  # it loads numpy
    from spmopt.core.machine import Machine

_PICO = Fraction(1, 10**12)
WEIGHTS = (
    *("cycle", "dram_in_byte", "dram_out_byte", "spm_read_byte", "spm_write_byte", "mac"),
    *("own_picojoule", "unpacked_byte", "packed_byte"),
)
"""Names of the weights of events that every machine has."""
BANK_WEIGHTS = ("bank_read_byte", "bank_write_byte")
"""Names of the weights of events in each bank."""


def _exact(value: object) -> Fraction:
    """Return the decimal a user wrote, not its nearest binary number."""
    # ``str`` of a float is its shortest decimal: 0.1 becomes 1/10.
    return Fraction(value if isinstance(value, Rational) else str(value))


THEN = ", then "
"""Between the names of two objectives in order, of which one is a weighted sum."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """A weighted sum, minimized; each weight is in ``unit`` per event (PROBLEM.md, section 3).

    Weights may be given as fractions, integers, decimals or floats, of which the shortest decimal
    counts. Any nonnegative ones will do: every scheduler but ``joint`` takes them.

    Attributes
    ----------
    name, unit
        Of the objective and of its value.
    replayed
        A ``cycle`` is one of the replay, which has no barriers between steps.
    cycle
        Weight of a cycle of time.
    dram_in_byte, dram_out_byte
        Of a byte from DRAM, and to it.
    spm_read_byte, spm_write_byte
        Of a byte that an operation reads from the scratchpad, and writes to it.
    mac
        Of a multiply-accumulate.
    own_picojoule
        Of a picojoule that an operation spends by itself, see :class:`~spmopt.core.OpMapping`.
    unpacked_byte, packed_byte
        Of a byte that a command of a compressed tensor writes to the scratchpad, or reads there,
        beyond those that cross; one less where more cross.
    bank_read_byte, bank_write_byte
        Of a byte that each bank reads or writes, whoever asks for it; none for a uniform
        scratchpad.

    Raises
    ------
    InputError
        A weight is negative or no number.
    """

    name: str
    unit: str
    replayed: bool = field(default=False, metadata={"group": "replay"})
    cycle: Fraction = Fraction(0)
    dram_in_byte: Fraction = Fraction(0)
    dram_out_byte: Fraction = Fraction(0)
    spm_read_byte: Fraction = Fraction(0)
    spm_write_byte: Fraction = Fraction(0)
    mac: Fraction = Fraction(0)
    own_picojoule: Fraction = field(default=Fraction(0), metadata={"group": "own energy"})
    unpacked_byte: Fraction = field(default=Fraction(0), metadata={"group": "compression"})
    packed_byte: Fraction = field(default=Fraction(0), metadata={"group": "compression"})
    bank_read_byte: tuple[Fraction, ...] = field(default=(), metadata={"group": "banks"})
    bank_write_byte: tuple[Fraction, ...] = field(default=(), metadata={"group": "banks"})

    @property
    def grain(self) -> Fraction:
        """Largest number of which all values are multiples: counts are whole; 0 without weights."""
        weights = [each for each in self.weights if each]
        common = lcm(*(each.denominator for each in weights))
        return Fraction(gcd(*(int(each * common) for each in weights)), common)

    @property
    def weights(self) -> tuple[Fraction, ...]:
        """All weights, those of banks last."""
        own = (getattr(self, name) for name in WEIGHTS)
        return (*own, *self.bank_read_byte, *self.bank_write_byte)

    def of_mappings(self, read: int, written: int, macs: int, own_picojoules: int) -> Fraction:
        """Return the costs of operations beside time and transfers, which no residency changes.

        Parameters
        ----------
        read, written
            Bytes that they read from the scratchpad and write to it.
        """
        if not self.weighs_mappings:  # nearly always: products of fractions take their time
            return Fraction()
        return (
            self.spm_read_byte * read
            + self.spm_write_byte * written
            + self.mac * macs
            + self.own_picojoule * own_picojoules
        )

    @property
    def weighs_mappings(self) -> bool:
        """Whether :meth:`of_mappings` can be more than 0."""
        return any((self.spm_read_byte, self.spm_write_byte, self.mac, self.own_picojoule))

    @property
    def weighted(self) -> frozenset[str]:
        """Names of the weights that are not 0."""
        banks = {name for name in BANK_WEIGHTS if any(getattr(self, name))}
        return frozenset(banks.union(name for name in WEIGHTS if getattr(self, name)))

    @property
    def is_weighed(self) -> bool:
        """Whether it is the weighted sum of two objectives in order."""
        return THEN in self.name

    @property
    def value_unit(self) -> str:
        """Unit of its values; a weighted sum of two objectives has neither unit."""
        return "weighted sum" if self.is_weighed else self.unit

    @property
    def with_barriers(self) -> Objective:
        """The same costs with time counted step by step."""
        # The pure replay must become the makespan by name too, as files know it.
        return MAKESPAN if self == REPLAY else replace(self, replayed=False)

    def of_moved(self, most: Fraction | int) -> Objective:
        """Return an objective of moved bytes alone that is no more, for ratios of ``most`` at most.

        Where more bytes cross than arrive, it has nothing of the scratchpad's share of a byte.
        """
        less = (self.unpacked_byte, self.packed_byte) if most > 1 else (Fraction(0),) * 2
        if not (self.unpacked_byte or self.packed_byte):
            return self
        return replace(
            self,
            dram_in_byte=max(Fraction(0), self.dram_in_byte - less[0]),
            dram_out_byte=max(Fraction(0), self.dram_out_byte - less[1]),
            unpacked_byte=Fraction(0),
            packed_byte=Fraction(0),
        )

    def plus(self, other: Objective, weight: Fraction) -> Objective:
        """Return the weighted sum with another objective, in units of this one."""
        # Objectives are linear in their weights, so that a weighted sum is an objective too.
        added: dict[str, Any] = {
            name: getattr(self, name) + weight * getattr(other, name) for name in WEIGHTS
        }
        for name in BANK_WEIGHTS:
            pairs = zip_longest(getattr(self, name), getattr(other, name), fillvalue=Fraction(0))
            added[name] = tuple(own + weight * its for own, its in pairs)
        names = THEN.join(option_name(each.name) for each in (self, other))
        return replace(self, name=names, **added)

    def only(self, *names: str) -> Objective:
        """Return the part of the objective that the weights ``names`` are."""
        none: dict[str, Any] = dict.fromkeys(WEIGHTS, Fraction(0))
        none |= {name: (Fraction(0),) * len(getattr(self, name)) for name in BANK_WEIGHTS}
        return replace(self, **{name: none[name] for name in none if name not in names})

    def __post_init__(self) -> None:
        for name in (each.name for each in fields(self) if each.name in (*WEIGHTS, *BANK_WEIGHTS)):
            given = getattr(self, name)
            try:
                exact = tuple(map(_exact, given)) if name in BANK_WEIGHTS else (_exact(given),)
            except (TypeError, ValueError):
                raise InputError(
                    f"objective {self.name}: weight {name} must be a number, is {given!r}"
                ) from None
            if min(exact, default=0) < 0:
                raise InputError(f"objective {self.name}: weight {name} must not be negative")
            # The record is frozen; weights of any number type become fractions once, here.
            object.__setattr__(self, name, exact if name in BANK_WEIGHTS else exact[0])
        if len(self.bank_read_byte) != len(self.bank_write_byte):
            raise InputError(f"objective {self.name}: needs both weights of each bank")


MAKESPAN = Objective(name="makespan", unit="cycles", cycle=Fraction(1))
REPLAY = Objective(name="replay", unit="cycles", cycle=Fraction(1), replayed=True)
TRAFFIC = Objective(
    name="traffic", unit="bytes", dram_in_byte=Fraction(1), dram_out_byte=Fraction(1)
)


def energy_objective(machine: Machine) -> Objective:
    """Return joules on ``machine``: each DMA byte also writes (in) or reads (out) the SPM once.

    With banks every byte that one of them reads or writes has its dual value, those of DMA among
    them.
    """
    energy, banks = machine.energy, machine.banks
    read = _exact(energy.spm_read_pj_per_byte) * _PICO
    write = _exact(energy.spm_write_pj_per_byte) * _PICO
    dram = _exact(energy.dram_pj_per_byte) * _PICO
    return Objective(
        name="energy",
        unit="joules",
        cycle=sum((_exact(bank.leakage_w) for bank in banks), _exact(energy.leakage_w))
        / machine.clock_hz,
        # A byte that arrives is written to the scratchpad once, one that leaves is read once.
        dram_in_byte=dram + write,
        dram_out_byte=dram + read,
        spm_read_byte=read,
        spm_write_byte=write,
        # Operations that state their energy include that of their MACs.
        mac=Fraction(0) if machine.has_own_energies else _exact(energy.mac_pj) * _PICO,
        own_picojoule=_PICO if machine.has_own_energies else Fraction(0),
        # The scratchpad takes all bytes of a compressed tensor, however few cross.
        unpacked_byte=write if machine.compression else Fraction(0),
        packed_byte=read if machine.compression else Fraction(0),
        bank_read_byte=tuple(_exact(bank.read_pj_per_byte) * _PICO for bank in banks),
        bank_write_byte=tuple(_exact(bank.write_pj_per_byte) * _PICO for bank in banks),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectiveEntry:
    """An objective by name.

    Attributes
    ----------
    of
        The objective, or a function that gives it for a machine.
    summary
        Minimized quantity, in a line.
    """

    of: Objective | Callable[[Machine], Objective]
    summary: str = ""

    @property
    def replayed(self) -> bool:
        """Whether time is that of the replay."""
        return isinstance(self.of, Objective) and self.of.replayed

    def on(self, machine: Machine) -> Objective:
        """Return the objective for ``machine``."""
        return self.of if isinstance(self.of, Objective) else self.of(machine)


def _entry(name: str, found: object) -> ObjectiveEntry:
    """Record of an objective that a package or a user gave."""
    if isinstance(found, ObjectiveEntry):
        return found
    if isinstance(found, Objective):
        return ObjectiveEntry(of=found, summary=f"weighted sum in {found.unit}")
    if callable(found):
        summary = (found.__doc__ or "").strip().partition("\n")[0]
        return ObjectiveEntry(of=found, summary=summary)
    raise InputError(f"objective {name}: is none, nor a function of a machine that gives one")


OBJECTIVES: Registry[ObjectiveEntry] = Registry(
    group="spmopt.objectives",
    make=_entry,
    own={
        "time": ObjectiveEntry(
            of=MAKESPAN,
            summary="sum of the durations of all steps (makespan)",
        ),
        "replay": ObjectiveEntry(
            of=REPLAY,
            summary="cycles without barriers between steps (joint minimizes it)",
        ),
        "traffic": ObjectiveEntry(
            of=TRAFFIC,
            summary="bytes moved between DRAM and scratchpad",
        ),
        "energy": ObjectiveEntry(
            of=energy_objective,
            summary="of DRAM, scratchpad, arithmetic and leakage",
        ),
    },
)
"""Objectives by the name that options have for them."""
_ALIASES = {MAKESPAN.name: "time"}


def register_objective(
    name: str, objective: ObjectiveEntry | Objective | Callable[[Machine], Objective]
) -> None:
    """Add an objective by name, for options too.

    Parameters
    ----------
    name
        Name in options.
    objective
        It, or a function that gives it for a machine; an entry says more of it.

    Raises
    ------
    InputError
        The name is taken.
    """
    OBJECTIVES.register(name, objective)


TIMINGS = ("step", "async")
"""How time counts: the sum over steps, or a simulation without barriers between them."""


def with_timing(objective: str | Objective, timing: str) -> str | Objective:
    """Return the objective ``time`` for a timing; ``step`` leaves any objective as it is.

    Raises
    ------
    InputError
        No such timing, or another objective than time for ``async``.
    """
    if timing not in TIMINGS:
        raise unknown("timing", timing, TIMINGS)
    if timing == "step":
        return objective
    name = objective if isinstance(objective, str) else objective.name
    if option_name(name) not in ("time", REPLAY.name):
        raise InputError(f"timing async: minimizes time, not {name}; leave the objective out")
    return REPLAY.name


def option_name(name: str) -> str:
    """Name of an objective as the options have it."""
    return _ALIASES.get(name, name)


def objective_entry(name: str) -> ObjectiveEntry:
    """Return the registered objective ``name``, also ``makespan`` for ``time``.

    Raises
    ------
    InputError
        There is none.
    """
    found = OBJECTIVES.find(option_name(name))
    if found is None:
        raise unknown("objective", name, OBJECTIVES.names())
    return found


def objective_named(objective: str | Objective, machine: Machine) -> Objective:
    """Return an objective for ``machine``: a registered one by name, or one as it is given."""
    return objective if isinstance(objective, Objective) else objective_entry(objective).on(machine)
