"""Schedules of networks executed, from Python and by the command line."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import spmopt
from spmopt.core.fusion.tileable_graph import tileable_graph_of
from spmopt.core.problem import Problem
from spmopt.execution.memory import Bytes
from spmopt.graph.build import GraphBuilder
from spmopt.graph.operators import SPECS
from spmopt.io.files import read_problem
from tests.cli.run import Run
from tests.graph.networks import convolution, residual
from tests.solving.fakes import bounds_only, install
from tests.thorough import THOROUGH
from tests.uniform import uniform_plan

PROBLEMS = Path(__file__).parents[2] / "instances"
POLICIES = (
    *("stream", "lru", "belady", "belady-size:granularity=page", "frequency", "static", "msa"),
    *("tsai", "next-layer", "autotm", "double-buffer"),
)


@pytest.fixture(scope="module")
def small() -> Problem:
    return read_problem(PROBLEMS / "lstm.json")


@pytest.mark.parametrize("scheduler", [*POLICIES, "residency", "contiguous"])
def test_every_scheduler_keeps_results(
    small: Problem, scheduler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, lp_bound=bounds_only)
    # By day one channel or two, by turns.
    for duplex in (False, True) if THOROUGH else (len(scheduler) % 2 > 0,):
        on = spmopt.lower(small, spmopt.machine(small.machine, duplex=duplex))
        found = spmopt.run(spmopt.solve(on, scheduler, time_limit=0.3))
        assert found.same, found
        assert found.comparison.tensors > 4


def test_the_command_prints_figures_and_a_verdict(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "belady.json"
    assert run(f"solve {PROBLEMS / 'lstm.json'} -s belady -o {file}").code == 0
    ran = run(f"run {file} --seed 3")
    assert ran.code == 0
    rows = dict(line.split(None, 1) for line in ran.out.splitlines()[2:])
    assert list(rows) == ["kernels", "commands", "loaded", "stored", "peak", "compared", "verdict"]
    assert rows["verdict"] == "the results are bit for bit those of plain execution"
    assert rows["kernels"] == "hash, of every operand byte; seed 3"
    totals = spmopt.read(file).result.totals
    record = run(f"run {file} --json").record
    assert totals is not None
    assert record["loaded_bytes"] == totals.dram_in_bytes
    assert record["stored_bytes"] == totals.dram_out_bytes
    assert record["peak_spm_bytes"] == totals.peak_spm_bytes
    assert (record["same"], record["differences"]) == (True, [])


def test_what_differs_is_named(small: Problem) -> None:
    solution = spmopt.solve(small, "belady")
    count = iter(range(9))

    def kernel(index: int, operands: Sequence[Bytes]) -> Sequence[Bytes]:
        operation = small.operations[index]
        results = [np.zeros(small.tensors[t].size_bytes, np.uint8) for t in operation.writes]
        if index == 2:  # something else every time
            results[0][0] = next(count)
        return results

    (made,) = small.operations[2].writes
    wrong = next(each.name for each in small.operations if made in each.reads)
    found = spmopt.run(solution, kernels=kernel)
    assert not found.same
    assert found.comparison.wrong_operation == wrong
    assert f"the first operation that read wrong bytes is {wrong}" in str(found)


def test_an_illegal_schedule_is_refused(run: Run, small: Problem, tmp_path: Path) -> None:
    solution = spmopt.solve(small, "belady")
    commands = solution.schedule.commands
    broken = replace(solution.schedule, commands=commands.take(slice(1, None)))
    result = replace(solution.result, schedule=broken)
    file = tmp_path / "broken.json"
    spmopt.Solution(small, result).save(file)
    ran = run(f"run {file}")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("error: schedule of ")
    assert "is not legal: " in ran.err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("run none.json", "error: none.json: cannot be read"),
        (f"run {PROBLEMS / 'lstm.json'}", "format is 'spmopt-problem', not 'spmopt-result'"),
        ("run {file} --kernels magic", "error: --kernels magic: must be reference or hash"),
        ("run {file} --seed -1", "error: --seed -1: must be 0 or more"),
    ],
)
def test_bad_input_gets_one_line(run: Run, tmp_path: Path, line: str, said: str) -> None:
    file = tmp_path / "lru.json"
    assert run(f"solve {PROBLEMS / 'mlp.json'} -s lru -o {file}").code == 0
    ran = run(line.format(file=file))
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert said in ran.err


SMALL = "bert-tiny --batch 2 --param sequence=4 --param hidden=8 --param heads=2"


def test_a_network_beside_a_fused_result_must_be_its_own() -> None:
    """The file has a network: another one beside it was taken for the same."""
    problem = spmopt.lower(
        spmopt.load(convolution()), spmopt.machine("small-npu", spm="4KB", page="64B")
    )
    found = spmopt.solve(problem, fusion="batch", time_limit=0.5)
    assert found.result.fused is not None
    assert spmopt.run(found, convolution()).same
    with pytest.raises(spmopt.InputError, match="was made of another one"):
        spmopt.run(found, residual())


def test_a_network_beside_a_result_is_computed(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, lp_bound=bounds_only)
    file = tmp_path / "belady.json"
    assert run(f"solve {SMALL} --training --optimizer adam --spm 2MB -s belady -o {file}").code == 0
    for data in ("integer", "normal"):
        ran = run(f"run {file} {SMALL} --training --optimizer adam --data {data} --json")
        assert (ran.code, ran.record["same"], ran.record["largest_difference"]) == (0, True, 0.0)
        assert ran.record["kernels"] == f"reference, {data} data; seed 0"
    other = run(f"run {file} {SMALL}")
    assert other.code == 2
    assert "was made of another one (embedding.tokens differs)" in other.err
    for options, said in (
        ("--kernels reference", "kernels reference: the result does not say what its operations"),
        ("--data normal", "kernels reference: the result does not say"),
        ("--kernels hash --data normal", "--data: is for kernels reference"),
        (f"{SMALL} --training --optimizer adam --data odd", "no data called 'odd'"),
    ):
        ran = run(f"run {file} {options}")
        assert (ran.code, ran.err.count("\n")) == (2, 1)
        assert said in ran.err


@pytest.mark.parametrize("dtype", ["bf16", "fp16", "fp64"])
def test_other_types_of_numbers(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, lp_bound=bounds_only)
    workload = spmopt.load(residual(), training=True, dtype=dtype, optimizer="sgd")
    problem = spmopt.lower(workload, spmopt.machine(spm="2KiB", page="64B"))
    found = spmopt.run(spmopt.solve(problem, "belady"), data="normal")
    assert found.same
    assert found.kernels.startswith("reference")


def test_what_has_no_kernel_is_named_or_hashed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    install(monkeypatch, lp_bound=bounds_only)
    rules = tmp_path / "rules.toml"
    rules.write_text('["com.acme.Bent"]\noperations = 1\n', encoding="utf-8")
    spmopt.register_operators(rules)
    monkeypatch.setitem(SPECS.added, "com.acme.Bent", SPECS.added.pop("com.acme.Bent"))
    builder = GraphBuilder("steep")
    x, w = builder.input("x", (4, 8)), builder.weight("w", (8, 8))
    y = builder.add("com.acme.Bent", [builder.add("Gemm", [x, w])], name="bent")
    workload = spmopt.load(builder.finish([y]))
    solution = spmopt.solve(spmopt.lower(workload, spmopt.machine(spm="8KiB")), "belady")
    with pytest.raises(spmopt.InputError, match=r"none for com\.acme\.Bent \(bent\); give one"):
        spmopt.run(solution, kernels="reference")
    notes = list[str]()
    found = spmopt.run(solution, callbacks=spmopt.Callbacks(note=notes.append))
    assert found.same
    assert found.kernels.startswith("hash")
    assert notes[0].startswith("kernels are hash: none for com.acme.Bent")


def test_a_file_in_pieces_says_what_to_compute(run: Run, tmp_path: Path) -> None:
    workload = spmopt.load(convolution())
    problem = spmopt.lower(workload, spmopt.machine(spm="2KiB", page="64B"))
    tileable = tileable_graph_of(problem)
    fusion_plan = uniform_plan(tileable, tileable.batch, stripes=2)
    file = tmp_path / "fusion.json"
    spmopt.solve(problem, "residency", fusion_plan=fusion_plan, time_limit=0.3).save(file)
    for data, said in (("integer", "bit for bit those"), ("normal", "within the tolerance")):
        ran = run(f"run {file} --data {data}")
        assert ran.code == 0
        assert f"the results are {said} of plain execution" in ran.out
    assert "(up to 0.001 of the largest number allowed)" in ran.out
