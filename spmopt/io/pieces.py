"""What a result file says of a cover: the graph, the segments, the proof, and the loops to run.

A listing follows from the graph, the machine and the lowering, and is made from them again by
whoever reads the file. Prices are texts: they may need more than 64 bits.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from types import GenericAlias
from typing import Any, Self

from spmopt.core.errors import InputError
from spmopt.core.graph import Attribute, Graph, Node, Value
from spmopt.core.objective import Objective
from spmopt.core.pieces.certificate import CoverCertificate, Row
from spmopt.core.pieces.family import Family
from spmopt.core.pieces.listing import Listing, Pieces
from spmopt.core.pieces.segments import Cover, Segment
from spmopt.io.codec import Json, decode, encode, joined
from spmopt.io.columns import columns, columns_of, document_of, rows

_WHOLE = re.compile(r"-?[0-9]{1,1000}")
_NEVER_WRITTEN = -1
"""In place of a tensor at borders (``spmopt.verifier.carried``)."""
_NOT_FINITE = {"Infinity": float("inf"), "-Infinity": float("-inf"), "NaN": float("nan")}
"""Numbers that JSON lacks, by what stands in the field ``float`` of an object in their place."""


@dataclass(frozen=True, kw_only=True)
class Loop:
    """Operations ``first`` to ``last`` of an instance: all of ``operations``, piece by piece.

    The operation at ``first + len(operations) * p + k`` is piece ``p`` of ``operations[k]``, which
    bears the name of its node (with a number where a name comes again). With ``rows`` a piece is
    computed in bands: the operation at ``first + len(operations) * (bands * p + b) + k`` computes
    the rows of results from ``rows[k][b]`` to before ``rows[k][b + 1]``.
    """

    first: int
    last: int
    pieces: int
    operations: tuple[str, ...]
    rows: tuple[tuple[int, ...], ...] = field(default=(), metadata={"group": "rows"})


@dataclass(frozen=True, kw_only=True)
class StoredPieces:
    """What a file has of a cover and its listing, which is to be made again.

    The machine is that of the file's instance, which is the instance of the cover.
    """

    graph: Graph
    lowering: str
    cover: Cover
    certificate: CoverCertificate | None
    loops: tuple[Loop, ...]

    @classmethod
    def of(cls, pieces: Pieces) -> Self:
        """Return what is to be stored.

        Raises
        ------
        InputError
            The listing was made without a graph.
        """
        listing = pieces.listing
        if listing.graph is None:
            raise InputError(f"{listing.name}: pieces can be stored of the listing of a graph only")
        return cls(
            graph=listing.graph,
            lowering=listing.lowering,
            cover=pieces.cover,
            certificate=pieces.certificate,
            loops=loops_of(listing, pieces.cover),
        )


def loops_of(listing: Listing, cover: Cover) -> tuple[Loop, ...]:
    """Return the loops of a cover of a listing."""
    found, first = list[Loop](), 0
    for segment in cover:
        inner = tuple(each.name for each in listing.operations[segment.begin : segment.end])
        rows = tuple(listing.borders(segment)) if segment.bands > 1 else ()
        end = first + len(inner) * segment.pieces * segment.bands
        found.append(
            Loop(first=first, last=end - 1, pieces=segment.pieces, operations=inner, rows=rows)
        )
        first = end
    return tuple(found)


_Values = document_of("Values", **columns_of(Value))
_Nodes = document_of(
    "Nodes",
    **columns_of(Node, without="attributes"),
    attributes=list[dict[str, Attribute | dict[str, str]]],
)
_Graph = document_of("Graph", name=str, values=_Values, nodes=_Nodes)
_Segments = document_of(
    "Segments",
    **columns_of(Segment, without="bands"),
    bands=(list[int], field(default_factory=list, metadata={"group": "bands"})),
)
"""Without ``bands`` each has one."""
_Prices = document_of(
    "Prices",
    **{"row": str, "segment": list[int], "indices": list[list[int]], "price": list[str]},
    steps=(list[int], field(default_factory=list, metadata={"group": "steps"})),
)
"""With ``steps`` the last index is the first of so many."""
_Carried = document_of(
    "Handed", border=list[int], tensor=list[int | None], held=list[str], newer=list[str]
)
"""Prices at borders; without a tensor, of all that are never written."""
_Family = document_of(
    "Family",
    **{"name": str, "pieces": tuple[int, ...], "bands": tuple[int, ...]},
    most_products=int | None,
)
_Priced = document_of("Runs", segments=_Segments, prices=GenericAlias(tuple, (_Prices, ...)))
_Certificate = document_of(
    "CoverCertificate",
    **{"family": _Family, "objective": Objective, "bits": int, "segments": _Segments},
    prices=GenericAlias(tuple, (_Prices, ...)),
    runs=(_Priced | None, field(default=None, metadata={"group": "runs"})),
    carried=(_Carried | None, field(default=None, metadata={"group": "carried"})),
    agreed=(_Priced | None, field(default=None, metadata={"group": "agreed"})),
    fine=(bool, field(default=False, metadata={"group": "fine"})),
)
PiecesDocument = document_of(
    "Pieces",
    **{"graph": _Graph, "lowering": str, "cover": _Segments},
    certificate=_Certificate | None,
    loops=tuple[Loop, ...],
)
"""What a file says of pieces: one list for each field of values, nodes and segments."""


def encode_pieces(stored: StoredPieces) -> Json:
    """Return the part ``pieces`` of a result file."""
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
        "lowering": stored.lowering,
        "cover": _encode_segments(stored.cover),
        "certificate": None if certificate is None else _encode_certificate(certificate),
        "loops": [encode(loop) for loop in stored.loops],
    }


def decode_pieces(value: object, where: str) -> StoredPieces:
    """Read what :func:`encode_pieces` wrote; ``where`` is its path.

    Raises
    ------
    InputError
        A field that is missing or of the wrong type, a graph whose nodes cannot run in their
        order, segments that are none, or prices of no segment.
    """
    document = decode(value, PiecesDocument, where)
    certificate = document.certificate
    return StoredPieces(
        graph=_decode_graph(document.graph, joined(where, "graph")),
        lowering=document.lowering,
        cover=_segments(document.cover, joined(where, "cover")),
        certificate=None
        if certificate is None
        else _decode_certificate(certificate, joined(where, "certificate")),
        loops=document.loops,
    )


def _attributes(attributes: Mapping[str, Attribute]) -> Json:
    return {name: _attribute(each) for name, each in attributes.items()}


def _attribute(value: Attribute) -> object:
    if isinstance(value, float) and not isfinite(value):
        return {"float": json.dumps(value)}
    # Python takes True for 1, and so do operators.
    return int(value) if isinstance(value, bool) else value


def _decode_graph(document: Any, where: str) -> Graph:
    values = rows(document.values, joined(where, "values"))
    nodes = rows(document.nodes, joined(where, "nodes"))
    for index, row in enumerate(nodes):
        place = f"{joined(where, 'nodes')}.attributes[{index}]"
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


def _encode_segments(segments: Sequence[Segment]) -> Json:
    banded = any(each.bands > 1 for each in segments)
    return columns(_Segments, segments, set() if banded else {"bands"})


def _segments(document: Any, where: str) -> Cover:
    if not document.bands:
        document = replace(document, bands=[1] * len(document.begin))
    found = rows(document, where)
    try:
        return tuple(Segment(**row) for row in found)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def _encode_certificate(certificate: CoverCertificate) -> Json:
    return {
        "family": encode(certificate.family),
        "objective": encode(certificate.objective),
        "bits": certificate.bits,
        **_encode_prices(certificate.prices),
        **({"runs": _encode_prices(certificate.runs)} if certificate.runs else {}),
        **({"carried": _encode_carried(certificate.carried)} if certificate.carried else {}),
        **({"agreed": _encode_prices(certificate.agreed)} if certificate.agreed else {}),
        **({"fine": True} if certificate.fine else {}),
    }


def _encode_carried(carried: Mapping[tuple[int, int], tuple[int, int]]) -> Json:
    return {
        "border": [border for border, _ in carried],
        "tensor": [None if group < 0 else group for _, group in carried],
        "held": [str(held) for held, _ in carried.values()],
        "newer": [str(newer) for _, newer in carried.values()],
    }


def _encode_prices(priced: Mapping[Segment, Mapping[Row, int]]) -> Json:
    """Return segments, and the prices of the rows of one name and so many indices in columns."""
    alike: dict[tuple[object, int, bool], list[tuple[int, Row, int]]] = {}
    for segment, prices in enumerate(priced.values()):
        for row, price in prices.items():
            key = row[0], len(row), isinstance(row[-1], tuple)
            alike.setdefault(key, []).append((segment, row, price))
    columns_of_prices = [
        {
            "row": name,
            "segment": [segment for segment, _, _ in found],
            "indices": [[_index(row[place]) for _, row, _ in found] for place in range(1, size)],
            "price": [str(price) for _, _, price in found],
            **({"steps": [_steps(row[-1]) for _, row, _ in found]} if spans else {}),
        }
        for (name, size, spans), found in alike.items()
    ]
    return {"segments": _encode_segments(list(priced)), "prices": columns_of_prices}


def _index(part: str | int | tuple[int, int]) -> str | int:
    return part[0] if isinstance(part, tuple) else part


def _steps(part: str | int | tuple[int, int]) -> int:
    return part[1] - part[0] if isinstance(part, tuple) else 1


def _decode_certificate(document: Any, where: str) -> CoverCertificate:
    given = document.family
    try:
        family = Family(
            name=given.name,
            pieces=given.pieces,
            bands=given.bands,
            most_products=given.most_products,
        )
    except InputError as error:
        raise InputError(f"{joined(where, 'family')}: {error}") from None
    runs, agreed = document.runs, document.agreed
    return CoverCertificate(
        family=family,
        objective=document.objective,
        bits=document.bits,
        prices=_decode_prices(document, where),
        runs={} if runs is None else _decode_prices(runs, joined(where, "runs")),
        carried=_decode_carried(document.carried, joined(where, "carried"))
        if document.carried
        else {},
        agreed={} if agreed is None else _decode_prices(agreed, joined(where, "agreed")),
        fine=document.fine,
    )


def _decode_prices(document: Any, where: str) -> dict[Segment, dict[Row, int]]:
    segments = _segments(document.segments, joined(where, "segments"))
    if len(set(segments)) < len(segments):
        raise InputError(f"{joined(where, 'segments')}: names a segment twice")
    prices: list[dict[Row, int]] = [{} for _ in segments]
    for index, part in enumerate(document.prices):
        _read_prices(part, prices, f"{joined(where, 'prices')}[{index}]")
    return dict(zip(segments, prices, strict=True))


def _decode_carried(document: Any, where: str) -> dict[tuple[int, int], tuple[int, int]]:
    found: dict[tuple[int, int], tuple[int, int]] = {}
    for row in rows(document, where):
        tensor = row["tensor"]
        if tensor is not None and tensor < 0:
            raise InputError(f"{where}.tensor: no such tensor ({tensor})")
        place = row["border"], _NEVER_WRITTEN if tensor is None else tensor
        if place in found:
            raise InputError(f"{where}: border {place[0]} has two prices of one tensor")
        found[place] = _whole(row["held"], f"{where}.held"), _whole(row["newer"], f"{where}.newer")
    return found


def _whole(text: str, where: str) -> int:
    if not _WHOLE.fullmatch(text):
        raise InputError(f"{where}: must be whole numbers in quotes, not {text!r:.40}")
    return int(text)


def _read_prices(part: Any, prices: list[dict[Row, int]], where: str) -> None:
    """Add the prices of rows of one name to those of their segments."""
    if {len(each) for each in (part.segment, *part.indices)} - {len(part.price)}:
        raise InputError(f"{where}: columns differ in length")
    indices: list[Sequence[int | tuple[int, int]]] = list(part.indices)
    if part.steps:
        if not indices or len(part.steps) != len(indices[-1]) or min(part.steps) < 1:
            raise InputError(f"{where}.steps: must be as many positive numbers as indices")
        spans = zip(part.indices[-1], part.steps, strict=True)
        indices[-1] = [(first, first + steps) for first, steps in spans]
    names: Iterable[Row] = zip(*([part.row] * len(part.price), *indices), strict=True)
    for segment, row, text in zip(part.segment, names, part.price, strict=True):
        if not 0 <= segment < len(prices):
            raise InputError(f"{where}.segment: no such segment ({segment})")
        if row in prices[segment]:
            raise InputError(f"{where}: row {row} of segment {segment} has two prices")
        prices[segment][row] = _whole(text, f"{where}.price")
