"""Instances as JSON: one array per column, so that 20,000 operations stay small and quick."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, fields

from spmopt.core.errors import InputError
from spmopt.core.instance import Instance, Mode, Operand, Operation, Tensor, TensorKind
from spmopt.core.machine import (
    AREA_FIGURES,
    ENERGY_FIGURES,
    Area,
    Bank,
    Energy,
    Machine,
    Memory,
    SystolicArray,
)
from spmopt.io.document import Json, body, header
from spmopt.io.fields import Fields

_TENSOR = tuple(field.name for field in fields(Tensor))
_OPERATION = ("name", "kind", "reads", "writes", "predecessors")
_MODE = ("compute_cycles", "scratch_bytes", "macs", "spm_read_bytes", "spm_write_bytes")
_OPERAND = ("passes", "stationary")
_BANKS = "banks"  # left out where there are none
_BANK = tuple(field.name for field in fields(Bank))
_LATER = ("area", "memory", _BANKS)
"""Fields of a machine that files written before there were technologies lack."""
_MACHINE = tuple(field.name for field in fields(Machine) if field.name not in _LATER)
_BODY = ("name", "lowering", "source", "machine", "tensors", "operations", "modes")


def encode_instance(instance: Instance) -> Json:
    """Return ``instance`` as a JSON document (schema ``instance.schema.json``)."""
    modes = [mode for operation in instance.operations for mode in operation.modes]
    of = [i for i, operation in enumerate(instance.operations) for _ in operation.modes]
    operands: dict[str, object] = {
        name: [[getattr(operand, name) for operand in mode.operands] for mode in modes]
        for name in _OPERAND
    }
    return {
        **header("instance"),
        "name": instance.name,
        "lowering": instance.lowering,
        "source": instance.source,
        "machine": encode_machine(instance.machine),
        "tensors": _columns(instance.tensors, _TENSOR),
        "operations": _columns(instance.operations, _OPERATION),
        "modes": {"operation": of, **_columns(modes, _MODE), **operands},
    }


def decode_instance(value: object, where: str = "") -> Instance:
    """Read what :func:`encode_instance` wrote; ``where`` is its path in a larger document.

    Raises
    ------
    InputError
        Not an instance of this version, or one that contradicts itself.
    """
    document = body(value, where, "instance", _BODY)
    return Instance(
        name=document.text("name"),
        lowering=document.text("lowering"),
        source=document.text("source"),
        machine=_machine(document.object("machine", _MACHINE, _LATER)),
        tensors=_tensors(document.object("tensors", _TENSOR)),
        operations=_operations(document),
    )


def encode_machine(machine: Machine) -> dict[str, object]:
    """Return ``machine`` as a JSON object."""
    document = asdict(machine)
    if not machine.banks:
        del document[_BANKS]
    return document


def _columns(records: Sequence[object], names: Sequence[str]) -> dict[str, object]:
    return {name: [getattr(record, name) for record in records] for name in names}


def _machine(f: Fields) -> Machine:
    return Machine(
        name=f.text("name"),
        spm_bytes=f.whole("spm_bytes"),
        dram_bytes_per_s=f.whole("dram_bytes_per_s"),
        clock_hz=f.whole("clock_hz"),
        operations_per_s=f.whole("operations_per_s"),
        dma_setup_cycles=f.whole("dma_setup_cycles"),
        page_bytes=f.whole("page_bytes"),
        duplex=f.flag("duplex"),
        array=f.optional("array", lambda name: _array(f.object(name, SystolicArray.__slots__))),
        energy=_energy(f.object("energy", ENERGY_FIGURES, ("source",))),
        area=f.optional("area", lambda name: _area(f.object(name, Area.__slots__))) or Area(),
        memory=f.optional("memory", lambda name: _memory(f.object(name, Memory.__slots__))),
        source=f.text("source"),
        banks=tuple(map(_bank, f.optional(_BANKS, lambda name: f.objects(name, _BANK)) or ())),
    )


def _bank(f: Fields) -> Bank:
    return Bank(
        spm_bytes=f.whole("spm_bytes"),
        read_pj_per_byte=f.real("read_pj_per_byte"),
        write_pj_per_byte=f.real("write_pj_per_byte"),
        leakage_w=f.real("leakage_w"),
        read_bytes_per_s=f.optional("read_bytes_per_s", f.whole),
        write_bytes_per_s=f.optional("write_bytes_per_s", f.whole),
        technology=f.text("technology"),
        source=f.text("source"),
        area_mm2=f.optional("area_mm2", f.real),
    )


def _array(f: Fields) -> SystolicArray:
    return SystolicArray(
        rows=f.whole("rows"), columns=f.whole("columns"), dataflow=f.text("dataflow")
    )


def _energy(f: Fields) -> Energy:
    return Energy(
        **{name: f.real(name) for name in ENERGY_FIGURES}, source=f.optional("source", f.text) or ""
    )


def _area(f: Fields) -> Area:
    return Area(**{name: f.real(name) for name in AREA_FIGURES}, source=f.text("source"))


def _memory(f: Fields) -> Memory:
    return Memory(
        technology=f.text("technology"),
        source=f.text("source"),
        basis=f.text("basis"),
        spm_bytes=f.whole("spm_bytes"),
        area_mm2=f.real("area_mm2"),
        dram_bytes_per_s=f.whole("dram_bytes_per_s"),
        banks=f.optional("banks", f.whole),
        read_bytes_per_s=f.optional("read_bytes_per_s", f.whole),
        write_bytes_per_s=f.optional("write_bytes_per_s", f.whole),
    )


def _tensors(f: Fields) -> tuple[Tensor, ...]:
    columns = (
        f.texts("name"),
        f.wholes("size_bytes"),
        f.choices("kind", TensorKind),
        f.flags("in_dram"),
        f.flags("keep"),
    )
    _same_length(f, columns)
    return tuple(
        Tensor(name=name, size_bytes=size, kind=kind, in_dram=in_dram, keep=keep)
        for name, size, kind, in_dram, keep in zip(*columns, strict=True)
    )


def _operations(document: Fields) -> tuple[Operation, ...]:
    f = document.object("operations", _OPERATION)
    columns = (
        f.texts("name"),
        f.texts("kind"),
        f.rows("reads", int),
        f.rows("writes", int),
        f.rows("predecessors", int),
    )
    _same_length(f, columns)
    modes = _modes(document.object("modes", ("operation", *_MODE, *_OPERAND)), len(columns[0]))
    return tuple(
        Operation(
            name=name,
            kind=kind,
            reads=reads,
            writes=writes,
            predecessors=predecessors,
            modes=tuple(own),
        )
        for name, kind, reads, writes, predecessors, own in zip(*columns, modes, strict=True)
    )


def _modes(f: Fields, operations: int) -> list[list[Mode]]:
    """Modes of each operation, in the order of the file."""
    of = f.wholes("operation")
    figures = tuple(f.wholes(name) for name in _MODE)
    passes, stationary = f.rows("passes", int), f.rows("stationary", bool)
    _same_length(f, (of, *figures, passes, stationary))
    modes: list[list[Mode]] = [[] for _ in range(operations)]
    for row, operation in enumerate(of):
        if not 0 <= operation < operations:
            raise f.wrong("operation", f"0 to {operations - 1}, not {operation}")
        if len(passes[row]) != len(stationary[row]):
            raise f.wrong("stationary", "as long as passes in every row")
        operands = zip(passes[row], stationary[row], strict=True)
        modes[operation].append(
            Mode(
                **{name: column[row] for name, column in zip(_MODE, figures, strict=True)},
                operands=tuple(Operand(passes=p, stationary=s) for p, s in operands),
            )
        )
    return modes


def _same_length(f: Fields, columns: Sequence[Sequence[object]]) -> None:
    if len({len(column) for column in columns}) > 1:
        raise InputError(f"{f.where}: columns differ in length")
