"""A machine as settings: the keys of a TOML file and of the command line.

Tables nest with dots (``array.rows``, ``energy.mac_pj``); sizes and rates bear units. ``bank`` is
one text, with commas between banks. They make up the scratchpad, so that ``spm`` and ``technology``
are left out then, and ``energy.leakage_w`` is that of all else. What :func:`to_settings` gives,
:func:`from_settings` reads back to the same machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from math import isfinite

from spmopt.core.errors import InputError
from spmopt.core.machine import AREA_FIGURES, ENERGY_FIGURES, Area, Energy, Machine, SystolicArray
from spmopt.core.suggest import unknown
from spmopt.core.units import Dimension, parse_quantity
from spmopt.machines.banks import BANK, banks_text, read_banks, split_banks
from spmopt.technology.load import load_technology
from spmopt.technology.machine import with_banks, with_technology

Setting = str | int | float | bool
Settings = Mapping[str, Setting]

_FIELDS = {
    "name": "name",
    "spm": "spm_bytes",
    "bandwidth": "dram_bytes_per_s",
    "throughput": "operations_per_s",
    "clock": "clock_hz",
    "page": "page_bytes",
    "dma_setup": "dma_setup_cycles",
    "duplex": "duplex",
    "source": "source",
}
_ENERGY = tuple(f"energy.{field.name}" for field in fields(Energy))
_AREA = tuple(f"area.{field.name}" for field in fields(Area))
_ARRAY = tuple(f"array.{field.name}" for field in fields(SystolicArray))
_EXAMPLES = {"page": "4KiB, 4kB or 4096"}
_MEMORY = ("technology", "banks")
OF_TECHNOLOGY = ("energy.spm_read_pj_per_byte", "energy.spm_write_pj_per_byte", "energy.leakage_w")
"""What a technology says, and a machine that names one does not."""
OF_BANKS = ("energy.spm_read_pj_per_byte", "energy.spm_write_pj_per_byte")
"""What banks say, and a machine that has some does not."""
SCRATCHPAD = ("spm", *_MEMORY)
"""What makes up a scratchpad without banks."""
KEYS = (*_FIELDS, *_ARRAY, *_ENERGY, *_AREA, *_MEMORY, BANK)


def from_settings(settings: Settings, where: str) -> Machine:
    """Build a machine; ``where`` names the file or the command line in errors.

    A technology is looked up at the scratchpad's size, and replaces ``OF_TECHNOLOGY``; those of
    banks, each at its own size, replace ``OF_BANKS``.

    Raises
    ------
    InputError
        An unknown or missing key, a value that does not fit it, or a technology that has no
        figures for that size.
    """
    for key in settings:
        if key not in KEYS:
            raise InputError(f"{where}: {unknown('machine setting', key, KEYS)}")
    if BANK in settings:
        return _with_banks(settings, where)
    read = _Reader(settings, where)
    return _with_memory(read, _bare(read))


def _with_banks(settings: Settings, where: str) -> Machine:
    for key in (key for key in SCRATCHPAD if key in settings):
        raise InputError(f"{where}: {key}: banks make up the scratchpad; leave one of them out")
    text = _Reader(settings, where).text(BANK)
    banks = read_banks(split_banks(text), f"{where}: {BANK}")
    own = {"energy.leakage_w": 0.0, **settings, **dict.fromkeys(OF_BANKS, 0.0)}
    own["spm"] = sum(bank.spm_bytes for bank in banks)
    machine = _bare(_Reader(own, where))
    return replace(with_banks(machine, banks), energy=machine.energy)


def _bare(read: _Reader) -> Machine:
    return Machine(
        name=read.text("name"),
        spm_bytes=read.quantity("spm", Dimension.BYTES),
        dram_bytes_per_s=read.quantity("bandwidth", Dimension.BYTES_PER_S),
        operations_per_s=read.quantity("throughput", Dimension.OPERATIONS_PER_S),
        clock_hz=read.quantity("clock", Dimension.HERTZ),
        page_bytes=read.quantity("page", Dimension.BYTES),
        dma_setup_cycles=read.count("dma_setup"),
        duplex=read.switch("duplex"),
        array=_array(read) if any(key in read.settings for key in _ARRAY) else None,
        energy=Energy(
            **_figures(read, "energy", ENERGY_FIGURES), source=read.text("energy.source")
        ),
        area=Area(**_figures(read, "area", AREA_FIGURES), source=read.text("area.source")),
        source=read.text("source"),
    )


def _figures(read: _Reader, table: str, names: tuple[str, ...]) -> dict[str, float]:
    keys = {name: f"{table}.{name}" for name in names}
    if "technology" in read.settings:
        keys = {name: key for name, key in keys.items() if key not in OF_TECHNOLOGY}
    return {name: read.number(key) for name, key in keys.items()}


def _with_memory(read: _Reader, machine: Machine) -> Machine:
    banks = read.count("banks") if "banks" in read.settings else None
    if "technology" not in read.settings:
        if banks is None:
            return machine
        raise InputError(f"{read.where}: banks = {banks}: of which technology? name one as well")
    name = read.text("technology")
    return with_technology(machine, load_technology(name), banks=banks, named=name)


def to_settings(machine: Machine) -> dict[str, Setting]:
    """Every setting of ``machine``, quantities as plain numbers in base units.

    Raises
    ------
    InputError
        A bank with figures that are of no technology known here.
    """
    settings: dict[str, Setting] = {k: getattr(machine, field) for k, field in _FIELDS.items()}
    for record, keys in ((machine.array, _ARRAY), (machine.energy, _ENERGY), (machine.area, _AREA)):
        if record is not None:
            settings |= {key: getattr(record, key.split(".")[1]) for key in keys}
    if machine.banks:
        left_out = ("spm", *OF_BANKS)
        own = {key: value for key, value in settings.items() if key not in left_out}
        return {**own, BANK: banks_text(machine)}
    memory = machine.memory
    if memory is None:
        return settings
    settings |= {"technology": memory.technology, "bandwidth": memory.dram_bytes_per_s}
    if memory.banks is not None:
        settings["banks"] = memory.banks
    return {key: value for key, value in settings.items() if key not in OF_TECHNOLOGY}


def _array(read: _Reader) -> SystolicArray:
    return SystolicArray(
        rows=read.count("array.rows"),
        columns=read.count("array.columns"),
        dataflow=read.text("array.dataflow"),
    )


@dataclass(frozen=True, slots=True)
class _Reader:
    """One setting at a time, checked."""

    settings: Settings
    where: str

    def _get(self, key: str) -> Setting:
        if key not in self.settings:
            raise InputError(f"{self.where}: {key} is missing; add it")
        return self.settings[key]

    def _wrong(self, key: str, must: str) -> InputError:
        return InputError(f"{self.where}: {key} = {self.settings[key]!r}: must be {must}")

    def quantity(self, key: str, dimension: Dimension) -> int:
        value = self._get(key)
        if isinstance(value, bool | float):
            raise self._wrong(key, "a whole number, or a quantity such as '24MB' in quotes")
        return parse_quantity(value, dimension, f"{self.where}: {key}", _EXAMPLES.get(key))

    def count(self, key: str) -> int:
        text = str(self._get(key))
        if not (text.isascii() and text.isdigit() and len(text) < 19):
            raise self._wrong(key, "a whole number, 0 or more")
        return int(text)

    def number(self, key: str) -> float:
        value = self._get(key)
        try:
            number = -1.0 if isinstance(value, bool) else float(value)
        except ValueError:
            number = -1.0
        if not isfinite(number) or number < 0:
            raise self._wrong(key, "a number, 0 or more")
        return number

    def switch(self, key: str) -> bool:
        switch = {"true": True, "false": False}.get(str(self._get(key)).lower())
        if switch is None:
            raise self._wrong(key, "true or false")
        return switch

    def text(self, key: str) -> str:
        value = self._get(key)
        if not isinstance(value, str):
            raise self._wrong(key, "a text in quotes")
        return value
