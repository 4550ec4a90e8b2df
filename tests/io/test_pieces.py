"""Results in pieces: lossless files, and one line for each that is damaged."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spmopt.audit import restored
from spmopt.core.elements import ELEMENT_TYPES
from spmopt.core.errors import InputError
from spmopt.core.graph import Graph, Node, Value
from spmopt.core.instance import TensorKind
from spmopt.core.objective import MAKESPAN
from spmopt.core.pieces.certificate import CoverCertificate, Row
from spmopt.core.pieces.family import Family
from spmopt.core.pieces.segments import Segment
from spmopt.core.result import Result
from spmopt.graph.training import training_graph
from spmopt.io.files import StoredResult, decode_result, encode_result, read_result, write_result
from spmopt.io.pieces import Loop, StoredPieces, decode_pieces, encode_pieces
from tests.graph.networks import attention, convolution, lstm
from tests.in_pieces import of_graph, perceptron
from tests.thorough import share

NAMES = st.text(st.characters(codec="utf-8"), max_size=6)
ATTRIBUTES = st.one_of(
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False),
    NAMES,
    st.lists(st.integers(-(2**70), 2**70)).map(tuple),
)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    values = draw(
        st.lists(
            st.builds(
                Value,
                name=NAMES,
                shape=st.lists(st.integers(1, 9), max_size=4).map(tuple),
                element_type=st.sampled_from(sorted(ELEMENT_TYPES)),
                kind=st.sampled_from(TensorKind),
                keep=st.booleans(),
            ),
            min_size=1,
            max_size=8,
        )
    )
    there = draw(st.integers(1, len(values)))  # the others are written, one after another
    nodes = []
    for written in range(there, len(values)):
        inputs = st.lists(st.integers(0, written - 1), max_size=3).map(tuple)
        nodes.append(
            Node(
                name=draw(NAMES),
                operator=draw(NAMES),
                inputs=draw(inputs),
                outputs=(written,),
                attributes=draw(st.dictionaries(NAMES, ATTRIBUTES, max_size=3)),
            )
        )
    return Graph(name=draw(NAMES), values=tuple(values), nodes=tuple(nodes))


SEGMENTS = st.builds(
    lambda begin, more, pieces, bands: Segment(
        begin=begin, end=begin + more, pieces=pieces, bands=bands
    ),
    st.integers(0, 9),
    st.integers(1, 9),
    st.integers(1, 9),
    st.integers(1, 3),
)
LOOPS = st.builds(
    Loop,
    first=st.integers(0, 9),
    last=st.integers(0, 9),
    pieces=st.integers(1, 9),
    operations=st.lists(NAMES, max_size=3).map(tuple),
    rows=st.lists(st.lists(st.integers(0, 9), max_size=3).map(tuple), max_size=2).map(tuple),
)
SPANS = st.tuples(st.integers(0, 9), st.integers(1, 9)).map(lambda span: (span[0], sum(span)))
ROWS: st.SearchStrategy[Row] = st.one_of(
    st.tuples(st.just("grows"), st.integers(0, 9), st.integers(0, 9), st.integers(0, 9) | SPANS),
    st.tuples(st.sampled_from(("grows", "holds")), st.integers(0, 9), st.integers(0, 9)),
    st.tuples(st.sampled_from(("room", "moves")), st.integers(0, 9)),
    st.tuples(st.sampled_from(("found", "left"))),
)
FAMILIES = st.builds(
    Family,
    name=NAMES,
    pieces=st.sets(st.integers(2, 64), max_size=4).map(lambda found: (1, *sorted(found))),
    most_products=st.none() | st.integers(0, 9),
)
PRICES = st.integers(-(2**200), 2**200)
PRICED = st.dictionaries(SEGMENTS, st.dictionaries(ROWS, PRICES, max_size=6), max_size=4)
CERTIFICATES = st.builds(
    CoverCertificate,
    family=FAMILIES,
    objective=st.just(MAKESPAN),
    bits=st.integers(0, 4096),
    prices=PRICED,
    runs=PRICED,
    carried=st.dictionaries(
        st.tuples(st.integers(0, 9), st.integers(-1, 9)), st.tuples(PRICES, PRICES), max_size=4
    ),
    agreed=PRICED,
    fine=st.booleans(),
)


@settings(max_examples=share(100), deadline=None)
@given(
    graphs(),
    st.lists(SEGMENTS).map(tuple),
    st.none() | CERTIFICATES,
    NAMES,
    st.lists(LOOPS, max_size=3).map(tuple),
)
def test_pieces_are_lossless(
    graph: Graph,
    cover: tuple[Segment, ...],
    certificate: CoverCertificate | None,
    lowering: str,
    loops: tuple[Loop, ...],
) -> None:
    stored = StoredPieces(
        graph=graph,
        lowering=lowering,
        cover=cover,
        certificate=certificate,
        loops=loops,
    )
    again = decode_pieces(json.loads(json.dumps(encode_pieces(stored))), "pieces")
    assert again == stored
    for one, other in zip(again.graph.nodes, graph.nodes, strict=True):
        for name, value in one.attributes.items():
            assert type(value) is type(other.attributes[name])


def test_numbers_that_json_lacks() -> None:
    attributes = {"low": float("-inf"), "high": float("inf"), "none": float("nan"), "yes": True}
    value = Value(name="x", shape=())
    node = Node(name="n", operator="Clip", inputs=(0,), outputs=(), attributes=attributes)
    graph = Graph(name="g", values=(value,), nodes=(node,))
    stored = StoredPieces(graph=graph, lowering="tiled", cover=(), certificate=None, loops=())
    text = json.dumps(encode_pieces(stored), allow_nan=False)
    found = decode_pieces(json.loads(text), "pieces").graph.nodes[0].attributes
    assert np.isnan(found["none"])
    assert {**found, "none": 0} == {**attributes, "none": 0}


@pytest.mark.parametrize(
    "make",
    [
        perceptron,
        lambda: of_graph(training_graph(convolution()), 2, objective="energy"),
        lambda: of_graph(attention(), 2, objective="traffic"),
        lambda: of_graph(training_graph(lstm(), optimizer="adam"), 2),
    ],
)
def test_results_in_pieces_are_lossless(tmp_path: Path, make: Any) -> None:
    before: StoredResult = make()
    path, second = tmp_path / "r.json", tmp_path / "again.json"
    write_result(path, before)
    kept = read_result(path)
    after = restored(kept)
    assert after.pieces is None
    assert after.instance == before.instance
    for name in (f.name for f in fields(Result) if f.name not in ("certificate", "class_bound")):
        assert getattr(after.result, name) == getattr(before.result, name), name
    assert after.result.pieces is not None
    assert before.result.pieces is not None
    assert after.result.pieces.listing.graph == before.result.pieces.listing.graph
    for written in (kept, after):  # before its listing is made again, and then
        write_result(second, written)
        assert second.read_text() == path.read_text()


def test_loops_are_the_operations_of_the_instance() -> None:
    """What a compiler runs: loops over pieces, by the names of the graph's nodes."""
    document = encode_result(perceptron())
    names = [op.name for op in perceptron().instance.operations]
    nodes = document["pieces"]["graph"]["nodes"]["name"]
    run = list[str]()
    for loop in document["pieces"]["loops"]:
        assert loop["first"] == len(run)
        for piece in range(loop["pieces"]):
            for name in loop["operations"]:
                assert name in nodes
                run.append(f"{name}[{piece}]" if loop["pieces"] > 1 else name)
        assert loop["last"] == len(run) - 1
    assert run == names


