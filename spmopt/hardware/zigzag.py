"""Hardware files of ZigZag and Stream as machines.

Both (KU Leuven, github.com/KULeuven-MICAS) describe a core by its memories and its operational
array in YAML; a file of Stream names the files of several cores. They are interpreted by their
documentation: sizes are in bits, bandwidths in bits a cycle, ``r_cost`` and ``w_cost`` in
picojoules of all bits of a cycle. A machine here has one scratchpad below the DRAM: the largest
memory on chip. Fields without a counterpart are listed, never dropped silently.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from spmopt.core.errors import InputError, require_package
from spmopt.core.problem import TensorKind
from spmopt.core.validation import is_file, read_yaml

CLOCK_HZ = 10**9
"""Neither has a clock; times in seconds are by this one."""
_OPERANDS = {"I1": "activations", "O": "results"}


@dataclass(frozen=True, kw_only=True)
class HardwareFile:
    """Machine of a file.

    Attributes
    ----------
    settings
        Those of a machine.
    left_out
        Fields without a counterpart, in words.
    """

    settings: Mapping[str, str | int | float | bool]
    left_out: tuple[str, ...]


def read_hardware(path: Path) -> HardwareFile:
    """Read a hardware file of ZigZag or Stream.

    Raises
    ------
    InputError
        It cannot be read, is no such file, or has no DRAM or no memory below it.
    """
    where, left_out = f"machine {path}", list[str]()
    document = _read(path)
    try:
        if "cores" in document:
            document = _of_cores(document, path, left_out)
        settings = _settings(document, where, left_out)
    except (KeyError, TypeError, AttributeError, ValueError, IndexError, ArithmeticError):
        raise InputError(f"{where}: is no hardware file of ZigZag or Stream") from None
    return HardwareFile(settings={"name": path.stem, **settings}, left_out=tuple(left_out))


def _read(path: Path) -> Any:
    require_package("yaml", f"machine {path}")
    document = read_yaml(path, f"machine {path}")
    if not isinstance(document, dict):
        raise InputError(f"machine {path}: is no hardware file of ZigZag or Stream")
    return document


def _of_cores(document: Any, path: Path, left_out: list[str]) -> Any:
    """Return the first core with an array, above the memories of the core that is off chip."""
    cores = {number: _read(_core(path, name)) for number, name in document["cores"].items()}
    off_chip = cores.pop(document["offchip_core_id"])
    arrays = [number for number, core in cores.items() if _is_array(core)]
    first = arrays[0]
    if len(cores) > 1:
        others = ", ".join(str(core.get("name")) for n, core in cores.items() if n != first)
        left_out.append(f"cores beside {cores[first].get('name')} ({others}) and links among them")
    shared = [
        float(link["bandwidth"])
        for link in document.get("core_connectivity", [])
        if {first, document["offchip_core_id"]} <= {*link["cores"]}
    ]
    memories = {**cores[first]["memories"], **off_chip["memories"]}
    return {**cores[first], "memories": memories, "link": min(shared, default=None)}


def _core(path: Path, name: str) -> Path:
    """Return the file of a core: one that is named alone may be in a folder of cores."""
    below = path.parent / "cores" / name
    return below if Path(name).name == name and is_file(below) else path.parent / name


def _is_array(core: Any) -> bool:
    sizes = core["operational_array"]["sizes"]
    return len(sizes) > 1 and prod(sizes) > 1


def _settings(document: Any, where: str, left_out: list[str]) -> dict[str, Any]:
    memories, array = dict(document["memories"]), document["operational_array"]
    # Both formats list memories from the array outwards: the DRAM comes last.
    dram_name, dram = memories.popitem()
    every = {*array["dimensions"]}
    shared = {k: m for k, m in memories.items() if every <= {*m["served_dimensions"]}}
    if not shared:
        raise InputError(f"{where}: has no memory on chip that serves the whole array")
    name = max(shared, key=lambda each: shared[each]["size"])
    spm = shared[name]
    registers = {k: m for k, m in memories.items() if k not in shared}
    _leave_out(memories, name, left_out)
    read, write = _bits(dram, "read"), _bits(dram, "write")
    both = [bits for bits in (min(read, write), document.get("link")) if bits is not None]
    rows, *columns = (int(size) for size in array["sizes"])
    if len(columns) > 1:
        flat = f"{rows} x {prod(columns)}"
        left_out.append(f"an array of {len(columns) + 1} dimensions (taken as {flat})")
    source = f"{document.get('name')}, a hardware file of ZigZag or Stream"
    return {
        "spm": int(spm["size"]) // 8,
        "bandwidth": round(min(both) / 8 * CLOCK_HZ),
        "clock": CLOCK_HZ,
        # A shared port moves in one direction at a time.
        "duplex": not any(port["type"] == "read_write" for port in dram["ports"]),
        "array.rows": rows,
        "array.columns": prod(columns),
        "array.dataflow": _dataflow(registers, left_out),
        "array.reuse": True,
        # I2 are weights: a memory that does not serve them cannot hold any.
        **({} if "I2" in spm["operands"] else {"bypass": TensorKind.WEIGHT}),
        "energy.mac_pj": float(array["unit_energy"]),
        "energy.dram_pj_per_byte": _cost(dram, left_out, dram_name),
        # r_cost is for all bits of a cycle: times 8 over the bits gives a byte.
        "energy.spm_read_pj_per_byte": 8 * float(spm["r_cost"]) / _bits(spm, "read"),
        "energy.spm_write_pj_per_byte": 8 * float(spm["w_cost"]) / _bits(spm, "write"),
        "energy.source": source,
        "source": f"{source}; clock of 1 GHz assumed",
    }


def _leave_out(memories: Mapping[str, Any], spm: str, left_out: list[str]) -> None:
    """List memories but the scratchpad, operands that it does not hold, and other figures."""
    others = [name for name in memories if name != spm]
    if others:
        left_out.append(f"memories {', '.join(others)} (one scratchpad is modeled: {spm})")
    # A tensor is the result of one layer and the input of the next, but weights are weights.
    barred = [words for key, words in _OPERANDS.items() if key not in memories[spm]["operands"]]
    if barred:
        left_out.append(f"that {spm} does not hold {' or '.join(barred)} (here it may)")
    left_out.append("the clock (1 GHz is assumed)")
    left_out.append("bandwidth, latency and area of memories on chip, and areas of units")


def _bits(memory: Any, direction: str) -> float:
    """Return the bits a cycle of all ports of a direction."""
    ports = [port for port in memory["ports"] if port["type"] in (direction, "read_write")]
    return sum(float(port["bandwidth_max"]) for port in ports)


def _cost(dram: Any, left_out: list[str], name: str) -> float:
    """Return picojoules a byte of the DRAM; here reads and writes are alike."""
    read = 8 * float(dram["r_cost"]) / _bits(dram, "read")
    write = 8 * float(dram["w_cost"]) / _bits(dram, "write")
    if read != write:
        costs = f"{read:g} pJ to read a byte and {write:g} to write one"
        left_out.append(f"that {name} takes {costs} (the mean is taken)")
    return (read + write) / 2


def _dataflow(registers: Mapping[str, Any], left_out: list[str]) -> str:
    """Return the dataflow of the operand that units keep most of."""
    bits = {"ws": 0, "is": 0, "os": 0}
    for memory in registers.values():
        for key, flow in (("I2", "ws"), ("I1", "is"), ("O", "os")):
            if key in memory["operands"] and memory["size"] > bits[flow]:
                bits[flow] = memory["size"]
    flow = max(bits, key=lambda each: bits[each])
    left_out.append(f"mappings (the array is taken as {flow}, by the registers of its units)")
    return flow
