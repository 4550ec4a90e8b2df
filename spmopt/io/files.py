"""Instances, schedules and results as versioned, lossless JSON documents and files.

An instance has one array per column, so that 20,000 operations stay small and quick. A result
stands alone: the verifier needs nothing else to check schedule and bound.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from operator import attrgetter
from pathlib import Path
from types import GenericAlias
from typing import Any, Self, TypeVar

from spmopt import __version__
from spmopt.core.border import read_json
from spmopt.core.errors import InputError
from spmopt.core.filetypes import kind_of_file
from spmopt.core.instance import Instance, Tensor
from spmopt.core.machine import Area, Machine
from spmopt.core.objective import REPLAY
from spmopt.core.operation import Mode, Operand, Operation
from spmopt.core.result import Result
from spmopt.core.schedule import Schedule
from spmopt.io.codec import Json, decode, encode, joined, record_schema, require_fields
from spmopt.io.columns import columns, columns_of, document_of, rows
from spmopt.io.document import write_json
from spmopt.io.pieces import PiecesDocument, StoredPieces, decode_pieces, encode_pieces

T = TypeVar("T")
VERSION = 3
"""Version of every format that is written; older files are read as well."""
KINDS = ("instance", "schedule", "result")
_TAKEN_BY = {
    "spmopt-instance": "; an instance is for 'spmopt solve' and 'spmopt compare'",
    "spmopt-result": "; a result is for 'spmopt verify' and 'spmopt analyze'",
}

_WANTED = {
    "instance": "an instance (.json), as 'spmopt instance -o' writes it",
    "schedule": "a schedule (.json)",
    "result": "a result file (.json), as 'spmopt solve -o' writes it",
}


_Tensors = document_of("Tensors", **columns_of(Tensor))
_Operations = document_of("Operations", **columns_of(Operation, without="modes"))
_Operands = {name: GenericAlias(list, kind) for name, kind in columns_of(Operand).items()}
_Modes = document_of(
    "Modes", operation=list[int], **columns_of(Mode, without="operands"), **_Operands
)
_Instance = document_of(
    "Instance",
    **{"name": str, "lowering": str, "source": str, "machine": Machine},
    tensors=_Tensors,
    operations=_Operations,
    modes=_Modes,
)
"""What a file says of an instance: one list for each field of its records."""
_RESULT = tuple(f.name for f in fields(Result) if f.metadata.get("stored", True))
_OF_PIECES = ("cover_bound", "pieces")
"""Fields of results in pieces only."""


OLD_LOWERINGS: Mapping[str, str] = {"tiled": "panel"}
"""Lowerings of today by the names that files up to version 2 call them; ``tiled`` is new since."""


def _objective_lacks(old: Json) -> Json:
    return {"replayed": old.get("name") == REPLAY.name}


_LACKING: Mapping[str, Mapping[str, Callable[[Json], Json]]] = {
    "instance": {
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
"""What files of version 1 may lack, by the path of its object, and what that means."""


@dataclass(frozen=True, kw_only=True)
class StoredResult:
    """A result together with the instance that it solves and the versions that made it.

    ``pieces`` are those of a file: ``result`` gets its own when their listing has been made again
    (:func:`spmopt.audit.restored`), and then there are none here.
    """

    instance: Instance
    result: Result
    versions: Mapping[str, str] = field(default_factory=dict)
    pieces: StoredPieces | None = None

    @property
    def is_in_pieces(self) -> bool:
        """Whether its schedule is of a cover."""
        return self.pieces is not None or self.result.pieces is not None

    @classmethod
    def made_here(cls, instance: Instance, result: Result) -> Self:
        """Return one that this program has made; of a result in pieces, with their instance.

        A bound over all covers is proved by what is known of pieces: without them it is left out.
        """
        versions = {"spmopt": __version__, "python": platform.python_version()}
        on = instance if result.pieces is None else result.pieces.instance
        if result.pieces is None:
            result = replace(result, cover_bound=None)
        return cls(instance=on, result=result, versions=versions)


def encode_instance(instance: Instance) -> Json:
    """Return ``instance`` as a JSON document."""
    operations = instance.operations
    modes = [(index, mode) for index, op in enumerate(operations) for mode in op.modes]
    operands = {
        name: [list(map(attrgetter(name), mode.operands)) for _, mode in modes]
        for name in _Operands
    }
    return {
        **_header("instance"),
        "name": instance.name,
        "lowering": instance.lowering,
        "source": instance.source,
        "machine": encode(instance.machine),
        "tensors": columns(_Tensors, instance.tensors),
        "operations": columns(_Operations, operations),
        "modes": {
            **columns(_Modes, [mode for _, mode in modes], {"operation", *operands}),
            "operation": [index for index, _ in modes],
            **operands,
        },
    }


def encode_schedule(schedule: Schedule) -> Json:
    """Return ``schedule`` as a JSON document."""
    return {**_header("schedule"), **encode(schedule)}


def encode_result(stored: StoredResult) -> Json:
    """Return a result as a JSON document.

    Raises
    ------
    InputError
        Its pieces are of a listing without a graph.
    """
    result, pieces = stored.result, stored.pieces
    if result.pieces is not None:
        pieces = StoredPieces.of(result.pieces)
    cover = {"cover_bound": None if result.cover_bound is None else str(result.cover_bound)}
    return {
        **_header("result"),
        "versions": dict(stored.versions),
        **encode(replace(result, schedule=None)),
        **({} if pieces is None else {**cover, "pieces": encode_pieces(pieces)}),
        "instance": encode_instance(stored.instance),
        "schedule": None if result.schedule is None else encode_schedule(result.schedule),
    }


def decode_instance(value: object, where: str = "") -> Instance:
    """Read what :func:`encode_instance` wrote; ``where`` is its path in a larger document.

    Raises
    ------
    InputError
        Not an instance of a known version, or one that contradicts itself.
    """
    document = decode(_body(value, where, "instance"), _Instance, where)
    modes = _modes(document, where)
    operations = rows(document.operations, joined(where, "operations"))
    return Instance(
        name=document.name,
        lowering=document.lowering,
        source=document.source,
        machine=document.machine,
        tensors=tuple(Tensor(**row) for row in rows(document.tensors, joined(where, "tensors"))),
        operations=tuple(
            Operation(**row, modes=tuple(own)) for row, own in zip(operations, modes, strict=True)
        ),
    )


def decode_schedule(value: object, where: str = "") -> Schedule:
    """Read what :func:`encode_schedule` wrote; whether it is legal, the verifier says.

    Raises
    ------
    InputError
        Not a schedule of a known version, or columns that do not fit together.
    """
    return decode(_body(value, where, "schedule"), Schedule, where)


def decode_result(value: object, where: str = "") -> StoredResult:
    """Read what :func:`encode_result` wrote; whether it is true, the verifier says.

    Raises
    ------
    InputError
        Not a result of a known version, or one with a field of the wrong type.
    """
    document = _body(value, where, "result")
    optional = () if "pieces" in document else _OF_PIECES
    require_fields(document, (*_RESULT, "instance", "versions", "pieces"), where, optional)
    own = {name: document[name] for name in _RESULT if name in document}
    result = decode({**own, "schedule": None}, Result, where)
    if own["schedule"] is not None:
        schedule = decode_schedule(own["schedule"], joined(where, "schedule"))
        result = replace(result, schedule=schedule)
    return StoredResult(
        instance=decode_instance(document["instance"], joined(where, "instance")),
        result=result,
        versions=decode(document["versions"], dict[str, str], joined(where, "versions")),
        pieces=decode_pieces(document["pieces"], joined(where, "pieces"))
        if "pieces" in document
        else None,
    )


def schema(kind: str) -> Json:
    """Return the JSON Schema of ``kind``: ``instance``, ``schedule`` or ``result``."""
    body, within = record_schema(
        {"instance": _Instance, "schedule": Schedule, "result": Result}[kind]
    )
    own = within.pop(body["$ref"].rpartition("/")[2])
    properties, required = own["properties"], own["required"]
    if kind == "result":
        strings = {"type": "object", "additionalProperties": {"type": "string"}}
        versions = {"description": "of the programs that made it", **strings}
        schedule = {"anyOf": [{"$ref": f"urn:spmopt:schedule:{VERSION}"}, {"type": "null"}]}
        instance = {"$ref": f"urn:spmopt:instance:{VERSION}"}
        properties |= {"versions": versions, "instance": instance, "schedule": schedule}
        required = [*required, "versions", "instance"]
        pieces, of_pieces = record_schema(PiecesDocument)
        properties["pieces"], own["dependentRequired"] = pieces, {"pieces": ["cover_bound"]}
        within |= of_pieces
    header = {name: {"const": value} for name, value in _header(kind).items()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:spmopt:{kind}:{VERSION}",
        "title": kind.capitalize(),
        **own,
        "properties": {**header, **properties},
        "required": [*header, *required],
        "$defs": within,
    }


def write_instance(path: Path, instance: Instance) -> None:
    """Write ``instance``; raises :class:`InputError` when ``path`` cannot be written."""
    write_json(path, encode_instance(instance))


def read_instance(path: Path) -> Instance:
    """Read an instance; raises :class:`InputError` when it cannot be used."""
    return _read(path, decode_instance)


def write_schedule(path: Path, schedule: Schedule) -> None:
    """Write ``schedule``; raises :class:`InputError` when ``path`` cannot be written."""
    write_json(path, encode_schedule(schedule))


def read_schedule(path: Path) -> Schedule:
    """Read a schedule; raises :class:`InputError` when it cannot be used."""
    return _read(path, decode_schedule)


def write_result(path: Path, stored: StoredResult) -> None:
    """Write a result; raises :class:`InputError` when ``path`` cannot be written."""
    write_json(path, encode_result(stored))


def read_result(path: Path) -> StoredResult:
    """Read a result; raises :class:`InputError` when it cannot be used."""
    return _read(path, decode_result)


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
    if not isinstance(value, dict):
        raise InputError(f"{place}: must be an object")
    found, version = value.get("format"), value.get("version")
    if found != f"spmopt-{kind}":
        hint = "" if where else _TAKEN_BY.get(str(found), "")
        raise InputError(f"{place}: format is {found!r}, not 'spmopt-{kind}'{hint}")
    if type(version) is not int or not 1 <= version <= VERSION:
        raise InputError(
            f"{place}: version is {version!r}, but this program reads 1 to {VERSION}; "
            "write the file again, or use the version of spmopt that wrote it"
        )
    body: Any = {name: inner for name, inner in value.items() if name not in _header(kind)}
    if version == 1:
        for path, lacking in _LACKING[kind].items():
            body = _filled(body, path.split("."), lacking)
    named = body.get("lowering")
    if version < 3 and isinstance(named, str):
        body["lowering"] = OLD_LOWERINGS.get(named, named)
    return dict(body)


def _filled(value: Any, path: Sequence[str], lacking: Callable[[Json], Json]) -> Any:
    """Return ``value`` with what is ``lacking`` in its object at ``path``, where there is one."""
    if not isinstance(value, dict):
        return value
    name, *rest = path or [""]
    if not name:
        return {**lacking(value), **value}
    return {**value, name: _filled(value[name], rest, lacking)} if name in value else value


def _modes(document: Any, where: str) -> list[list[Mode]]:
    """Return the modes of each operation, in the order of the file."""
    place, operations = joined(where, "modes"), len(document.operations.name)
    modes: list[list[Mode]] = [[] for _ in range(operations)]
    operand = cache(lambda passes, stationary: Operand(passes=passes, stationary=stationary))
    for row in rows(document.modes, place):
        operation, passes, stationary = (row.pop(name) for name in ("operation", *_Operands))
        if not 0 <= operation < operations:
            raise InputError(f"{place}.operation: must be 0 to {operations - 1}, not {operation}")
        if len(passes) != len(stationary):
            raise InputError(f"{place}.stationary: must be as long as passes in every row")
        operands = tuple(map(operand, passes, stationary))
        modes[operation].append(Mode(**row, operands=operands))
    return modes