def test_a_result_as_a_whole_says_nothing_of_pieces() -> None:
    full = perceptron()
    whole = replace(full.result, pieces=None, cover_bound=None)
    document = encode_result(replace(full, result=whole))
    assert not {"pieces", "cover_bound"} & document.keys()
    assert restored(decode_result(document)).result.pieces is None
    open_bound = encode_result(replace(full, result=replace(full.result, cover_bound=Fraction(0))))
    assert decode_result(open_bound).result.cover_bound == 0


def test_a_listing_without_a_graph_is_not_written() -> None:
    full = perceptron()
    assert full.result.pieces is not None
    listing = replace(full.result.pieces.listing, graph=None)
    pieces = replace(full.result.pieces, listing=listing)
    with pytest.raises(InputError, match="of the listing of a graph only"):
        encode_result(replace(full, result=replace(full.result, pieces=pieces)))


def complaint(document: Any) -> str:
    with pytest.raises(InputError) as caught:
        restored(decode_result(document))
    assert "\n" not in str(caught.value)
    return str(caught.value)


DAMAGE = [
    ("graph.nodes.operator.1", "Rleu", "pieces.graph: operator Rleu has no rule"),
    ("graph.nodes.inputs.0", [7, 2, 3], "pieces.graph: node y1: reads r before it is computed"),
    ("graph.nodes.inputs.0", [99], "pieces.graph: node y1: no such value (99)"),
    ("graph.nodes.attributes.0", {"a": [1.5]}, "pieces.graph.nodes.attributes[0][...][0]: must be"),
    ("graph.nodes.attributes.0", {"a": True}, "pieces.graph.nodes.attributes[0][...]: must be"),
    ("graph.nodes.attributes.0", {"a": {"float": "1"}}, "attributes[0].a: an object here is"),
    ("graph.nodes.attributes.0", {"transA": "no"}, "pieces.graph: attribute transA must be"),
    ("graph.nodes.inputs.0", [], "pieces.graph: cannot be lowered (IndexError: tuple index"),
    ("graph.nodes.name", [], "pieces.graph.nodes: columns differ in length"),
    ("graph.values.shape.0", [0, 4], "pieces.graph: tensor x: shape (0, 4)"),
    ("graph.values.kind.0", "wight", "pieces.graph.values.kind[0]: must be one of input"),
    ("graph.name", 3, "pieces.graph.name: must be a text"),
    ("lowering", "best", "pieces.lowering: 'best' is unknown; use tiled, panel, weights or"),
    ("lowering", None, "pieces.lowering: must be a text"),
    ("cover.begin.1", 6, "pieces.cover: segments must follow each other"),
    ("cover.pieces.0", 3, "pieces.cover: segment 0 to 7: 3 pieces do not divide a batch of 8"),
    ("cover.pieces.0", 0, "pieces.cover: segment 0 to 7 in 0 pieces"),
    ("cover.pieces.1", 2, "pieces.cover: segment 7 to 8: w2.update cannot be cut"),
    ("cover.end", [1], "pieces.cover: columns differ in length"),
    ("certificate.bits", "9", "pieces.certificate.bits: must be a whole number"),
    ("certificate.prices.0.price.0", "0x1", "certificate.prices[0].price: must be whole numbers"),
    ("certificate.prices.0.price.0", 7, "certificate.prices[0].price[0]: must be a text"),
    ("certificate.prices.0.segment.0", -1, "certificate.prices[0].segment: no such segment (-1)"),
    ("certificate.prices.0.indices", [[1]], "certificate.prices[0]: columns differ in length"),
    ("certificate.prices.0.steps", [0], "certificate.prices[0].steps: must be as many positive"),
    ("loops.0.pieces", 8, "pieces.loops[0]: must be that of the segment"),
    ("loops.1.operations", ["w2"], "pieces.loops[1]: must be that of the segment"),
    ("loops", [], "pieces.loops[0]: must be that of the segment"),
]


