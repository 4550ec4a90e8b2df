"""``--fusion`` and ``--fusion-plan``: what is fused, beside the layer-by-layer plan."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

import spmopt
from spmopt.core.errors import InputError
from spmopt.core.fusion.fused_groups import FusedGroup
from spmopt.core.problem import Problem
from spmopt.core.result import Status
from spmopt.reporting.comparison import compare_view
from tests.cli.run import Run
from tests.cli.test_failures import refused

NETWORK = "alexnet --batch 4 --spm 1MB --time-limit 8 --tolerance 0.3"
FIXED = "instances/mlp.json"


@pytest.fixture(scope="module")
def problem() -> Problem:
    return spmopt.lower(spmopt.load("alexnet", batch=4), spmopt.machine("rtx2080ti", spm="1MB"))


@pytest.fixture(scope="module")
def compared(problem: Problem) -> spmopt.ComparisonTable:
    return spmopt.compare(
        problem, ["belady", "residency"], fusion="all", time_limit=20.0, tolerance=0.01
    )


def test_layer_by_layer_and_the_best_fusion_plan_stand_side_by_side(
    compared: spmopt.ComparisonTable,
) -> None:
    rows = [(row["of"], row["scheduler"]) for row in compared.rows()]
    listed, best = "layer by layer", "best fusion plan found"
    assert rows == [
        (listed, "belady"),
        (listed, "residency"),
        (best, "belady"),
        (best, "fusion"),
    ]
    page = next(each for each in compared.results if each.scheduler == "residency")
    fusion = next(each for each in compared.results if each.scheduler == "fusion")
    again = compared.on_fusion_plan["belady"].result
    assert compared["belady"].result.fused is None
    assert again.fused is not None
    assert again.fused is fusion.fused
    assert again.bound == fusion.bound
    assert {each.fusion_bound for each in compared.results} == {fusion.fusion_bound}
    assert fusion.value is not None
    assert page.value is not None
    assert again.value is not None
    assert fusion.value <= min(page.value, again.value)
    assert fusion.beside[0].value == page.value
    for each in compared:
        assert not spmopt.verify(each).violations


def test_the_words_say_over_what(compared: spmopt.ComparisonTable) -> None:
    lines = str(compared).splitlines()
    head, rows, words = lines[2], lines[4:10], lines[11:]
    assert head.split() == ["scheduler", "time", "traffic", "gap", "status"]
    assert [line.split("  ")[0].strip() for line in rows if line[0] != " "] == [
        "layer by layer",
        "best fusion plan found",
    ]
    text = "\n".join(words)
    assert "Layer by layer: optimum" in text
    assert "With fusion: optimum" in text
    assert "Belady, layer by layer: " in text
    assert " above the fused optimum." in text
    assert "Fusion space `all`: consecutive groups in the given order; each untiled" in text


def product() -> onnx.ModelProto:
    """Make a model of one product, of which nothing can be fused."""
    float32, helper = onnx.TensorProto.FLOAT, onnx.helper
    tensors = [helper.make_tensor_value_info(name, float32, [1, 64]) for name in ("x", "y")]
    weight = onnx.numpy_helper.from_array(np.ones((64, 64), np.float32), "w")
    node = helper.make_node("MatMul", ["x", "w"], ["y"], name="product")
    return helper.make_model(helper.make_graph([node], "one", tensors[:1], tensors[1:], [weight]))


def test_solve_takes_pieces_of_a_network_and_page_of_an_problem(run: Run, tmp_path: Path) -> None:
    found = run(f"solve {NETWORK} --json").record["results"][0]
    assert found["scheduler"] == "fusion"
    assert found["fusion_plan"][0]["begin"] == 0
    assert found["listed"]["scheduler"] == "residency"
    assert found["value"] <= found["listed"]["value"]
    assert found["fusion_bound"] <= found["value"]
    stored = run(f"solve {FIXED} --json")
    assert stored.record["results"][0]["scheduler"] == "residency"
    assert "nothing is fused: a stored problem has operations, but no network" in stored.err
    model = tmp_path / "product.onnx"
    onnx.save(product(), model)
    ran = run(f"solve {model} --time-limit 4 --json")
    assert ran.record["results"][0]["scheduler"] == "residency"
    assert "nothing is fused: no operation can be cut along the batch, rows or another" in ran.err


def test_pieces_name_the_fusion_plans(run: Run) -> None:
    none = run(f"solve {NETWORK} --fusion none --json").record["results"][0]
    assert none["scheduler"] == "residency"
    assert "fusion_plan" not in none
    fuse = run(f"solve {NETWORK} --fusion single-product --json").record["results"][0]
    assert fuse["scheduler"] == "fusion:space=single-product"


def test_a_fusion_plan_from_outside_is_held_against_all(run: Run, tmp_path: Path) -> None:
    file, saved = tmp_path / "mine.toml", tmp_path / "saved.json"
    file.write_text("[[fused_groups]]\nbegin = 0\nend = 18\npieces = 2\n")
    found = run(f"solve {NETWORK} --fusion-plan {file} --json -o {saved}").record["results"][0]
    assert found["scheduler"] == "residency"
    assert found["fusion_plan"] == [
        {"begin": 0, "end": 18, "micro_batches": 2, "stripes": 1, "axis": 0}
    ]
    assert found["fusion_bound"] <= found["best_fusion_plan"]["value"]
    assert found["bound"] <= found["value"]
    assert found["gap"] < found["fusion_gap"]
    assert run(f"verify {saved}").code == 0
    again = run(f"compare {NETWORK} -s belady --fusion-plan {saved} --json").record["results"]
    assert [(row["of"], row["scheduler"]) for row in again] == [
        ("layer by layer", "belady"),
        ("given fusion plan", "belady"),
        ("best fusion plan found", "fusion"),
    ]
    assert again[1]["fusion_plan"] == found["fusion_plan"]


def test_bad_fusion_plans_are_refused_before_the_search(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("[[fused_groups]]\nbegin = 0\nend = 17\npieces = 2\n")
    assert "fc8 and all later operations are in none" in refused(
        run(f"solve {NETWORK} --fusion-plan {file}")
    )
    file.write_text("[[fused_groups]]\nbegin = 0\nend = 18\npieces = 2\n")
    said = refused(run(f"solve {NETWORK} --fusion-plan {file} --fusion single-product"))
    assert "matrix products in 2 fusion tiles, which is none of --fusion single-product" in said
    assert "fixed; fusion tiles need a network" in refused(
        run(f"solve {FIXED} --fusion-plan {file}")
    )
    assert "chooses one itself" in refused(run(f"solve {NETWORK} -s fusion --fusion-plan {file}"))
    assert "takes the layer-by-layer plan" in refused(
        run(f"solve {NETWORK} -s belady --fusion all")
    )
    assert "choice for fusion tiles called 'every'" in refused(
        run(f"solve {NETWORK} --fusion every")
    )


def test_fused_groups_themselves_are_a_fusion_plan(problem: Problem) -> None:
    count = len(problem.operations)
    every = [FusedGroup(begin=0, end=count, micro_batches=4)]
    solved = spmopt.solve(problem, "belady", fusion_plan=every, time_limit=4.0, tolerance=0.3)
    assert solved.result.fused is not None
    assert solved.problem == solved.result.fused
    with pytest.raises(InputError, match=r"fused_groups\[0\]: ends at"):
        spmopt.solve(problem, fusion_plan=[FusedGroup(begin=0, end=count + 1)])


def test_an_optimum_says_of_which_fusion_it_is(
    problem: Problem, compared: spmopt.ComparisonTable
) -> None:
    page = next(each for each in compared.results if each.scheduler == "residency")
    fusion = next(each for each in compared.results if each.scheduler == "fusion")
    assert page.fusion_bound is not None
    assert page.value is not None
    assert page.value > page.fusion_bound * 1.01
    proved = replace(page, status=Status.OPTIMAL, bound=page.value, tolerance=1e-4)
    rows = compare_view(problem, [proved, fusion]).rows
    assert [row[-1] for row in rows if row[0].strip() == "residency"] == ["optimal for this fusion"]
    alone = replace(proved, fusion_bound=None)
    assert compare_view(problem, [alone]).rows[0][-1] == "optimal"
