"""Spaces by name: those that come with the program, files, and one around any machine."""

from __future__ import annotations

from pathlib import Path

from spmopt.core.errors import ArgumentError, InputError, unknown
from spmopt.core.machine import Machine
from spmopt.hardware.machines import load_machine
from spmopt.search.axes import SpaceAxis
from spmopt.search.space import DEFAULT_MACHINE, Space, read_space

AROUND = "around"
"""Name of the default space, and of its study."""
_FOLDER = Path(__file__).with_name("presets")
_SIZES = (0.25, 0.5, 1, 2, 4)
_RATES = (0.5, 1, 2)


def with_spaces() -> list[str]:
    """Return the names of the spaces that come with the program, sorted."""
    return sorted(path.stem for path in _FOLDER.glob("*.toml"))


def find_space(
    name: str | Path, *, fixed: Machine | None = None, machine: Machine | None = None
) -> Space:
    """Read a space that comes with the program, or a TOML file.

    Parameters
    ----------
    name
        One of :func:`with_spaces`, or a path that ends in ``.toml``.
    fixed
        Machine of a stored problem: the space must name no other.
    machine
        Machine in place of the one that the space names.

    Raises
    ------
    InputError
        No such space, or a file that cannot be used.
    """
    path = Path(name)
    if path.suffix != ".toml":
        known = with_spaces()
        if str(name) not in known:
            raise InputError(f"{unknown('space', str(name), known)}, or name a TOML file")
        path = _FOLDER / f"{name}.toml"
    return read_space(path, fixed, replacement=machine)


def choose_space(name: str | Path | None, machine: str | None, fixed: Machine | None) -> Space:
    """Return the space of a name or file, or the one around a machine; ``fixed`` as above.

    Raises
    ------
    InputError
        No such space or machine, or a machine beside the fixed one.
    """
    if fixed is not None and machine is not None:
        raise ArgumentError("machine", ": a stored problem has its own; leave it out")
    given = None if machine is None else load_machine(machine)
    if name is not None:
        return find_space(name, fixed=fixed, machine=given)
    around = fixed or given or load_machine(DEFAULT_MACHINE)
    return space_around(around, fixed_cycles=fixed is not None)


def space_around(machine: Machine, *, fixed_cycles: bool = False) -> Space:
    """Make the default space: scratchpad, bandwidth and compute below and above a machine.

    Cost is the mean of their ratios to the machine, so that the machine itself costs 1. Compute
    is not varied for a stored problem (``fixed_cycles``).

    Raises
    ------
    InputError
        The sizes of banks that the machine lists do not scale.
    """
    if machine.banks:
        raise InputError(f"machine {machine.name}: lists its banks; describe them in a --space")
    page = machine.page_bytes
    axes = {
        # Whole pages: a part of a page would cost area and never hold data.
        "spm": [max(1, round(machine.spm_bytes * size / page)) * page for size in _SIZES],
        "bandwidth": [round(machine.dram_bytes_per_s * size) for size in _SIZES],
    }
    figures = {"spm_mb": machine.spm_bytes / 1e6, "gbps": machine.dram_bytes_per_s / 1e9}
    array = machine.array
    if not fixed_cycles and array is not None and machine.has_rate_of_array:
        axes["array.rows"] = [max(1, round(array.rows * rate)) for rate in _RATES]
        axes["array.columns"] = [max(1, round(array.columns * rate)) for rate in _RATES]
        figures["pes"] = float(array.rows * array.columns)
    elif not fixed_cycles and array is None and not machine.types:
        axes["throughput"] = [round(machine.operations_per_s * rate) for rate in _RATES]
        figures["tflops"] = machine.operations_per_s / 1e12
    return Space(
        machine=machine,
        axes=tuple(
            SpaceAxis(key=key, choices=tuple(dict.fromkeys(values))) for key, values in axes.items()
        ),
        cost={name: 1 / (len(figures) * value) for name, value in figures.items()},
    )
