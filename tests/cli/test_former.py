"""Names of the version before work once more: each is replaced, with a note."""

from pathlib import Path

import pytest

from spmopt.cli.former import replace_former
from spmopt.schedulers.registry import find
from tests.cli.run import Run


@pytest.mark.parametrize(
    ("old", "new", "notes"),
    [
        ("story ncf", "ablate ncf", ["story is now ablate"]),
        ("place b.csv", "allocate b.csv", ["place is now allocate"]),
        ("solve ncf --pieces none", "solve ncf --fusion none", ["--pieces is now --fusion"]),
        (
            "solve ncf --pieces=fuse",
            "solve ncf --fusion=single-product",
            ["--pieces is now --fusion", "--fusion fuse is now --fusion single-product"],
        ),
        (
            "compare ncf -s belady,page@pulp:cbc,pieces:family=fuse",
            "compare ncf -s belady,residency@pulp:cbc,fusion:space=single-product",
            [
                "-s belady,page@pulp:cbc,pieces:family=fuse is now "
                "-s belady,residency@pulp:cbc,fusion:space=single-product"
            ],
        ),
        ("solve page --page 4KB -o pieces", "solve page --page 4KB -o pieces", []),
        ("solve ncf -- --pieces", "solve ncf -- --pieces", []),
    ],
)
def test_a_former_name_is_replaced_with_a_note(old: str, new: str, notes: list[str]) -> None:
    assert replace_former(old.split()) == (new.split(), [f"note: {note}" for note in notes])


def test_a_command_with_former_names_runs(run: Run) -> None:
    ran = run("solve instances/mlp.json --scheduler page --json")
    assert (ran.code, '"residency"' in ran.out) == (0, True)
    assert "note: --scheduler page is now --scheduler residency" in ran.err


def test_the_new_name_of_a_scheduler_is_found_by_the_former_one() -> None:
    assert find("page") is find("residency")
    assert find("pieces:family=fuse").name == "fusion:space=single-product"


def test_a_command_by_its_former_name_writes_the_file(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "problem.json"
    assert run(f"instance ncf --lowering panel -o {path}").code == 0
    assert path.exists()
