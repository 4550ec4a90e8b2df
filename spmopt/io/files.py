"""Problems, schedules and results as versioned, lossless JSON documents and files.

A problem has one array per column, so that 20,000 operations stay small and quick. A result
stands alone: the verifier needs nothing else to check schedule and bound.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import cache
from operator import attrgetter
from pathlib import Path
from types import GenericAlias
from typing import Any, TypeVar

from spmopt.core.errors import InputError
from spmopt.core.filetypes import kind_of_file
from spmopt.core.machine import Area, Machine, VectorUnit
from spmopt.core.objective import REPLAY
from spmopt.core.operation import Operand, Operation, OpMapping
from spmopt.core.problem import Problem, Tensor
from spmopt.core.result import Result, Status
from spmopt.core.schedule import Schedule
from spmopt.core.solution import Solution
from spmopt.core.validation import read_json
from spmopt.io.codec import Json, decode, encode, join, require_fields
from spmopt.io.columns import columns, columns_of, document_of, rows
from spmopt.io.renames import FORMATS, rename_fields

T = TypeVar("T")
VERSION = 5
"""Version of every format that is written; older files are read as well."""
_TAKEN_BY = {
    "spmopt-problem": "; a problem is for 'spmopt solve' and 'spmopt compare'",
    "spmopt-result": "; a result is for 'spmopt verify' and 'spmopt explain'",
}

_WANTED = {
    "problem": "a problem (.json), as 'spmopt problem -o' writes it",
    "result": "a result file (.json), as 'spmopt solve -o' writes it",
}


_Tensors = document_of("Tensors", **columns_of(Tensor))
_Operations = document_of("Operations", **columns_of(Operation, without="mappings"))
_Operands = {name: GenericAlias(list, kind) for name, kind in columns_of(Operand).items()}
_OpMappings = document_of(
    "OpMappings", operation=list[int], **columns_of(OpMapping, without="operands"), **_Operands
)
_Problem = document_of(
    "Problem",
    **{"name": str, "mapper": str, "source": str, "machine": Machine},
    tensors=_Tensors,
    operations=_Operations,
    mappings=_OpMappings,
)
"""Layout of a problem in a file: one list for each field of its records."""
_RESULT = tuple(f.name for f in fields(Result) if f.metadata.get("stored", True))
_FORMER_CLASSES = (
    "all schedules in the listed order",
    "whole tensors, between two uses kept in full or dropped in full",
)
"""Classes of bounds in files of former versions, whose proofs nothing checks any more."""
_OF_FUSION = ("fusion_bound", "fusion")
"""Fields of fused results only."""


OLD_LOWERINGS: Mapping[str, str] = {"tiled": "panel"}
"""Lowerings of today by the names that files up to version 2 call them; ``tiled`` is new since."""


def _objective_lacks(old: Json) -> Json:
    return {"replayed": old.get("name") == REPLAY.name}


_LACKING: Mapping[str, Mapping[str, Callable[[Json], Json]]] = {
    "problem": {
        "machine": lambda _: {"area": encode(Area()), "memory": None},
        "machine.energy": lambda _: {"source": ""},
    },
    "schedule": {},
    "result": {
        "": lambda _: {"tolerance": None},
        "objective": _objective_lacks,
        "certificate": lambda _: {"order": None},
        "certificate.objective": _objective_lacks,
        "totals": lambda _: {"dma_commands": None, "dma_descriptors": None},
    },
}
"""Fields that files of version 1 may lack, by the path of the object, and their meaning."""


def encode_problem(problem: Problem) -> Json:
    """Return ``problem`` as a JSON document."""
    operations = problem.operations
    mappings = [(index, mapping) for index, op in enumerate(operations) for mapping in op.mappings]
    operands = {
        name: [list(map(attrgetter(name), mapping.operands)) for _, mapping in mappings]
        for name in _Operands
    }
    return {
        **_header("problem"),
        "name": problem.name,
        "mapper": problem.mapper,
        "source": problem.source,
        "machine": encode(problem.machine),
        "tensors": columns(_Tensors, problem.tensors),
        "operations": columns(_Operations, operations),
        "mappings": {
            **columns(_OpMappings, [mapping for _, mapping in mappings], {"operation", *operands}),
            "operation": [index for index, _ in mappings],
            **operands,
        },
    }


def encode_schedule(schedule: Schedule) -> Json:
    """Return ``schedule`` as a JSON document."""
    return {**_header("schedule"), **encode(schedule)}


def encode_result(stored: Solution) -> Json:
    """Return a result as a JSON document.

    Raises
    ------
    InputError
        Its fusion tiles are of a tileable graph without a graph.
    """
    result, fusion = stored.result, stored.fusion
    if result.fused is not None:
        from spmopt.core.fusion.stored import StoredFusion

        # A tileable graph holds functions; a file has the graph that it is made from.
        fusion = StoredFusion.of(result.fused, result.fusion_certificate)
    of_fusion: Json = {}
    if fusion is not None:
        from spmopt.io.fusion import encode_fusion

        proved = None if result.fusion_bound is None else str(result.fusion_bound)
        of_fusion = {"fusion_bound": proved, "fusion": encode_fusion(fusion)}
    return {
        **_header("result"),
        "versions": dict(stored.versions),
        # The schedule has a format and version of its own, below.
        **encode(replace(result, schedule=None)),
        **of_fusion,
        "problem": encode_problem(stored.problem),
        "schedule": None if result.schedule is None else encode_schedule(result.schedule),
    }


def decode_problem(value: object, where: str = "") -> Problem:
    """Read the output of :func:`encode_problem`; ``where`` is its path in a larger document.

    Raises
    ------
    InputError
        Not a problem of a known version, or one that contradicts itself.
    """
    document = decode(_body(value, where, "problem"), _Problem, where)
    mappings = _mappings(document, where)
    operations = rows(document.operations, join(where, "operations"))
    return Problem(
        name=document.name,
        mapper=document.mapper,
        source=document.source,
        machine=document.machine,
        tensors=tuple(Tensor(**row) for row in rows(document.tensors, join(where, "tensors"))),
        operations=tuple(
            Operation(**row, mappings=tuple(own))
            for row, own in zip(operations, mappings, strict=True)
        ),
    )


def decode_schedule(value: object, where: str = "") -> Schedule:
    """Read the output of :func:`encode_schedule`; whether it is legal, the verifier says.

    Raises
    ------
    InputError
        Not a schedule of a known version, or columns that do not fit together.
    """
    return decode(_body(value, where, "schedule"), Schedule, where)


def decode_result(value: object, where: str = "") -> Solution:
    """Read the output of :func:`encode_result`; whether it is true, the verifier says.

    Raises
    ------
    InputError
        Not a result of a known version, or one with a field of the wrong type.
    """
    document = _body(value, where, "result")
    # Results layer by layer have neither of the two fields; policies and older files no end.
    optional = ("end",) if "fusion" in document else ("end", *_OF_FUSION)
    require_fields(document, (*_RESULT, "problem", "versions", "fusion"), where, optional)
    own = {name: document[name] for name in _RESULT if name in document}
    former = _is_of_former_class(own.get("class_bound"))
    if former:
        own["class_bound"] = {k: v for k, v in own["class_bound"].items() if k != "certificate"}
    result = decode({**own, "schedule": None}, Result, where)
    if own["schedule"] is not None:
        schedule = decode_schedule(own["schedule"], join(where, "schedule"))
        result = replace(result, schedule=schedule)
    if former:
        # It may have been called optimal for it; no bound that can be checked does.
        result = replace(result, status=Status.FEASIBLE)
    fusion = None
    if "fusion" in document:
        from spmopt.io.fusion import decode_fusion

        fusion = decode_fusion(document["fusion"], join(where, "fusion"))
    problem = decode_problem(document["problem"], join(where, "problem"))
    if fusion is not None and isinstance(value, dict) and value["version"] < 5:
        # Its fusion tiles are lowered anew: by the cycles that all work took then, and with all
        # results in bytes of their own. Its graph was folded before.
        unit = VectorUnit(rate=problem.machine.operations_per_s, special=1)
        problem = replace(problem, machine=replace(problem.machine, vector=unit))
        if fusion.mapper == "tiled":
            fusion = replace(fusion, mapper="tiled-unfolded")
            problem = replace(problem, mapper=fusion.mapper)
    return Solution(
        problem=problem,
        result=result,
        versions=decode(document["versions"], dict[str, str], join(where, "versions")),
        fusion=fusion,
    )


def _is_of_former_class(class_bound: Any) -> bool:
    return isinstance(class_bound, dict) and class_bound.get("holds_for") in _FORMER_CLASSES


def write_problem(path: Path, problem: Problem) -> None:
    """Write ``problem``; raises :class:`InputError` when ``path`` cannot be written."""
    from spmopt.io.document import write_json

    write_json(path, encode_problem(problem))


def read_problem(path: Path) -> Problem:
    """Read a problem; raises :class:`InputError` when it cannot be used."""
    return _read(path, decode_problem)


def write_result(path: Path, stored: Solution) -> None:
    """Write a result; raises :class:`InputError` when ``path`` cannot be written."""
    from spmopt.io.document import write_json

    write_json(path, encode_result(stored))


def read_result(path: Path) -> Solution:
    """Read a result; raises :class:`InputError` when it cannot be used."""
    return replace(_read(path, decode_result), path=path)


def _read(path: Path, decode_document: Callable[[object], T]) -> T:
    other = kind_of_file(path, json=False)
    if other:
        kind = decode_document.__name__.removeprefix("decode_")
        raise InputError(f"{path}: {other}; give {_WANTED[kind]}")
    document = read_json(path)
    try:
        return decode_document(document)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _header(kind: str) -> Json:
    return {"format": f"spmopt-{kind}", "version": VERSION}


def _body(value: object, where: str, kind: str) -> Json:
    """Check the header of a document; return the rest, brought to the version of today."""
    place = where or "document"
    if not isinstance(value, dict) or not ("format" in value or where):
        raise InputError(f"{place}: must be {_WANTED.get(kind, 'an object')}")
    version, found = value.get("version"), value.get("format")
    found = FORMATS.get(str(found), found)
    if found != f"spmopt-{kind}":
        hint = "" if where else _TAKEN_BY.get(str(found), "")
        raise InputError(f"{place}: format is {found!r}, not 'spmopt-{kind}'{hint}")
    if type(version) is not int or not 1 <= version <= VERSION:
        raise InputError(
            f"{place}: version is {version!r}, but this program reads 1 to {VERSION}; "
            "write the file again, or use the version of spmopt that wrote it"
        )
    body: Any = {name: inner for name, inner in value.items() if name not in _header(kind)}
    # In the order of versions: names first, as later steps look for those of today.
    if version < 4:
        body = rename_fields(body)
    if version == 1:
        for path, lacking in _LACKING[kind].items():
            body = _fill(body, path.split("."), lacking)
    named = body.get("mapper")
    if version < 3 and isinstance(named, str):
        body["mapper"] = OLD_LOWERINGS.get(named, named)
    return dict(body)


def _fill(value: Any, path: Sequence[str], lacking: Callable[[Json], Json]) -> Any:
    """Return ``value`` with the fields ``lacking`` in its object at ``path``.

    Where there is one.
    """
    if not isinstance(value, dict):
        return value
    name, *rest = path or [""]
    if not name:
        return {**lacking(value), **value}
    return {**value, name: _fill(value[name], rest, lacking)} if name in value else value


def _mappings(document: Any, where: str) -> list[list[OpMapping]]:
    """Return the mappings of each operation, in the order of the file."""
    place, operations = join(where, "mappings"), len(document.operations.name)
    mappings: list[list[OpMapping]] = [[] for _ in range(operations)]
    # Most operands are alike: one record each saves memory of large files.
    operand = cache(
        lambda fetches, required_resident: Operand(
            fetches=fetches, required_resident=required_resident
        )
    )
    for row in rows(document.mappings, place):
        operation, fetches, required_resident = (
            row.pop(name) for name in ("operation", *_Operands)
        )
        if not 0 <= operation < operations:
            raise InputError(f"{place}.operation: must be 0 to {operations - 1}, not {operation}")
        if len(fetches) != len(required_resident):
            raise InputError(f"{place}.required-resident: must be as long as passes in every row")
        operands = tuple(map(operand, fetches, required_resident))
        mappings[operation].append(OpMapping(**row, operands=operands))
    return mappings
