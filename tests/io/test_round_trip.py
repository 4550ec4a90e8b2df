import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from spmopt.core.errors import InputError
from spmopt.core.machine import SystolicArray
from spmopt.core.objective import REPLAY
from spmopt.core.order import same_order
from spmopt.core.problem import Problem
from spmopt.core.result import WHOLE_TENSORS, Certificate, Result, Status
from spmopt.io.files import (
    decode_schedule,
    encode_schedule,
    read_problem,
    read_result,
    write_problem,
    write_result,
)
from tests.checked import need
from tests.io.samples import schedule, stored
from tests.strategies import problems, random_problem

PER_EXAMPLE = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@PER_EXAMPLE
@given(problems(max_mappings=3, duplex=True, setup=True))
def test_problems_are_lossless(tmp_path: Path, problem: Problem) -> None:
    path = tmp_path / "problem.json"
    write_problem(path, problem)
    assert read_problem(path) == problem


def test_names_arrays_and_fractions_of_energy_are_lossless(tmp_path: Path) -> None:
    problem = random_problem(1)
    machine = replace(
        problem.machine,
        name='quote " newline \n ü',
        array=SystolicArray(rows=3, columns=5, dataflow="ws"),
        energy=replace(problem.machine.energy, mac_pj=0.1 + 0.2, leakage_w=5e-324),
    )
    problem = replace(problem, machine=machine, source="somewhere")
    write_problem(tmp_path / "i.json", problem)
    again = read_problem(tmp_path / "i.json")
    assert again == problem
    assert again.source == "somewhere"


@pytest.mark.parametrize("rows", [0, 1, 1000])
def test_schedules_are_lossless(rows: int) -> None:
    document = json.loads(json.dumps(encode_schedule(schedule(rows))))
    assert decode_schedule(document) == schedule(rows)


def equal(one: Certificate | None, other: Certificate | None) -> bool:
    if one is None or other is None:
        return one is other
    names = ("spm", "dram_in", "dram_out")
    if not same_order(one.order, other.order):
        return False
    alike = ("objective", "bits", "holds_for")
    if any(getattr(one, name) != getattr(other, name) for name in alike):
        return False
    pairs = [(getattr(one, name), getattr(other, name)) for name in names]
    if (one.spm_at_start is None) != (other.spm_at_start is None):
        return False
    if one.spm_at_start is not None:
        pairs.append((one.spm_at_start, other.spm_at_start))
    return all(np.array_equal(*pair) for pair in pairs)


def test_a_certified_bound_of_a_class_is_lossless(tmp_path: Path) -> None:
    before = stored(random_problem(0))
    known, duals = before.result.class_bound, before.result.certificate
    assert known is not None
    assert duals is not None
    known = replace(known, certificate=replace(duals, holds_for=WHOLE_TENSORS))
    write_result(
        tmp_path / "r.json", replace(before, result=replace(before.result, class_bound=known))
    )
    after = read_result(tmp_path / "r.json").result.class_bound
    assert after is not None
    assert equal(after.certificate, known.certificate)
    assert replace(after, certificate=None) == replace(known, certificate=None)
    # Where it is for all schedules, or not certified, files are as they were.
    write_result(tmp_path / "plain.json", before)
    plain = json.loads((tmp_path / "plain.json").read_text())
    assert "certificate" not in plain["class_bound"]
    assert "holds_for" not in plain["certificate"]


def test_a_bound_of_a_former_class_is_read_without_its_proof(tmp_path: Path) -> None:
    """Files of former versions have certificates with charges, which nothing checks any more."""
    before, path = stored(random_problem(0)), tmp_path / "r.json"
    known, duals = before.result.class_bound, before.result.certificate
    assert known is not None
    proved = replace(known, certificate=replace(need(duals), holds_for=WHOLE_TENSORS))
    result = replace(before.result, class_bound=proved, status=Status.OPTIMAL)
    write_result(path, replace(before, result=result))
    document = json.loads(path.read_text())
    former = "whole tensors, between two uses kept in full or dropped in full"
    document["class_bound"]["holds_for"] = former
    document["class_bound"]["certificate"]["holds_for"] = former
    document["class_bound"]["certificate"]["charges"] = {"step": [0], "tensor": [0], "dual": [1]}
    path.write_text(json.dumps(document))
    after = read_result(path).result
    assert after.status is Status.FEASIBLE
    assert after.class_bound == replace(known, holds_for=former, certificate=None)


