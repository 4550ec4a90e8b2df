"""From the options to a machine, and what is to be said of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from spmopt.cli.inputs import overrides
from spmopt.cli.tiling.options import Hardware
from spmopt.core.errors import InputError
from spmopt.core.machine import Machine
from spmopt.hardware.machines import load_machine, override
from spmopt.hardware.settings import Setting
from spmopt.report.quantities import si
from spmopt.tiles.partition import scaled
from spmopt.tiles.scalesim import Config, read_config

_MACHINE = "small-npu"
_SRAMS = 3
_RATE = "throughput"


def machine_of(
    hardware: Hardware, element_bytes: int, cores: int
) -> tuple[Machine, tuple[str, ...]]:
    """All cores together, and notes: the machine named, what a .cfg says, then single settings.

    Raises
    ------
    InputError
        A machine, file or setting that cannot be used, or a rate that has no effect.
    """
    settings = overrides(hardware.changes)
    name = hardware.machine or _MACHINE
    notes: tuple[str, ...] = ()
    if hardware.cfg is None:
        machine = load_machine(name, settings)
    else:
        clock = {key: value for key, value in settings.items() if key == "clock"}
        plain = load_machine(name, clock)
        config = read_config(hardware.cfg)
        machine = override(_configured(config, hardware.cfg, plain, element_bytes), settings)
        if "bandwidth" not in settings:
            notes = _of_bandwidth(config, machine, element_bytes)
    _require_effect(machine, settings, cores)
    machine = scaled(machine, cores)
    return machine, (*notes, *_of_rates(machine, cores))


def as_computing(machine: Machine, cores: int) -> Machine:
    """``machine`` with the rate of its arrays, which products take, where it has some."""
    rate = _array_rate(machine, cores)
    return machine if rate is None else replace(machine, operations_per_s=rate)


def _configured(config: Config, path: Path, machine: Machine, element_bytes: int) -> Machine:
    """SCALE-Sim's three SRAMs are one scratchpad here, and their three interfaces one channel."""
    array = config.array
    settings: dict[str, Setting] = {
        "name": config.name,
        "source": str(path),
        "spm": config.sram_bytes,
        _RATE: array.operations_per_s(machine.clock_hz),
        "array.rows": array.rows,
        "array.columns": array.columns,
        "array.dataflow": array.dataflow,
    }
    if config.words_per_cycle is not None:
        words = _SRAMS * config.words_per_cycle * machine.clock_hz
        settings["bandwidth"] = words * element_bytes
    return override(machine, settings)


def _of_bandwidth(config: Config, machine: Machine, element_bytes: int) -> tuple[str, ...]:
    """Where the bandwidth is from."""
    shown = si(machine.dram_bytes_per_s, "B/s")
    if config.words_per_cycle is not None:
        words = "1 word" if config.words_per_cycle == 1 else f"{config.words_per_cycle} words"
        return (
            f"bandwidth of the .cfg: {_SRAMS} interfaces x {words} a cycle x {element_bytes} bytes "
            f"x {si(machine.clock_hz, 'Hz')} = {shown}, one channel for all",
        )
    unused = "" if config.unused_bandwidth is None else f", Bandwidth ({config.unused_bandwidth})"
    passed = f"{unused} is passed over" if unused else ", and gives none"
    return (
        f"the .cfg has InterfaceBandwidth CALC{passed}: {shown} is that of the machine; write USER "
        "to use it, or give --bandwidth",
    )


def _require_effect(machine: Machine, settings: Mapping[str, Setting], cores: int) -> None:
    """Refuse a rate that nothing is computed at."""
    array = machine.array
    if _RATE in settings and array is not None and cores == 1:
        rate = si(array.operations_per_s(machine.clock_hz), "FLOP/s")
        raise InputError(
            f"--throughput: has no effect, products take the cycles of the {array.rows} x "
            f"{array.columns} array ({rate}); change "
            "--set array.rows=, array.columns= or --clock, or name a machine without an array"
        )


def _of_rates(machine: Machine, cores: int) -> tuple[str, ...]:
    """Additions take the machine's own rate, which need not be that of its arrays."""
    rate = _array_rate(machine, cores)
    if rate is None or cores == 1 or rate == machine.operations_per_s:
        return ()
    return (
        f"products take the arrays' rate, {si(rate, 'FLOP/s')}, additions of partial sums the "
        f"machine's, {si(machine.operations_per_s, 'FLOP/s')}",
    )


def _array_rate(machine: Machine, cores: int) -> int | None:
    return (
        None if machine.array is None else cores * machine.array.operations_per_s(machine.clock_hz)
    )
