"""Operations that no scratchpad of the size can hold: figures, step, and who is in the way."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest

from spmopt.core.errors import Conflict, InfeasibleError, Member
from spmopt.core.mappings import fitting_mappings, unfit
from spmopt.core.operation import STREAMED, Operation
from spmopt.core.problem import Problem
from spmopt.io.files import write_problem
from tests.cli.run import Run
from tests.cli.test_failures import refused
from tests.strategies import random_problem
from tests.tiny import Op, tiny

TENSORS = {"a": (10, "in"), "b": (7, "in"), "c": (4, "in"), "d": (1, "in"), "e": (16, "in")}


def proof(*operations: Op | list[Op], spm: int) -> Conflict:
    found = unfit(tiny(TENSORS, operations, spm=spm))
    assert found is not None
    return found


def test_the_neediest_operation_is_named_with_its_bytes_and_step() -> None:
    # Pages of 4: 12 + 8 + 4 bytes and 4 of scratch, against 19 bytes, which are 16 in pages.
    found = proof(
        Op(reads="e"),
        Op(reads="a", required_resident="a", scratch=9),
        Op(reads="a b c e", required_resident="a b c", scratch=3),
        spm=19,
    )
    assert (found.where, found.step) == ("operation op2", 2)
    figures = (found.required_bytes, found.available_bytes, found.missing_bytes)
    assert figures == (28, 16, 12)
    # a and b alone are too many: without one of them all else would fit.
    assert found.members == (Member(name="a", size_bytes=12), Member(name="b", size_bytes=8))
    assert str(found) == (
        "operation op2: its required-resident operands and scratch need 28 bytes of SPM in "
        "pages of 4 in "
        "step 2, available are 16, missing are 12; a (12 bytes) and b (8 bytes) already do not fit "
        "together; give a larger --spm"
    )


def test_scratch_is_a_member() -> None:
    found = proof(Op(reads="e", scratch=21), spm=20)
    assert found.members == (Member(name="scratch", size_bytes=24),)
    assert "its scratch need 24 bytes" not in str(found)
    assert "its scratch needs 24 bytes" in str(found)
    assert "scratch (24 bytes) alone does not fit" in str(found)
    both = proof(Op(reads="a", required_resident="a", scratch=12), spm=20)
    assert {member.name for member in both.members} == {"a", "scratch"}


def test_every_mode_must_fail_for_members_to_conflict() -> None:
    mappings = [Op(reads="a e", required_resident="a"), Op(reads="a e", required_resident="e")]
    found = proof(mappings, spm=8)
    # 12 bytes in one mapping, 16 in the other: without either tensor one of the mappings would do.
    assert found.required_bytes == 12
    assert {member.name for member in found.members} == {"a", "e"}
    assert "in step 0 at least, in any mapping" in str(found)
    assert unfit(tiny(TENSORS, [mappings], spm=12)) is None


@pytest.mark.parametrize("seed", range(25))
def test_members_are_irreducible(seed: int) -> None:
    """Only they resident, the operation does not fit; with any one of them streamed, it does."""
    problem = random_problem(seed, max_mappings=2, required_resident=True)
    source = random.Random(seed)
    operations = [
        replace(
            op,
            mappings=tuple(
                replace(
                    mapping,
                    scratch_bytes=source.randint(0, 12),
                    operands=tuple(
                        replace(o, required_resident=source.random() < 0.8)
                        for o in mapping.operands
                    ),
                )
                for mapping in op.mappings
            ),
        )
        for op in problem.operations
    ]
    machine = replace(problem.machine, spm_bytes=2 * problem.machine.page_bytes)
    tight = replace(problem, machine=machine, operations=tuple(operations))
    found = unfit(tight)
    if found is None:
        assert fitting_mappings(tight).size == len(operations)
        return
    with pytest.raises(InfeasibleError) as raised:
        fitting_mappings(tight)
    assert raised.value.conflict == found
    names = {member.name for member in found.members}
    assert not fits(tight, found, names)
    for name in names:
        assert fits(tight, found, names - {name})
    enough = replace(machine, spm_bytes=found.required_bytes)
    assert unfit(replace(tight, machine=enough)) is None


def fits(problem: Problem, found: Conflict, names: set[str]) -> bool:
    """Whether the operation would fit if only these had to be on chip."""
    assert found.step is not None
    operation = problem.operations[found.step]
    mappings = tuple(
        replace(
            mapping,
            scratch_bytes=mapping.scratch_bytes if "scratch" in names else 0,
            operands=tuple(
                replace(
                    o, required_resident=o.required_resident and problem.tensors[t].name in names
                )
                for t, o in zip(operation.tensors, mapping.operands, strict=True)
            ),
        )
        for mapping in operation.mappings
    )
    every = list(problem.operations)
    every[found.step] = replace(operation, mappings=mappings)
    alone = [op if op.name == operation.name else streamed(op) for op in every]
    return unfit(replace(problem, operations=tuple(alone))) is None


def streamed(operation: Operation) -> Operation:
    """It needs nothing on chip."""
    return replace(
        operation,
        mappings=tuple(
            replace(mapping, scratch_bytes=0, operands=(STREAMED,) * len(mapping.operands))
            for mapping in operation.mappings
        ),
    )


class TestCommands:
    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        path = tmp_path / "i.json"
        problem = tiny(TENSORS, [Op(reads="a b c d", required_resident="a b c d")], spm=64)
        write_problem(path, problem)
        return path

    def test_solve(self, run: Run, path: Path) -> None:
        ran = run(f"solve {path} --spm 8B -s belady")
        assert ran.code == 3
        assert "need 28 bytes of SPM in pages of 4 in step 0, available are 8" in ran.out
        ran = run(f"solve {path} --spm 8B -s belady --json")
        assert ran.code == 3
        conflict = ran.record["conflict"]
        assert conflict["line"] in ran.record["results"][0]["notes"]
        assert (conflict["required_bytes"], conflict["missing_bytes"]) == (28, 20)
        assert [member["name"] for member in conflict["members"]] == ["a"]

    def test_some_members_stand_for_all_in_one_line(self, run: Run, path: Path) -> None:
        # All four are needed for a conflict: 12 + 8 + 4 + 4 > 24.
        some = "a (12 bytes), b (8 bytes), c (4 bytes) and 1 more already do not fit"
        for command in ("solve", "compare"):
            assert some in run(f"{command} {path} --spm 24B -s belady").out
        assert some in refused(run(f"explain {path} --spm 24B -s belady"), code=3)

    def test_verify_proves_it_again(self, run: Run, path: Path, tmp_path: Path) -> None:
        result = tmp_path / "r.json"
        assert run(f"solve {path} --spm 24B -s belady -o {result}").code == 3
        out = run(f"verify {result}").out
        assert "proof     operation op0: its required-resident operands need 28 bytes" in out
        record = run(f"verify {result} --json").record
        assert record["infeasible"] == record["conflict"]["line"]
        assert record["conflict"]["irreducible"] is True
        document = json.loads(result.read_text())
        assert document["status"] == "infeasible"
