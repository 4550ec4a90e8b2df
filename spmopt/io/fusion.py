"""Cover in a result file: the graph, the fused groups, the proof, and the loops to run.

A tileable graph follows from the graph, the machine and the mapper, and is made from them again by
whoever reads the file. Dual values are texts: they may need more than 64 bits.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from math import isfinite
from types import GenericAlias
from typing import Any

from spmopt.core.errors import InputError
from spmopt.core.fusion.certificate import FusionCertificate, Row
from spmopt.core.fusion.fused_groups import FusedGroup, FusionPlan
from spmopt.core.fusion.fusion_space import FusionSpace
from spmopt.core.fusion.stored import Loop, StoredFusion
from spmopt.core.graph import Attribute, Graph, Node, Value
from spmopt.core.objective import Objective
from spmopt.io.codec import Json, decode, encode, join
from spmopt.io.columns import columns, columns_of, document_of, rows
from spmopt.io.costs import gather, to_rows
from spmopt.io.renames import ROWS, ROWS_OF_TODAY

_WHOLE = re.compile(r"-?[0-9]{1,1000}")
_NEVER_WRITTEN = -1
"""In place of a tensor at boundaries (``spmopt.verifier.carried``)."""
_NOT_FINITE = {"Infinity": float("inf"), "-Infinity": float("-inf"), "NaN": float("nan")}
"""Numbers that JSON lacks, by the field ``float`` of an object in their place."""


_Values = document_of("Values", **columns_of(Value))
_Nodes = document_of(
    "Nodes",
    **columns_of(Node, without="attributes"),
    attributes=list[dict[str, Attribute | dict[str, str]]],
)
_Graph = document_of("Graph", name=str, values=_Values, nodes=_Nodes)
_FusedGroups = document_of(
    "FusedGroups",
    **columns_of(FusedGroup, without="stripes"),
    stripes=(list[int], field(default_factory=list, metadata={"group": "stripes"})),
)
"""Without ``stripes`` each has one; without ``axis`` all are along the first."""
_Duals = document_of(
    "Duals",
    **{"row": str, "fused_group": list[int], "indices": list[list[int]], "dual": list[str]},
    # Of older files, of rows that no longer prove anything.
    steps=(list[int], field(default_factory=list, metadata={"group": "steps"})),
)
_Carried = document_of(
    "Handed", boundary=list[int], tensor=list[int | None], held=list[str], newer=list[str]
)
"""Dual values at boundaries; without a tensor, of all that are never written."""
_FusionSpace = document_of(
    "FusionSpace",
    **{"name": str, "micro_batches": tuple[int, ...], "stripes": tuple[int, ...]},
    most_products=int | None,
    others=(tuple[tuple[int, ...], ...], field(default=(), metadata={"group": "others"})),
)
_Priced = document_of("Runs", fused_groups=_FusedGroups, duals=GenericAlias(tuple, (_Duals, ...)))
_Certificate = document_of(
    "FusionCertificate",
    **{
        "fusion_space": _FusionSpace,
        "objective": Objective,
        "bits": int,
        "fused_groups": _FusedGroups,
    },
    duals=GenericAlias(tuple, (_Duals, ...)),
    runs=(_Priced | None, field(default=None, metadata={"group": "runs"})),
    carried=(_Carried | None, field(default=None, metadata={"group": "carried"})),
    agreed=(_Priced | None, field(default=None, metadata={"group": "agreed"})),
    fine=(bool, field(default=False, metadata={"group": "fine"})),
)
FusionDocument = document_of(
    "Fusion",
    **{"graph": _Graph, "mapper": str, "fusion_plan": _FusedGroups},
    certificate=_Certificate | None,
    loops=tuple[Loop, ...],
    costs=(
        list[dict[str, int | str | dict[str, int | str] | None]],
        field(default_factory=list, metadata={"group": "costs"}),
    ),
)
"""Layout of fusion tiles in a file: one list for each field of values, nodes and fused groups."""


def encode_fusion(stored: StoredFusion) -> Json:
    """Return the part ``micro_batches`` of a result file."""
    graph, certificate = stored.graph, stored.certificate
    return {
        "graph": {
            "name": graph.name,
            "values": columns(_Values, graph.values),
            "nodes": {
                **columns(_Nodes, graph.nodes, {"attributes"}),
                "attributes": [_attributes(node.attributes) for node in graph.nodes],
            },
        },
        "mapper": stored.mapper,
        "fusion_plan": _encode_fused_groups(stored.fusion_plan),
        "certificate": None if certificate is None else _encode_certificate(certificate),
        "loops": [encode(loop) for loop in stored.loops],
        **({"costs": to_rows(stored.costs)} if stored.costs else {}),
    }


def decode_fusion(value: object, where: str) -> StoredFusion:
    """Read the output of :func:`encode_fusion`; ``where`` is its path.

    Raises
    ------
    InputError
        A field that is missing or of the wrong type, a graph whose nodes cannot run in their
        order, fused groups that are none, or dual values of no fused group.
    """
    document = decode(value, FusionDocument, where)
    certificate = document.certificate
    return StoredFusion(
        graph=_decode_graph(document.graph, join(where, "graph")),
        mapper=document.mapper,
        fusion_plan=_read_fused_groups(document.fusion_plan, join(where, "fusion_plan")),
        certificate=None
        if certificate is None
        else _decode_certificate(certificate, join(where, "certificate")),
        loops=document.loops,
        costs=gather(
            (f"{join(where, 'costs')}[{at}]", row) for at, row in enumerate(document.costs)
        ),
    )


def _attributes(attributes: Mapping[str, Attribute]) -> Json:
    return {name: _attribute(each) for name, each in attributes.items()}


def _attribute(value: Attribute) -> object:
    if isinstance(value, float) and not isfinite(value):
        return {"float": json.dumps(value)}
    # Python takes True for 1, and so do operators.
    return int(value) if isinstance(value, bool) else value


def _decode_graph(document: Any, where: str) -> Graph:
    values = rows(document.values, join(where, "values"))
    nodes = rows(document.nodes, join(where, "nodes"))
    for index, row in enumerate(nodes):
        place = f"{join(where, 'nodes')}.attributes[{index}]"
        row["attributes"] = {
            name: _decode_attribute(each, f"{place}.{name}")
            for name, each in row["attributes"].items()
        }
    try:
        return Graph(
            name=document.name,
            values=tuple(Value(**row) for row in values),
            nodes=tuple(Node(**row) for row in nodes),
        )
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def _decode_attribute(value: Attribute | dict[str, str], where: str) -> Attribute:
    if not isinstance(value, dict):
        return value
    text = value.get("float", "")
    if len(value) != 1 or text not in _NOT_FINITE:
        raise InputError(f'{where}: an object here is {{"float": one of {", ".join(_NOT_FINITE)}}}')
    return _NOT_FINITE[text]


def _encode_fused_groups(fused_groups: Sequence[FusedGroup]) -> Json:
    # Plans without stripes leave the column out, as files did before there were any.
    striped = any(each.stripes > 1 for each in fused_groups)
    return columns(_FusedGroups, fused_groups, set() if striped else {"stripes"})


def _read_fused_groups(document: Any, where: str) -> FusionPlan:
    if not document.stripes:
        document = replace(document, stripes=[1] * len(document.begin))
    found = rows(document, where)
    try:
        return tuple(FusedGroup(**row) for row in found)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def _encode_certificate(certificate: FusionCertificate) -> Json:
    return {
        "fusion_space": encode(certificate.fusion_space),
        "objective": encode(certificate.objective),
        "bits": certificate.bits,
        **_encode_duals(certificate.duals),
        **({"runs": _encode_duals(certificate.runs)} if certificate.runs else {}),
        **({"carried": _encode_carried(certificate.carried)} if certificate.carried else {}),
        **({"agreed": _encode_duals(certificate.agreed)} if certificate.agreed else {}),
        **({"fine": True} if certificate.fine else {}),
    }


def _encode_carried(carried: Mapping[tuple[int, int], tuple[int, int]]) -> Json:
    return {
        "boundary": [boundary for boundary, _ in carried],
        # JSON has no word for "never written": the group -1 is null.
        "tensor": [None if group < 0 else group for _, group in carried],
        "held": [str(held) for held, _ in carried.values()],
        "newer": [str(newer) for _, newer in carried.values()],
    }


def _encode_duals(priced: Mapping[FusedGroup, Mapping[Row, int]]) -> Json:
    """Return fused groups, and the duals of the rows of one name and so many indices in columns."""
    alike: dict[tuple[object, int], list[tuple[int, Row, int]]] = {}
    for fused_group, duals in enumerate(priced.values()):
        for row, dual in duals.items():
            # Rows of one layout share columns.
            alike.setdefault((row[0], len(row)), []).append((fused_group, row, dual))
    columns_of_duals = [
        {
            "row": name,
            "fused_group": [fused_group for fused_group, _, _ in found],
            "indices": [[row[place] for _, row, _ in found] for place in range(1, size)],
            "dual": [str(dual) for _, _, dual in found],
        }
        for (name, size), found in alike.items()
    ]
    return {"fused_groups": _encode_fused_groups(list(priced)), "duals": columns_of_duals}


def _decode_certificate(document: Any, where: str) -> FusionCertificate:
    given = document.fusion_space
    try:
        fusion_space = FusionSpace(
            name=given.name,
            micro_batches=given.micro_batches,
            stripes=given.stripes,
            others=given.others,
            most_products=given.most_products,
        )
    except InputError as error:
        raise InputError(f"{join(where, 'fusion_space')}: {error}") from None
    runs, agreed = document.runs, document.agreed
    return FusionCertificate(
        fusion_space=fusion_space,
        objective=document.objective,
        bits=document.bits,
        duals=_decode_duals(document, where),
        runs={} if runs is None else _decode_duals(runs, join(where, "runs")),
        carried=_decode_carried(document.carried, join(where, "carried"))
        if document.carried
        else {},
        agreed={} if agreed is None else _decode_duals(agreed, join(where, "agreed")),
        fine=document.fine,
    )


def _decode_duals(document: Any, where: str) -> dict[FusedGroup, dict[Row, int]]:
    fused_groups = _read_fused_groups(document.fused_groups, join(where, "fused_groups"))
    duals: list[dict[Row, int]] = [{} for _ in fused_groups]
    for index, part in enumerate(document.duals):
        _read_duals(part, duals, f"{join(where, 'duals')}[{index}]")
    return dict(zip(fused_groups, duals, strict=True))


def _decode_carried(document: Any, where: str) -> dict[tuple[int, int], tuple[int, int]]:
    found: dict[tuple[int, int], tuple[int, int]] = {}
    for row in rows(document, where):
        tensor = row["tensor"]
        place = row["boundary"], _NEVER_WRITTEN if tensor is None else tensor
        found[place] = _whole(row["held"], f"{where}.held"), _whole(row["newer"], f"{where}.newer")
    return found


def _whole(text: str, where: str) -> int:
    if not _WHOLE.fullmatch(text):
        raise InputError(f"{where}: must be whole numbers in quotes, not {text!r:.40}")
    return int(text)


def _read_duals(part: Any, duals: list[dict[Row, int]], where: str) -> None:
    """Add the dual values of rows of one name to those of their fused groups."""
    kind = ROWS.get(part.row, part.row)
    # Older files have rows of single tensors too. The bound needs no dual values of these: it finds
    # the cheapest way of each byte itself.
    if kind not in ROWS_OF_TODAY:
        return
    # Checked here, as `zip(strict=True)` below would raise an error of ours.
    if {len(each) for each in (part.fused_group, *part.indices)} - {len(part.dual)}:
        raise InputError(f"{where}: columns differ in length")
    names: Iterable[Row] = zip(*([kind] * len(part.dual), *part.indices), strict=True)
    for fused_group, row, text in zip(part.fused_group, names, part.dual, strict=True):
        if not 0 <= fused_group < len(duals):
            raise InputError(f"{where}.fused group: no such fused group ({fused_group})")
        duals[fused_group][row] = _whole(text, f"{where}.dual value")
