"""Machines by name or path, with single settings replaced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.resources.abc import Traversable
from os import PathLike
from pathlib import Path

from spmopt.core.errors import InputError, unknown
from spmopt.core.machine import Machine
from spmopt.core.plugins import Registry
from spmopt.core.units import Dimension, parse_quantity, si
from spmopt.core.validation import exists, read_toml
from spmopt.hardware.reader import FOLDER, no_toml, preset_files
from spmopt.hardware.scratchpad import default_page
from spmopt.hardware.settings import (
    BANK,
    BYPASS,
    KINDS,
    OF_BANKS,
    OF_TECHNOLOGY,
    SCRATCHPAD,
    TYPED,
    Setting,
    Settings,
    from_folder,
    from_settings,
    join_banks,
    require_units,
    split_banks,
    to_settings,
)

SUFFIXES = (".yaml", ".yml")
"""Of hardware files of ZigZag and Stream."""
_SOURCED = ("energy", "area")
"""Tables of figures that have a source."""


def _machine(name: str, found: object) -> Machine:
    """Machine that a package or a user gave: it, a TOML file, settings, a function."""
    given = found() if callable(found) else found
    if isinstance(given, Machine):
        return given if given.name == name else replace(given, name=name)
    if isinstance(given, Mapping):
        own = _find_untyped(_flat(dict(given), "", name))
    elif isinstance(given, str | PathLike):
        own = _own(str(given))
    else:
        raise InputError(f"machine {name}: is none, nor a TOML file or settings of one")
    return _read({**own, "name": name}, name)


MACHINES: Registry[Machine] = Registry(group="spmopt.machines", make=_machine, own={})
"""Machines of packages."""


def list_left_out(name_or_path: str) -> str | None:
    """List fields of a hardware file without a counterpart in a machine; None where it is none."""
    if not name_or_path.endswith(SUFFIXES):
        return None
    from spmopt.hardware.zigzag import read_hardware

    said = "; ".join(read_hardware(Path(name_or_path)).left_out)
    return f"machine {name_or_path}: has no counterpart here: {said}"


def names() -> list[str]:
    """Return the names of the machines that come with the program, sorted."""
    return sorted(preset_files("machine"))


def has_default_energies(machine: Machine) -> bool:
    """Return whether energies that a machine does not state are those of ``defaults.toml``."""
    source = _settings(FOLDER / "defaults.toml", "defaults.toml")["energy.source"]
    return machine.energy.source.startswith(str(source))


def load_machine(name_or_path: str, overrides: Settings | None = None) -> Machine:
    """Return a preset, or a machine from a TOML file, with ``overrides`` in place of its settings.

    Parameters
    ----------
    name_or_path
        One of :func:`names`, or a path that ends in ``.toml``; in ``.yaml`` a hardware file of
        ZigZag or Stream.
    overrides
        Settings by key (``spm``, ``bandwidth``, ..., ``energy.mac_pj``).

    Raises
    ------
    InputError
        No such machine or file, not TOML, or a setting that cannot be used.
    """
    known = None if name_or_path in preset_files("machine") else MACHINES.find(name_or_path)
    if known is not None:
        return override(known, overrides or {})
    own = _own(name_or_path)
    # The file is checked by itself first, so that an error names its true origin.
    machine = _read(own, name_or_path)
    # A page that the file says stays, even if it is that of the size before.
    page = {"page": own["page"]} if overrides and "page" in own else {}
    return override(machine, {**page, **(overrides or {})})


def _read(own: dict[str, Setting], name: str) -> Machine:
    """Return the machine of its own settings, and of defaults for the others."""
    # Before the defaults are merged, which give every figure.
    _require_apart(own, own, f"machine {name}")
    settings = _merge(_settings(FOLDER / "defaults.toml", "defaults.toml"), own)
    if "throughput" in own:
        return _require_one_rate(from_settings(settings, f"machine {name}"), f"machine {name}")
    if {"array.rows", "array.columns", "clock"} <= own.keys():
        # A placeholder: the setting is required, and replaced by the rate of the array.
        return _at_rate_of_array(from_settings(settings | {"throughput": 1}, f"machine {name}"))
    return from_settings({**_slowest(own, name), **settings}, f"machine {name}")


def _slowest(own: Settings, name: str) -> dict[str, Setting]:
    """Return the slowest throughput of all types: other work is no faster."""
    kind, where = Dimension.OPERATIONS_PER_S, f"machine {name}"
    rates = [
        parse_quantity(str(value), kind, f"{where}: {key}")
        for key, value in own.items()
        if key.startswith("throughput.")
    ]
    return {"throughput": min(rates)} if rates else {}


def override(machine: Machine, overrides: Settings) -> Machine:
    """Return ``machine`` with some of its settings replaced, as the command line does.

    With an array, the rate follows it and the clock wherever ``overrides`` change these. Banks
    replace any scratchpad: a leakage that the machine had without banks is taken for its
    scratchpad's.

    Raises
    ------
    InputError
        A setting that cannot be used; the size of a scratchpad that banks make up; a throughput
        that contradicts the array (:class:`RateError`).
    """
    if not overrides:
        return machine
    for key in SCRATCHPAD:
        if machine.banks and key in overrides:
            raise InputError(
                f"machine option: {key}: banks make up the scratchpad; give --bank instead"
            )
    banks = () if BANK in overrides else machine.banks
    # Banks of unknown technologies have no text: keep them aside as records.
    base = to_settings(replace(machine, banks=()))
    if machine.page_bytes == default_page(machine.spm_bytes):
        # Nobody chose it: it follows the scratchpad.
        del base["page"]
    if BANK in overrides:
        # With banks before, the leakage is that of all else, and stays.
        gone = SCRATCHPAD if machine.banks else (*SCRATCHPAD, "energy.leakage_w")
        base = {key: value for key, value in base.items() if key not in gone}
    # The speed of the vector unit is given once: a new form replaces the other.
    if {"vector.lanes", "vector.rate"} & overrides.keys():
        base = {key: v for key, v in base.items() if key not in ("vector.lanes", "vector.rate")}
    settings = _merge(base, overrides)
    _require_apart(overrides, settings, "machine option")
    if any(key.startswith("array.") for key in overrides):
        settings.setdefault("array.dataflow", "os")
    changed = from_settings(settings, "machine option")
    if "throughput" in overrides:
        _require_one_rate(changed, "machine option")
    # Only if the array or clock changed: a machine may have another rate without an array.
    elif _array_rate(changed) != _array_rate(machine):
        changed = _at_rate_of_array(changed)
    # Settings have no key for costs, so that to_settings loses them.
    changed = replace(changed, costs=machine.costs)
    return replace(changed, banks=banks) if banks else changed


class RateError(InputError):
    """A machine with another throughput than its array's."""


