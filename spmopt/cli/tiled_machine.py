"""From the options to a machine."""

from __future__ import annotations

from pathlib import Path

from spmopt.cli.inputs import overrides
from spmopt.cli.tiled import Hardware
from spmopt.core.machine import Machine
from spmopt.machines.load import load_machine, override
from spmopt.machines.settings import Setting
from spmopt.tiles.scalesim.config import read_config

_MACHINE = "small-npu"
_SRAMS = 3


def machine_of(hardware: Hardware, element_bytes: int) -> Machine:
    """One core: the machine named, what a .cfg says instead, then single settings."""
    settings = overrides(hardware.changes)
    name = hardware.machine or _MACHINE
    if hardware.cfg is None:
        return load_machine(name, settings)
    clock = {key: value for key, value in settings.items() if key == "clock"}
    return override(_configured(hardware.cfg, load_machine(name, clock), element_bytes), settings)


def _configured(path: Path, machine: Machine, element_bytes: int) -> Machine:
    """SCALE-Sim's three SRAMs are one scratchpad here, and their three interfaces one channel."""
    config = read_config(path)
    array = config.array
    settings: dict[str, Setting] = {
        "name": config.name,
        "source": str(path),
        "spm": config.sram_bytes,
        "throughput": 2 * array.rows * array.columns * machine.clock_hz,
        "array.rows": array.rows,
        "array.columns": array.columns,
        "array.dataflow": array.dataflow,
    }
    if config.words_per_cycle is not None:
        words = _SRAMS * config.words_per_cycle * machine.clock_hz
        settings["bandwidth"] = words * element_bytes
    return override(machine, settings)
