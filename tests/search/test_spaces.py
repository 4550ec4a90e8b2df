"""Spaces by name, around a machine, and the scheduler that a search takes by default."""

from __future__ import annotations

from pathlib import Path

import pytest

from spmopt.core.errors import InputError
from spmopt.hardware.machines import load_machine, names
from spmopt.search.figures import static_figures
from spmopt.search.setup import Setup
from spmopt.search.spaces import find_space, space_around, with_spaces
from spmopt.sweeps.cases import Network
from tests.cli.run import runner
from tests.search.study import MLP


@pytest.mark.parametrize("name", with_spaces())
def test_a_space_of_the_package_can_be_searched(name: str) -> None:
    space = find_space(name)
    setup = Setup(
        networks=(Network(name="alexnet"),), space=space, objectives=("time_s", "cost", "pes")
    )
    space.require_possible(setup.names)
    other = find_space(name, machine=load_machine("large-npu"))
    assert (other.machine.name, other.axes) == ("large-npu", space.axes)


def test_an_unknown_space_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no space called 'scratchpat'; did you mean scratchpad"):
        find_space("scratchpat")
    with pytest.raises(InputError, match="cannot be read"):
        find_space(tmp_path / "none.toml")


@pytest.mark.parametrize("name", names())
def test_a_machine_is_the_middle_of_the_space_around_it_and_costs_one(name: str) -> None:
    machine = load_machine(name)
    if machine.banks:
        with pytest.raises(InputError, match="lists its banks"):
            space_around(machine)
        return
    space = space_around(machine)
    page = machine.page_bytes
    middle = {axis.key: axis.choices[len(axis.choices) // 2] for axis in space.axes}
    assert abs(int(middle["spm"]) - machine.spm_bytes) <= page
    assert middle["bandwidth"] == machine.dram_bytes_per_s
    made = space.candidate(middle)
    assert made.machine.operations_per_s == machine.operations_per_s
    cost = static_figures(("cost",), made, space.cost)["cost"]
    assert cost == pytest.approx(1, abs=page / machine.spm_bytes)
    space.require_possible(("time_s", "cost"))


def test_a_search_without_a_space(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    run = runner(capsys)
    line = "tune bert-tiny --batch 1 --param layers=1 --param sequence=8 --trials 1 "
    line += "--workers 0 --tolerance 0.2 --time-limit 0.5"
    ran = run(f"{line} --machine small-npu")
    assert ran.code == 0
    assert "varies spm, bandwidth, array.rows, array.columns of small-npu, of cost 1" in ran.err
    setup = run("tune show --json").record["setup"]
    assert (setup["scheduler"], setup["objectives"]) == ("fusion", ["time_s", "cost"])
    assert run(f"{line} --space scratchpad --objective time,cost").code == 0
    Path("cores.toml").write_text("[space]\ncores = [1, 2]\n")
    ran = run(f"{line} --space cores.toml --objective time")
    assert "warning: nothing is fused: cores: scheduler fusion does not" in ran.err
    ran = run(f"tune {MLP} --trials 1 --workers 0 --study mlp")
    assert (ran.code, "fused" in ran.err) == (0, False)
    assert run("tune show --study mlp --json").record["setup"]["scheduler"] == "residency"
    both = run(f"tune {MLP} --machine a100")
    assert both.err == "error: --machine: a stored problem has its own; leave it out\n"