def _require_one_rate(machine: Machine, where: str) -> Machine:
    """Return ``machine`` if its throughput equals its array's, up to rounding."""
    array = machine.array
    if array is None or machine.has_rate_of_array:
        return machine
    own = si(array.operations_per_s(machine.clock_hz), "FLOP/s")
    raise RateError(
        f"{where}: throughput is {si(machine.operations_per_s, 'FLOP/s')}, but the array of "
        f"{array.rows} x {array.columns} does {own} at {si(machine.clock_hz, 'Hz')}; "
        "leave throughput out, or change one of them"
    )


def _array_rate(machine: Machine) -> int | None:
    return None if machine.array is None else machine.array.operations_per_s(machine.clock_hz)


def _at_rate_of_array(machine: Machine) -> Machine:
    """Return ``machine``, as fast as its array if it has one."""
    rate = _array_rate(machine)
    return machine if rate is None else replace(machine, operations_per_s=rate)


def _merge(settings: Settings, given: Settings) -> dict[str, Setting]:
    """Return ``settings`` with those ``given`` in their place; sources say which figures were."""
    merged = {**settings, **given}
    for table in _SOURCED:
        source, mark = f"{table}.source", "; as set: "
        changed = [key for key in given if key.startswith(f"{table}.") and key != source]
        if changed and source not in given:
            # A source that was marked before gets one longer list, not a second mark.
            text, _, before = str(settings[source]).partition(mark)
            keys = dict.fromkeys([*before.split(", "), *changed] if before else changed)
            merged[source] = f"{text}{mark}{', '.join(keys)}"
    return merged