@pytest.mark.parametrize(("path", "value", "expected"), DAMAGE)
def test_damage_is_refused_in_one_line(path: str, value: object, expected: str) -> None:
    document = json.loads(json.dumps(encode_result(perceptron())))
    *outer, last = path.split(".")
    inner: Any = document["pieces"]
    for name in outer:
        inner = inner[int(name) if name.isdigit() else name]
    inner[int(last) if last.isdigit() else last] = value
    assert expected in complaint(document)


def test_a_price_and_a_segment_are_named_once() -> None:
    document = json.loads(json.dumps(encode_result(perceptron())))
    certificate = document["pieces"]["certificate"]
    certificate["prices"].append(certificate["prices"][0])
    assert "has two prices" in complaint(document)
    for column in certificate["segments"].values():
        column.append(column[0])
    assert "certificate.segments: names a segment twice" in complaint(document)


def spots(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place within a document, of long columns the first only."""
    if isinstance(value, dict):
        inner = list(value.items())
    else:
        inner = list(enumerate(value[:2])) if isinstance(value, list) else []
    return [path, *(spot for key, each in inner for spot in spots(each, (*path, key)))]


@settings(
    max_examples=share(150),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.data())
def test_any_damage_is_refused_or_read(data: st.DataObject) -> None:
    document = json.loads(json.dumps(encode_result(perceptron())))
    spot = data.draw(st.sampled_from(spots(document["pieces"])[1:]))
    inner = document["pieces"]
    for key in spot[:-1]:
        inner = inner[key]
    kinds = st.one_of(
        st.none(),
        st.integers(-2, 70),
        st.just(10**30),
        st.floats(),
        st.just(""),
        st.just("Conv"),
        st.just([]),
        st.just({}),
        st.lists(st.integers(0, 9), max_size=4),
    )
    inner[spot[-1]] = data.draw(kinds)
    said = "pieces"
    try:
        restored(decode_result(document))
    except InputError as error:
        said = str(error)
    assert said.startswith("pieces")
    assert "\n" not in said
