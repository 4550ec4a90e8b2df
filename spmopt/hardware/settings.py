"""A machine as settings: the keys of a TOML file and of the command line.

Tables nest with dots (``array.rows``, ``energy.mac_pj``); sizes and rates bear units. ``bank`` is
one text, with commas between banks. They make up the scratchpad, so that ``spm`` and ``technology``
are left out then, and ``energy.leakage_w`` is the leakage of all else. :func:`from_settings`
inverts :func:`to_settings`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, get_type_hints

from spmopt.core.elements import ELEMENT_TYPES, ElementKind
from spmopt.core.errors import InputError, unknown
from spmopt.core.machine import (
    Area,
    Bank,
    Blocks,
    Compression,
    Energy,
    Machine,
    SystolicArray,
    TypedFigures,
    VectorUnit,
)
from spmopt.core.problem import TensorKind
from spmopt.core.units import Dimension, parse_quantity, si, size
from spmopt.hardware.reader import Reader
from spmopt.hardware.scratchpad import BankOf, default_page, with_banks, with_technology

BANK = "bank"
"""Key of the setting; several banks are one text, with commas between them."""
BYPASS = "bypass"
"""Key of the setting; several kinds of tensors are one text, with commas between them."""
COMPRESSION = {f"compression.{kind}": str(kind) for kind in TensorKind}
"""Keys of ratios of bytes moved to bytes on chip, and the kinds of tensors that they are of."""


def read_banks(texts: Sequence[str], where: str) -> list[BankOf]:
    """Return the banks in the order of addresses, from SIZE:TECHNOLOGY[:PORTS] each.

    Raises
    ------
    InputError
        Another form, a size without unit or an unknown technology; ``where`` names the origin.
    """
    return [_read(text.strip(), where) for text in texts]


def require_units(texts: Sequence[str], where: str) -> None:
    """Raise :class:`InputError` for a bank whose size has no unit: only records say bytes so."""
    for text in texts:
        size = text.partition(":")[0].strip()
        # A user's "2" may mean bytes or megabytes; records always mean bytes.
        if size.isdecimal():
            raise InputError(f"{where} {text!r}: {size} has no unit; write as 2MB:nvsim-sram")


def split_banks(text: str) -> list[str]:
    """Return the texts of single banks."""
    return text.split(",")


def join_banks(texts: Sequence[str]) -> str:
    """Return one text of several banks, without blanks around them."""
    return ",".join(text.strip() for text in texts)


def banks_text(machine: Machine) -> str:
    """Return the banks of ``machine`` as :func:`read_banks` reads them back, all figures the same.

    Raises
    ------
    InputError
        A bank with figures that are of no technology known here.
    """
    return join_banks([_text(machine, bank) for bank in machine.banks])


def from_folder(text: str, folder: Path) -> str:
    """Return the text with paths of technologies that start in ``folder``."""
    found = []
    for bank in split_banks(text):
        size, *rest = bank.strip().split(":")
        if rest and rest[0].strip().endswith(".toml"):
            rest[0] = str(folder / rest[0].strip())
        found.append(":".join([size, *rest]))
    return join_banks(found)


def _read(text: str, where: str) -> BankOf:
    size, *rest = (part.strip() for part in text.split(":"))
    if len(rest) not in (1, 2) or not all(rest):
        raise InputError(f"{where} {text!r}: write SIZE:TECHNOLOGY, as 2MB:nvsim-sram")
    ports = rest[1] if len(rest) == 2 else None
    if ports is not None and not (ports.isascii() and ports.isdigit() and len(ports) < 10):
        raise InputError(f"{where} {text!r}: {ports!r} is not a whole number of ports")
    from spmopt.hardware.technologies import load_technology

    try:
        technology = load_technology(rest[0])
    except InputError as error:
        raise InputError(f"{where} {text!r}: {error}") from None
    return BankOf(
        # A record says bytes, see to_settings.
        spm_bytes=parse_quantity(
            int(size) if size.isdecimal() and len(size) < 19 else size,
            Dimension.BYTES,
            f"{where} {text!r}: size",
        ),
        technology=technology,
        ports=None if ports is None else int(ports),
        named=rest[0],
    )


def _text(machine: Machine, bank: Bank) -> str:
    """Return the text, if it states the bank."""
    parts = [str(bank.spm_bytes), bank.technology]
    if bank.read_bytes_per_s is not None and bank.technology:
        from spmopt.hardware.technologies import load_technology

        alone = load_technology(bank.technology).at(bank.spm_bytes).read_bytes_per_s
        # The number of ports is not stored: recover it from the rate.
        parts.append(str(max(1, round(bank.read_bytes_per_s / alone))))
    text = ":".join(parts)
    # Read back to prove that the text states all figures exactly.
    if not bank.technology or with_banks(machine, read_banks([text], BANK)).banks != (bank,):
        raise InputError(
            f"machine {machine.name}: a bank of {bank.spm_bytes} bytes has figures of its own, "
            "which no setting says; give banks of technologies in its place"
        )
    return text


Setting = str | int | float | bool
Settings = Mapping[str, Setting]
Kind = Dimension | type[Setting]

_OWN: Mapping[str, tuple[str, Kind]] = {
    "name": ("name", str),
    "spm": ("spm_bytes", Dimension.BYTES),
    "bandwidth": ("dram_bytes_per_s", Dimension.BYTES_PER_S),
    "throughput": ("operations_per_s", Dimension.OPERATIONS_PER_S),
    "clock": ("clock_hz", Dimension.HERTZ),
    "page": ("page_bytes", Dimension.BYTES),
    "dma_setup": ("dma_setup_cycles", int),
    "duplex": ("duplex", bool),
    "source": ("source", str),
}
"""Field of a machine that each setting gives, and its kind."""
_RECORDS: Mapping[str, type] = {
    **{"array": SystolicArray, "blocks": Blocks, "vector": VectorUnit},
    **{"energy": Energy, "area": Area},
}
_TABLES: dict[str, dict[str, Kind]] = {
    **{table: get_type_hints(record) for table, record in _RECORDS.items()},
    "blocks": dict.fromkeys(get_type_hints(Blocks), int),
    "vector": {"lanes": int, "rate": Dimension.OPERATIONS_PER_S, "special": int, "inline": bool},
}
"""Records of a machine that are tables of settings: the kind of each field."""
_OPTIONAL_TABLES = ("array", "blocks", "vector")
"""Records that a machine may be without."""
_OPTIONAL: Mapping[str, Setting | None] = {
    **{"reuse": False, "pipelined": False},
    **{"window": 1, "load": None, "outputs": None, "accumulators": None, "pool": None},
    **asdict(VectorUnit()),
}
"""Fields of tables that are said only where they are not this default."""
OF_TECHNOLOGY = ("energy.spm_read_pj_per_byte", "energy.spm_write_pj_per_byte", "energy.leakage_w")
"""Settings of a technology, absent from a machine that names one."""
OF_BANKS = ("energy.spm_read_pj_per_byte", "energy.spm_write_pj_per_byte")
"""Settings of banks, absent from a machine that has some."""
SCRATCHPAD = ("spm", "technology", "banks")
"""Settings of a scratchpad without banks."""
_DOTTED: Mapping[str, Kind] = {
    f"{table}.{field}": kind for table, kinds in _TABLES.items() for field, kind in kinds.items()
}
TYPED: Mapping[str, str] = {"throughput": "operations_per_s", "energy.mac_pj": "mac_pj"}
"""Settings that products of an element type may have of their own, and the figure of each."""
UNTYPED: Mapping[str, Kind] = {
    **{key: kind for key, (_, kind) in _OWN.items()},
    **_DOTTED,
    "technology": str,
    "banks": int,
    BANK: str,
    BYPASS: str,
    **dict.fromkeys(COMPRESSION, float),
}
"""Kind of every setting: a quantity of a dimension, a count, a number, a text or a switch."""
KINDS: Mapping[str, Kind] = {
    **UNTYPED,
    **{
        f"{key}.{each.name}": UNTYPED[key]
        for key in TYPED
        for each in ELEMENT_TYPES.values()
        if each.kind in (ElementKind.FLOAT, ElementKind.INTEGER)
    },
}
"""The same, and settings of products by element type."""


def require_setting(key: str, where: str = "") -> None:
    """Refuse unknown settings of a machine; ``where`` begins the error.

    Raises
    ------
    InputError
        With the nearest there is.
    """
    if key in KINDS:
        return
    lead = f"{where}: " if where else ""
    base, _, name = key.rpartition(".")
    if base in TYPED:
        raise InputError(f"{lead}{key}: {unknown('element type', name, ELEMENT_TYPES)}")
    raise InputError(f"{lead}{unknown('machine setting', key, UNTYPED)}")


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
    read = Reader(settings, where)
    for key in settings:
        require_setting(key, where)
    if BANK in settings:
        return _with_banks(settings, where)
    return _with_memory(read, _bare(read))


def _with_banks(settings: Settings, where: str) -> Machine:
    for key in (key for key in SCRATCHPAD if key in settings):
        raise InputError(f"{where}: {key}: banks make up the scratchpad; leave one of them out")
    text = Reader(settings, where).text(BANK)
    banks = read_banks(split_banks(text), f"{where}: {BANK}")
    own = {"energy.leakage_w": 0.0, **settings, **dict.fromkeys(OF_BANKS, 0.0)}
    own["spm"] = sum(bank.spm_bytes for bank in banks)
    machine = _bare(Reader(own, where))
    # with_banks clears the leakage, which here is a setting of all but the scratchpad.
    return replace(with_banks(machine, banks), energy=machine.energy)


def _bare(read: Reader) -> Machine:
    """Return the machine with its scratchpad as it is; settings of a technology are left at 0."""
    # They come from the technology later, and are 0 until then.
    said = OF_TECHNOLOGY if "technology" in read.table else ()
    records: dict[str, Any] = {
        table: _record(read, table, [field for field in kinds if f"{table}.{field}" not in said])
        for table, kinds in _TABLES.items()
        if table not in _OPTIONAL_TABLES or any(key.startswith(f"{table}.") for key in read.table)
    }
    given = [key for key in _OWN if key != "page" or key in read.table]
    own: dict[str, Any] = {_OWN[key][0]: read.setting(key, _OWN[key][1]) for key in given}
    own.setdefault("page_bytes", default_page(own["spm_bytes"]))
    listed = read.text(BYPASS).split(",") if BYPASS in read.table else ()
    bypass = read_bypass(listed, f"{read.where}: {BYPASS}")
    compression = _compression(read)
    return Machine(**own, **records, types=_types(read), bypass=bypass, compression=compression)


def read_bypass(names: Iterable[str], where: str) -> tuple[str, ...]:
    """Return kinds of tensors in their order; ``where`` names their source.

    Raises
    ------
    InputError
        A name that is no kind.
    """
    kinds = list(TensorKind)
    given = {name.strip() for name in names} - {""}
    for name in sorted(given.difference(kinds)):
        raise InputError(f"{where}: {unknown('kind', name, kinds)}")
    return tuple(str(kind) for kind in kinds if kind in given)


def _compression(read: Reader) -> tuple[Compression, ...]:
    """Return the ratios of kinds of tensors; 1 is none."""
    # The decimal as it is written, not its nearest binary number.
    given = {key: Fraction(str(read.number(key))) for key in COMPRESSION if key in read.table}
    try:
        return tuple(
            Compression(kind=COMPRESSION[key], ratio=ratio)
            for key, ratio in given.items()
            if ratio != 1
        )
    except InputError as error:
        raise InputError(f"{read.where}: {error}") from None


def _types(read: Reader) -> tuple[TypedFigures, ...]:
    """Return the figures of element types, in the order of their names."""
    figures: dict[str, dict[str, Any]] = {}
    for key, figure in TYPED.items():
        for name in ELEMENT_TYPES:
            if f"{key}.{name}" in read.table:
                value = read.setting(f"{key}.{name}", UNTYPED[key])
                figures.setdefault(name, {})[figure] = value
    return tuple(TypedFigures(element_type=name, **figures[name]) for name in sorted(figures))


def _record(read: Reader, table: str, fields: Iterable[str]) -> object:
    given = [f for f in fields if f"{table}.{f}" in read.table or f not in _OPTIONAL]
    found = {field: read.setting(f"{table}.{field}", _TABLES[table][field]) for field in given}
    try:
        return _RECORDS[table](**found)
    except InputError as error:
        raise InputError(f"{read.where}: {error}") from None


def _with_memory(read: Reader, machine: Machine) -> Machine:
    banks = read.count("banks") if "banks" in read.table else None
    if "technology" not in read.table:
        if banks is None:
            return machine
        raise InputError(f"{read.where}: banks = {banks}: of which technology? name one as well")
    from spmopt.hardware.technologies import load_technology

    name = read.text("technology")
    return with_technology(machine, load_technology(name), banks=banks, named=name)


def to_settings(machine: Machine) -> dict[str, Setting]:
    """Return every setting of ``machine``, quantities as plain numbers in base units.

    Raises
    ------
    InputError
        A bank with figures that are of no technology known here.
    """
    settings: dict[str, Setting] = {k: getattr(machine, field) for k, (field, _) in _OWN.items()}
    for key in _DOTTED:
        table, _, name = key.partition(".")
        if (record := getattr(machine, table)) is not None:
            value = getattr(record, name)
            if name not in _OPTIONAL or value != _OPTIONAL[name]:
                settings[key] = value
    for typed in machine.types:
        own = {f"{key}.{typed.element_type}": getattr(typed, f) for key, f in TYPED.items()}
        settings |= {key: value for key, value in own.items() if value is not None}
    if machine.bypass:
        settings[BYPASS] = ",".join(machine.bypass)
    settings |= {f"compression.{each.kind}": float(each.ratio) for each in machine.compression}
    if machine.banks:
        left_out = ("spm", *OF_BANKS)
        own = {key: value for key, value in settings.items() if key not in left_out}
        return {**own, BANK: banks_text(machine)}
    memory = machine.memory
    if memory is None:
        return settings
    # The DRAM's own rate: the technology may slow the channel again on reading.
    settings |= {"technology": memory.technology, "bandwidth": memory.dram_bytes_per_s}
    if memory.banks is not None:
        settings["banks"] = memory.banks
    return {key: value for key, value in settings.items() if key not in OF_TECHNOLOGY}


_UNITS: Mapping[object, str] = {
    Dimension.BYTES_PER_S: "B/s",
    Dimension.OPERATIONS_PER_S: "FLOP/s",
    Dimension.HERTZ: "Hz",
}


_FLOATS = 10**300
"""Numbers up to which they are shown as floats."""


def show_setting(key: str, value: Setting) -> str:
    """A value of the setting ``key``, in base units, with its unit: ``616 GB/s``, ``8 MiB``."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    kind = KINDS.get(key)
    if kind is Dimension.BYTES:
        return size(int(value))
    if abs(value) > _FLOATS:  # of a damaged storage: no machine has it
        return f"{Decimal(value):.6g}"
    return si(value, _UNITS[kind]) if kind in _UNITS else f"{value:.6g}"
