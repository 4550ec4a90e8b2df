"""Machines and technologies that a program adds by name."""

from dataclasses import replace

import pytest

from spmopt.core.errors import InputError
from spmopt.hardware import machines, technologies


@pytest.fixture(autouse=True)
def _forget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machines, "MACHINES", replace(machines.MACHINES, added={}))
    monkeypatch.setattr(technologies, "TECHNOLOGIES", replace(technologies.TECHNOLOGIES, added={}))


def test_a_registered_machine_goes_by_its_name_and_takes_overrides() -> None:
    mine = replace(machines.load_machine("small-npu"), name="mine")
    machines.register_machine(mine)
    assert "mine" in machines.names()
    assert machines.load_machine("mine") == mine
    assert machines.load_machine("mine", {"spm": "1MB"}).spm_bytes == 10**6


def test_a_registered_technology_goes_by_its_name() -> None:
    mine = replace(technologies.load_technology("nvsim-sram"), name="mine")
    technologies.register_technology(mine)
    machine = machines.load_machine("small-npu", {"technology": "mine"})
    assert machine.memory is not None
    assert machine.memory.technology == "mine"


def test_a_name_that_is_taken_is_refused() -> None:
    with pytest.raises(InputError, match="there is one already"):
        machines.register_machine(machines.load_machine("small-npu"))
    with pytest.raises(InputError, match="there is one already"):
        technologies.register_technology(technologies.load_technology("nvsim-sram"))