def _require_apart(given: Settings, settings: Settings, where: str) -> None:
    """Raise where a figure is given that the technology says, or that banks say."""
    for key in OF_BANKS:
        if key in given and BANK in settings:
            raise InputError(f"{where}: {key}: the banks say it; leave one out")
    for key in OF_TECHNOLOGY:
        if key in given and "technology" in settings:
            raise InputError(
                f"{where}: {key}: technology {settings['technology']} says it; leave one out"
            )


def _own(name_or_path: str) -> dict[str, Setting]:
    presets = preset_files("machine")
    if name_or_path in presets:
        return {"name": name_or_path} | _settings(presets[name_or_path], name_or_path)
    if name_or_path.endswith(SUFFIXES):
        from spmopt.hardware.zigzag import read_hardware

        return dict(read_hardware(Path(name_or_path)).settings)
    if not name_or_path.endswith(".toml"):
        if exists(name_or_path):
            raise no_toml("machine", Path(name_or_path))
        raise unknown("machine", name_or_path, [*names(), *MACHINES.foreign()])
    path = Path(name_or_path)
    settings = {"name": path.stem} | _settings(path, name_or_path)
    technology = settings.get("technology")
    if isinstance(technology, str) and technology.endswith(".toml"):
        settings["technology"] = str(path.parent / technology)
    if BANK in settings:
        settings[BANK] = from_folder(str(settings[BANK]), path.parent)
    return settings


def _settings(source: Traversable, where: str) -> dict[str, Setting]:
    """Return a TOML file as flat settings; a bare number is no quantity: 25 may mean 25 GB/s."""
    found = _find_untyped(_flat(read_toml(source, f"machine {where}"), "", where))
    for key, value in found.items():
        kind, bare = KINDS.get(key), type(value) in (int, float)
        if isinstance(kind, Dimension) and bare:
            parse_quantity(str(value), kind, f"machine {where}: {key}")
    return found


def _find_untyped(settings: dict[str, Setting]) -> dict[str, Setting]:
    """Return settings in which ``default`` of a table of types, or else fp32, holds for all."""
    for key in TYPED:
        for name in ("default", "fp32"):
            if key not in settings and f"{key}.{name}" in settings:
                settings[key] = settings.pop(f"{key}.{name}")
    return settings


def _flat(tables: dict[str, object], prefix: str, where: str) -> dict[str, Setting]:
    settings: dict[str, Setting] = {}
    for key, value in tables.items():
        if isinstance(value, dict) and (not prefix or prefix + key in TYPED):
            settings |= _flat(value, f"{prefix}{key}.", where)
        elif prefix + key == BANK:
            place = f"machine {where}: {BANK}"
            joined = join_banks(_texts(value, place, ("1MB:nvsim-sram", "4MB:nvsim-stt")))
            require_units(split_banks(joined), place)
            settings[key] = joined
        elif prefix + key == BYPASS:
            settings[key] = ",".join(_texts(value, f"machine {where}: {BYPASS}", ("weight",)))
        elif isinstance(value, str | int | float):
            settings[prefix + key] = value
        else:
            raise InputError(f"machine {where}: {prefix}{key}: must be a text or a number")
    return settings


def _texts(given: object, where: str, example: Sequence[str]) -> list[str]:
    """Return texts that are given as one or as a list."""
    given = given if isinstance(given, list) else [given]
    texts = [text for text in given if isinstance(text, str)]
    if len(texts) < len(given):
        raise InputError(f"{where}: must be a list of texts, as {list(example)}")
    return texts
