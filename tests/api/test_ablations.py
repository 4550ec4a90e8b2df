"""What each decision is worth: schedules that are verified, and none worse than the one before."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import spmopt
from spmopt.core.order import depth_first, reorder
from spmopt.core.scheduler import Request
from spmopt.core.table import Ints
from spmopt.io.files import read_problem
from spmopt.reporting.ablation import Key
from spmopt.solving import named_orders
from spmopt.verifier import verify
from tests.ablations import problem, told
from tests.graph.networks import convolution
from tests.solving.fakes import bounds_only, install, keeps_start

PROBLEMS = Path(__file__).parents[2] / "instances"


def test_no_decision_makes_it_slower_and_what_they_save_adds_up() -> None:
    ablation = told()
    assert [each.key for each in ablation.decisions] == list(Key)
    first, last = ablation.decisions[0], ablation.decisions[-1]
    assert all(other.before_cycles == one.cycles for one, other in pairwise(ablation.decisions))
    assert all(each.saved_cycles >= 0 for each in ablation.decisions)
    assert first.cycles - sum(each.saved_cycles for each in ablation.decisions) == last.cycles
    assert first.result.scheduler == "stream"
    assert last.cycles < first.cycles
    assert all(each.saved_cycles or each.why for each in ablation.decisions[1:])
    assert ablation.best.makespan_s == last.seconds(last.cycles)


def test_every_step_is_a_legal_schedule_with_a_true_bound() -> None:
    for each in told().decisions:
        assert each.result.schedule is not None
        found = verify(each.problem, each.result.schedule)
        assert found.violations == ()
        assert found.totals == each.totals
        assert each.bound is not None
        assert each.bound <= each.cycles
        assert each.totals.compute_cycles + each.waiting_cycles == each.cycles
    for solution in told().solutions().values():
        assert not spmopt.verify(solution).violations


def test_bounds_are_of_the_class_that_was_searched() -> None:
    kinds = {each.key: each for each in told().decisions}
    assert kinds[Key.RESIDENCY].bound_of == "all schedules in the order listed"
    assert kinds[Key.FUSION].bound_of == "all fusion plans in the order listed (fusion=all)"
    least = [kinds[key].bound for key in (Key.RESIDENCY, Key.FUSION)]
    assert least[0] is not None
    assert least[1] is not None
    assert least[1] <= least[0]


def test_it_is_plain_data_and_files(tmp_path: Path) -> None:
    ablation = told()
    record = json.loads(json.dumps(ablation.record()))
    assert [row["decision"] for row in record["decisions"]] == list(Key)
    assert record["decisions"] == json.loads(json.dumps(ablation.rows()))
    assert 3 <= len(record["sentences"]) <= 6
    assert sum(row["saved_s"] for row in record["decisions"]) == pytest.approx(
        record["decisions"][0]["time_s"] - record["decisions"][-1]["time_s"]
    )
    ablation.save_solutions(tmp_path)
    assert {each.stem for each in tmp_path.iterdir()} == {*Key}
    read = spmopt.read(tmp_path / "policy.json")
    assert read.makespan_s == ablation.solutions()["policy"].makespan_s
    assert "best greedy rule" in str(ablation)


def test_what_was_not_asked_for_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, lp_bound=bounds_only)
    ablation = spmopt.ablation(problem(), fusion="none", reorder=False, time_limit=0)
    why = {each.key: each.why for each in ablation.decisions}
    assert why[Key.FUSION] == "they were not asked for"
    assert why[Key.ORDER] == "none was asked for"
    assert not any(each.fusion_space for each in ablation.decisions)
    lowered = spmopt.ablation(read_problem(PROBLEMS / "mlp.json"), reorder=False, time_limit=0)
    assert lowered.decisions[3].why.startswith("nothing is fused: a stored problem has")


def test_banks_have_a_ablation_without_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, banks=keeps_start, lp_bound=bounds_only)
    machine = spmopt.machine("rtx2080ti", bank=("64KiB:nvsim-sram", "256KiB:nvsim-stt"))
    banked = spmopt.lower(convolution(), machine)
    ablation = spmopt.ablation(banked, reorder=False, time_limit=1)
    made = {each.key: each.made for each in ablation.decisions}[Key.RESIDENCY]
    assert made is not None
    assert made.scheduler == "banks"
    assert ablation.decisions[3].why == "nobody chooses fusion tiles on such a machine"


def test_an_interrupt_keeps_what_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, lp_bound=bounds_only)
    stopped = spmopt.Callbacks(stop=lambda: True)
    ablation = spmopt.ablation(problem(), callbacks=stopped)
    assert [each.key for each in ablation.decisions] == list(Key)
    assert ablation.decisions[0].totals.makespan_cycles == ablation.decisions[-1].cycles
    assert {each.why for each in ablation.decisions[1:]} == {
        "not tried, for the run was interrupted"
    }
    assert len(ablation.record()["sentences"]) >= 2  # type: ignore[arg-type]


@pytest.mark.parametrize("is_faster", [True, False])
def test_another_order_is_taken_only_if_it_is_faster(
    monkeypatch: pytest.MonkeyPatch, is_faster: bool
) -> None:
    """Depth first, the best rule takes 5 % longer than as listed: told from either of them."""
    install(monkeypatch, residency=keeps_start, lp_bound=bounds_only)  # whatever time there is
    given = read_problem(PROBLEMS / "attention.json")
    turned = depth_first(given)
    listed = reorder(given, turned) if is_faster else given
    turned = np.argsort(turned) if is_faster else turned
    asked: list[Request] = []

    def found(problem: object, name: str, request: Request) -> Ints:
        assert (problem, name) == (listed, "searched")
        asked.append(request)
        return turned

    monkeypatch.setattr(named_orders, "order_named", found)
    ablation = spmopt.ablation(listed, fusion="none", time_limit=4, threads=1)
    last, before = ablation.decisions[-1], ablation.decisions[-2]
    assert [request.time_limit_s < 2 for request in asked] == [True]
    assert last.made is not None
    assert last.made.totals is not None
    assert last.made.schedule is not None
    made = last.made.totals.makespan_cycles
    assert verify(reorder(listed, turned), last.made.schedule).totals == last.made.totals
    assert last.is_reordered == (made < before.cycles) == is_faster
    assert last.cycles == min(made, before.cycles)
    if is_faster:
        assert not last.why
        assert last.bound_of == "all schedules in the order found"
        assert ablation.best.problem.name.endswith(", searched order")
    else:
        assert last.why.startswith("its best schedule takes ")
        assert last.why.endswith(" % more than before")
        assert last.result is before.result


def test_what_cannot_be_scheduled_has_no_ablation() -> None:
    with pytest.raises(spmopt.InfeasibleError):
        spmopt.ablation(read_problem(PROBLEMS / "infeasible.json"))


def test_bad_input_is_one_line() -> None:
    with pytest.raises(spmopt.InputError, match="time_limit -1: must be a number, 0 or more"):
        spmopt.ablation(problem(), time_limit=-1)
    with pytest.raises(spmopt.InputError, match="did you mean batch"):
        spmopt.ablation(problem(), fusion="batsh")
    with pytest.raises(spmopt.InputError, match="fusion"):
        spmopt.ablation(read_problem(PROBLEMS / "mlp.json"), fusion="all")
    with pytest.raises(spmopt.InputError, match="problem 'mlp': must be Problem"):
        spmopt.ablation("mlp")  # type: ignore[arg-type]
