"""Files that version 0.1 of the program wrote are still read, and mean what they meant."""

from pathlib import Path

import pytest

import spmopt
from spmopt.audit import audit
from spmopt.io.files import read_problem, read_result

CORPUS = Path(__file__).parent / "version1"


@pytest.mark.parametrize(
    ("name", "scheduler", "status"),
    [
        ("banks", "banks", "optimal"),
        ("belady", "belady", "feasible"),
        ("fluid", "fluid", "unknown"),
        ("infeasible", "whole", "infeasible"),
        ("page", "residency", "feasible"),
        ("tsai", "tsai", "feasible"),
    ],
)
def test_a_result_is_read_and_verified_again(name: str, scheduler: str, status: str) -> None:
    stored = read_result(CORPUS / f"{name}.json")
    assert stored.result.scheduler == scheduler
    assert stored.result.status == status
    assert not audit(stored.problem, stored.result).violations


def test_an_problem_is_read() -> None:
    problem = read_problem(CORPUS / "instance.json")
    assert (len(problem.operations), len(problem.tensors)) == (27, 47)


def test_rows_of_gradients_are_taken_up(tmp_path: Path) -> None:
    """A run goes on from the one row there is, whatever options and classes are called now."""
    before = (CORPUS / "tiles.csv").read_text()
    path = tmp_path / "tiles.csv"
    path.write_text(before)
    table = spmopt.gradients(
        gemm="64x48x32",
        order=("sequential", "interleaved"),
        machine="gtx1080ti",
        settings={"technology": "nvsim-sram", "spm": "2MB"},
        tile="32x16x16",
        output=path,
    )
    assert len(table.rows()) == 2
    assert path.read_text().startswith(before)
    with pytest.raises(spmopt.InputError, match="was made by another sweep"):
        spmopt.gradients(gemm="64x48x33", output=path)
