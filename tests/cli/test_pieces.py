"""``--pieces`` and ``--cover``: what is computed in pieces, beside the list as given."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import spmopt
from spmopt.core.errors import InputError
from spmopt.core.instance import Instance
from spmopt.core.pieces.segments import Segment
from spmopt.core.result import Status
from spmopt.reporting.comparison import compare_view
from tests.cli.run import Run
from tests.cli.test_failures import refused

NETWORK = "alexnet --batch 4 --spm 1MB --time-limit 4 --tolerance 0.02"
FIXED = "instances/mlp.json"


@pytest.fixture(scope="module")
def instance() -> Instance:
    return spmopt.lower(spmopt.load("alexnet", batch=4), spmopt.machine("rtx2080ti", spm="1MB"))


@pytest.fixture(scope="module")
def compared(instance: Instance) -> spmopt.ComparisonTable:
    return spmopt.compare(
        instance, ["belady", "page"], pieces="all", time_limit=4.0, tolerance=1e-3
    )


def test_the_list_as_given_and_the_best_cover_stand_side_by_side(
    compared: spmopt.ComparisonTable,
) -> None:
    rows = [(row["of"], row["scheduler"]) for row in compared.rows()]
    listed, best = "layer by layer", "best fusion plan found"
    assert rows == [
        (listed, "belady"),
        (listed, "page"),
        (best, "belady"),
        (best, "pieces"),
    ]
    page = next(each for each in compared.results if each.scheduler == "page")
    pieces = next(each for each in compared.results if each.scheduler == "pieces")
    again = compared.on_cover["belady"].result
    assert compared["belady"].result.pieces is None
    assert again.pieces is not None
    assert again.pieces is pieces.pieces
    assert again.bound == pieces.bound
    assert {each.cover_bound for each in compared.results} == {pieces.cover_bound}
    assert pieces.value is not None
    assert page.value is not None
    assert again.value is not None
    assert pieces.value <= min(page.value, again.value)
    assert pieces.beside[0].value == page.value
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
    assert "With fusion: optimum between" in text
    assert "Belady, layer by layer: " in text
    assert " above the fused optimum." in text
    assert "Fusion space `all`: consecutive groups in the given order; each untiled" in text


def test_solve_takes_pieces_of_a_network_and_page_of_an_instance(run: Run) -> None:
    found = run(f"solve {NETWORK} --json").record["results"][0]
    assert found["scheduler"] == "pieces"
    assert found["cover"][0]["begin"] == 0
    assert found["listed"]["scheduler"] == "page"
    assert found["value"] <= found["listed"]["value"]
    assert found["cover_bound"] <= found["value"]
    assert run(f"solve {FIXED} --json").record["results"][0]["scheduler"] == "page"
    ran = run("solve dlrm --batch 1 --spm 1MB --time-limit 4 --tolerance 0.02 --json")
    assert ran.record["results"][0]["scheduler"] == "page"
    assert "nothing is computed in pieces: no operation can be cut along the batch or" in ran.err


def test_pieces_name_the_covers(run: Run) -> None:
    none = run(f"solve {NETWORK} --pieces none --json").record["results"][0]
    assert none["scheduler"] == "page"
    assert "cover" not in none
    fuse = run(f"solve {NETWORK} --pieces fuse --json").record["results"][0]
    assert fuse["scheduler"] == "pieces:family=fuse"


def test_a_cover_from_outside_is_held_against_all(run: Run, tmp_path: Path) -> None:
    file, saved = tmp_path / "mine.toml", tmp_path / "saved.json"
    file.write_text("[[segments]]\nbegin = 0\nend = 18\npieces = 2\n")
    found = run(f"solve {NETWORK} --cover {file} --json -o {saved}").record["results"][0]
    assert found["scheduler"] == "page"
    assert found["cover"] == [{"begin": 0, "end": 18, "pieces": 2, "bands": 1}]
    assert found["cover_bound"] <= found["best_cover"]["value"]
    assert found["bound"] <= found["value"]
    assert found["gap"] < found["cover_gap"]
    assert run(f"verify {saved}").code == 0
    again = run(f"compare {NETWORK} -s belady --cover {saved} --json").record["results"]
    assert [(row["of"], row["scheduler"]) for row in again] == [
        ("layer by layer", "belady"),
        ("given fusion plan", "belady"),
        ("best fusion plan found", "pieces"),
    ]
    assert again[1]["cover"] == found["cover"]


def test_bad_covers_are_refused_before_the_search(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("[[segments]]\nbegin = 0\nend = 17\npieces = 2\n")
    assert "fc8 and what follows it are in none" in refused(run(f"solve {NETWORK} --cover {file}"))
    file.write_text("[[segments]]\nbegin = 0\nend = 18\npieces = 2\n")
    said = refused(run(f"solve {NETWORK} --cover {file} --pieces fuse"))
    assert "matrix products in 2 pieces, which is none of --pieces fuse" in said
    assert "fixed; pieces need a network" in refused(run(f"solve {FIXED} --cover {file}"))
    assert "chooses one itself" in refused(run(f"solve {NETWORK} -s pieces --cover {file}"))
    assert "takes the list as given" in refused(run(f"solve {NETWORK} -s belady --pieces all"))
    assert "choice for pieces called 'every'" in refused(run(f"solve {NETWORK} --pieces every"))


def test_segments_themselves_are_a_cover(instance: Instance) -> None:
    count = len(instance.operations)
    every = [Segment(begin=0, end=count, pieces=4)]
    solved = spmopt.solve(instance, "belady", cover=every, time_limit=4.0, tolerance=0.02)
    assert solved.result.pieces is not None
    assert solved.instance == solved.result.pieces.instance
    with pytest.raises(InputError, match=r"segments\[0\]: ends at"):
        spmopt.solve(instance, cover=[Segment(begin=0, end=count + 1)])


def test_an_optimum_says_of_which_fusion_it_is(
    instance: Instance, compared: spmopt.ComparisonTable
) -> None:
    page = next(each for each in compared.results if each.scheduler == "page")
    pieces = next(each for each in compared.results if each.scheduler == "pieces")
    assert page.cover_bound is not None
    assert page.value is not None
    assert page.value > page.cover_bound * 1.01
    proved = replace(page, status=Status.OPTIMAL, bound=page.value, tolerance=1e-4)
    rows = compare_view(instance, [proved, pieces]).rows
    assert [row[-1] for row in rows if row[0].strip() == "page"] == ["optimal for this fusion"]
    alone = replace(proved, cover_bound=None)
    assert compare_view(instance, [alone]).rows[0][-1] == "optimal"
