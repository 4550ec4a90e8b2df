"""Operators that a user gives a class: what they cost, and that results say they are assumed."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from pathlib import Path

import pytest
from onnx import helper

import spmopt
from spmopt.core.errors import InputError, MissingRuleError
from spmopt.frontends.networks import load_network
from spmopt.graph import operators
from spmopt.graph.operators.spec import OperatorSpec
from spmopt.graph.operators.table import operators_of
from spmopt.reporting.results import shares_assumed
from tests.frontends.models import floats, model, saved


def _rule(**table: object) -> OperatorSpec:
    return operators_of("Odd", table)[0]


@pytest.mark.parametrize(
    ("equation", "a", "b", "result", "roles"),
    [
        ("...mk,kn->...mn", (2, 3, 4), (4, 5), (2, 3, 5), (1, 6, 4, 5)),
        ("mk,nk->mn", (3, 4), (5, 4), (3, 5), (1, 3, 4, 5)),
        ("bmk,bkn->bmn", (2, 3, 4), (2, 4, 5), (2, 3, 5), (2, 3, 4, 5)),
        ("bhqd,bhkd->bhqk", (2, 2, 3, 4), (2, 2, 6, 4), (2, 2, 3, 6), (4, 3, 4, 6)),
    ],
)
def test_product_by_its_equation(
    equation: str,
    a: tuple[int, ...],
    b: tuple[int, ...],
    result: tuple[int, ...],
    roles: tuple[int, ...],
) -> None:
    spec = _rule(**{"class": "product", "equation": equation, "operands": [1, 0]})
    assert spec.gemm is not None
    assert spec.shapes is not None
    assert spec.shapes((b, a), {}) == (result,)
    found = spec.gemm((b, a), (result,), {})
    assert (found.batch, found.m, found.k, found.n) == roles
    assert (found.a, found.b) == ((1,), (0,))
    assert spec.operations((b, a), (result,), {}) == 2 * prod(roles)


@pytest.mark.parametrize(
    ("table", "match"),
    [
        ({"class": "pointwize"}, "did you mean pointwise"),
        ({"class": "product"}, "a product needs its equation"),
        ({"class": "product", "equation": "mk->km"}, "must be as"),
        ({"class": "product", "equation": "mk,nj->mn"}, "is no product"),
        ({"class": "product", "equation": "mkj,kn->mn"}, "sums a label of one operand"),
        ({"class": "view", "equation": "mk,kn->mn"}, "equation is for class product"),
        ({"class": "product", "equation": "mk,kn->mn", "operands": [0]}, "positions of A and B"),
    ],
)
def test_classes_that_cannot_be(table: dict[str, object], match: str) -> None:
    with pytest.raises(InputError, match=match):
        operators_of("Odd", table)


def _file(folder: Path, domain: str = "classes.test") -> Path:
    nodes = [
        helper.make_node("Dense", ["x", "w", "b"], ["h"], domain=domain),
        helper.make_node("Wave", ["h"], ["y"], domain=domain),
    ]
    return saved(folder, model(nodes, {"x": [32, 64]}, {"w": floats(64, 48), "b": floats(48)}))


def test_each_operator_of_a_file_gets_a_rule_of_its_own(tmp_path: Path) -> None:
    path, rules = _file(tmp_path), tmp_path / "rules.toml"
    with pytest.raises(MissingRuleError, match="2 operators have no rule") as caught:
        spmopt.load(path)
    assert caught.value.paste.splitlines() == [
        '"classes.test.Dense".class = "pointwise"',
        '"classes.test.Wave".class = "pointwise"',
    ]
    text = '"classes.test.Dense" = { class = "product", equation = "mk,kn->mn" }\n'
    rules.write_text(text + '"classes.test.Wave".class = "pointwise"\n', encoding="utf-8")
    problem = spmopt.lower(spmopt.load(path, operators=rules), spmopt.machine(spm="1MB"))
    assert [op.mappings[0].macs for op in problem.operations] == [32 * 64 * 48, 0]
    # What the file said before it may say otherwise.
    rules.write_text(text + '"classes.test.Wave".class = "normalization"\n', encoding="utf-8")
    slower = spmopt.lower(spmopt.load(path, operators=rules), spmopt.machine(spm="1MB"))
    assert slower.operations[1].mappings[0].compute_cycles >= (
        problem.operations[1].mappings[0].compute_cycles
    )


def test_results_say_what_was_assumed(tmp_path: Path) -> None:
    # Rules stay for the whole process: those of other tests have another domain.
    rules = tmp_path / "rules.toml"
    rules.write_text(
        '"shares.test.Dense" = { class = "product", equation = "mk,kn->mn" }\n'
        '"shares.test.Wave".class = "pointwise"\n',
        encoding="utf-8",
    )
    problem = spmopt.lower(
        spmopt.load(_file(tmp_path, "shares.test"), operators=rules), spmopt.machine(spm="1MB")
    )
    solution = spmopt.solve(problem, "residency", time_limit=5)
    shares = shares_assumed(solution.problem, solution.result)
    assert set(shares) == {"shares.test.Dense", "shares.test.Wave"}
    assert sum(shares.values()) == pytest.approx(1)  # there are no other operators
    solution.save(tmp_path / "result.json")
    again = spmopt.read(tmp_path / "result.json")
    assert shares_assumed(again.problem, again.result) == shares
    assert "shares.test.Wave" in str(solution)


@pytest.fixture
def _own_rules() -> Iterator[None]:
    """Take back what a test replaced."""
    added, of_files = dict(operators.SPECS.added), dict(operators._OF_FILES)
    yield
    operators.SPECS.added.clear()
    operators.SPECS.added.update(added)
    operators._OF_FILES.clear()
    operators._OF_FILES.update(of_files)


@pytest.mark.usefixtures("_own_rules")
def test_a_file_of_operators_may_replace_rules_of_the_program(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Softmax", ["x"], ["h"], axis=-1),
        helper.make_node("MoE", ["h", "w"], ["y"], domain="com.microsoft"),
    ]
    path = saved(tmp_path, model(nodes, {"x": [8, 64]}, {"w": floats(64, 64)}))
    with pytest.raises(InputError, match="sends tokens to experts"):
        spmopt.load(path)
    rules = tmp_path / "rules.toml"
    rules.write_text(
        'Softmax.class = "pointwise"\n'
        '"com.microsoft.MoE" = { class = "product", equation = "mk,kn->mn" }\n',
        encoding="utf-8",
    )
    said: list[str] = []
    graph = load_network(path, operators=rules, warn=said.append)
    assert said == [
        f"{rules}: replaces the program's own rule of Softmax",
        f"{rules}: replaces the program's own reason to refuse com.microsoft.MoE",
    ]
    problem = spmopt.lower(graph, spmopt.machine(spm="1MB"))
    assert [op.mappings[0].macs for op in problem.operations] == [0, 8 * 64 * 64]
    rule = operators.lookup("Softmax")
    assert rule.assumed == "pointwise"
    assert rule.operations(((8, 64),), ((8, 64),), {}) == 8 * 64


@pytest.mark.usefixtures("_own_rules")
def test_a_file_of_operators_may_replace_what_is_taken_apart(tmp_path: Path) -> None:
    node = helper.make_node("FusedMatMul", ["x", "w"], ["y"], domain="com.microsoft")
    path = saved(tmp_path, model([node], {"x": [8, 64]}, {"w": floats(64, 16)}))
    rules = tmp_path / "rules.toml"
    rules.write_text(
        '"com.microsoft.FusedMatMul" = { class = "product", equation = "mk,kn->mn" }\n',
        encoding="utf-8",
    )
    graph = load_network(path, operators=rules, warn=lambda text: None)
    assert [each.operator for each in graph.nodes] == ["com.microsoft.FusedMatMul"]


def test_former_names_of_rules_are_read() -> None:
    former, today = (
        _rule(shapes=name, product=name)
        for name in ("transposed_convolution", "convolution_transpose")
    )
    assert former.shapes is today.shapes