@pytest.mark.parametrize("dual", [0, 1 << 40])
def test_duals_at_starts_are_lossless(tmp_path: Path, dual: int) -> None:
    before, path = stored(random_problem(0)), tmp_path / "r.json"
    assert before.result.certificate is not None
    start = np.full_like(before.result.certificate.spm, dual)
    proof = replace(before.result.certificate, objective=REPLAY, spm_at_start=start)
    write_result(path, replace(before, result=replace(before.result, certificate=proof)))
    after = read_result(path).result.certificate
    assert equal(after, proof)
    assert not equal(after, replace(proof, spm_at_start=None))
    document = json.loads(path.read_text())
    # Files without them, as all that are older, have none; and none are written then.
    del document["certificate"]["spm_at_start"]
    path.write_text(json.dumps(document))
    older = read_result(path)
    assert equal(older.result.certificate, replace(proof, spm_at_start=None))
    write_result(path, older)
    assert json.loads(path.read_text()) == document
    for wrong in ("1", [0.5], [True], {"at": 1}):
        document["certificate"]["spm_at_start"] = wrong
        path.write_text(json.dumps(document))
        with pytest.raises(InputError, match="spm_at_start"):
            read_result(path)


@pytest.mark.parametrize("seed", range(2))
def test_results_are_lossless(tmp_path: Path, seed: int) -> None:
    before = stored(random_problem(seed, max_mappings=2))
    write_result(tmp_path / "r.json", before)
    after = read_result(tmp_path / "r.json")
    assert after.problem == before.problem
    assert after.versions == before.versions
    for field in fields(Result):
        one, other = getattr(after.result, field.name), getattr(before.result, field.name)
        same = equal(one, other) if field.name == "certificate" else one == other
        assert same, field.name


def version_1(path: Path, *lacking: str) -> Any:
    """A file of version 1 of a result, and without some of its fields."""
    write_result(path, stored(random_problem(0)))
    document = json.loads(path.read_text())
    for part in (document, document["problem"], document["schedule"]):
        assert part["version"] == 5
        part["version"] = 1
    for name in lacking:
        *outer, last = name.split(".")
        inner = document
        for key in outer:
            inner = inner[key]
        del inner[last]
    path.write_text(json.dumps(document))
    return document


@pytest.mark.parametrize(
    ("lacking", "meaning"),
    [
        ("tolerance", {"tolerance": None}),
        ("totals.dma_commands", {"totals.dma_commands": None}),
        ("totals.dma_descriptors", {"totals.dma_descriptors": None}),
        ("certificate.order", {"certificate.order": None}),
    ],
)
def test_version_1_may_lack_what_came_later(
    tmp_path: Path, lacking: str, meaning: dict[str, object]
) -> None:
    path = tmp_path / "r.json"
    document = version_1(path, lacking)
    found: Any = read_result(path).result
    for name, value in meaning.items():
        for part in name.split("."):
            found = getattr(found, part)
        assert found == value
    document["version"] = document["problem"]["version"] = document["schedule"]["version"] = 3
    path.write_text(json.dumps(document))
    with pytest.raises(InputError, match=f"{lacking}: is missing"):
        read_result(path)


@pytest.mark.parametrize(("version", "mapper"), [(1, "panel"), (2, "panel"), (3, "tiled")])
def test_version_2_calls_a_lowering_otherwise(tmp_path: Path, version: int, mapper: str) -> None:
    path = tmp_path / "r.json"
    document = version_1(path)
    for part in (document, document["problem"], document["schedule"]):
        part["version"] = version
    document["problem"]["mapper"] = "tiled"
    path.write_text(json.dumps(document))
    assert read_result(path).problem.mapper == mapper


def test_an_objective_of_version_1_says_by_its_name_that_it_is_replayed(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    document = version_1(path)
    for objective in (document["objective"], document["certificate"]["objective"]):
        objective["name"] = "replay"
        assert "replayed" not in objective
    path.write_text(json.dumps(document))
    assert read_result(path).result.objective.replayed


def test_files_from_before_there_were_technologies_are_read(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    lacking = ("problem.machine.area", "problem.machine.memory", "problem.machine.energy.source")
    version_1(path, *lacking)
    assert read_result(path).problem == random_problem(0)


def test_a_relaxation_has_no_schedule(tmp_path: Path) -> None:
    full = stored(random_problem(0))
    bare = Result(
        scheduler="lp-bound", objective=full.result.objective, status=Status.UNKNOWN, solve_s=0.0
    )
    write_result(tmp_path / "r.json", replace(full, result=bare))
    assert read_result(tmp_path / "r.json").result == bare
