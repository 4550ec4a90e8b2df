"""What is said of a study before it is searched, and what is refused."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from spmopt.core.errors import InputError
from spmopt.search.cautions import cautions, require_energies
from spmopt.search.setup import Setup
from spmopt.search.space import read_space, space_of
from spmopt.sweeps.cases import Network
from tests.search.study import MLP, small_setup, small_space

FREE, APART = "bandwidth costs nothing", "technologies of two sources"
RATES = ["200GB/s", "616GB/s"]


def of(
    fields: dict[str, Any], objectives: tuple[str, ...] = ("time_s", "area_mm2"), **tables: Any
) -> Setup:
    space = space_of({"space": fields, **tables}, "space")
    return Setup(networks=(Network(name="alexnet"),), space=space, objectives=objectives)


def said(setup: Setup) -> list[str]:
    return [text.partition(" in this")[0].partition(",")[0] for text in cautions(setup)]


def test_a_dual_of_bandwidth() -> None:
    fields = {"spm": "8MiB", "technology": "nvsim-sram", "bandwidth": RATES}
    assert said(of(fields)) == [FREE]
    assert said(of({**fields, "area.mm2_per_gbps": 0.1})) == []
    assert said(of({**fields, "area.mm2_per_gbps": [0.0, 0.1]})) == []
    assert said(of(fields, ("time_s", "cost"), cost={"gbps": 0.1})) == []
    assert said(of(fields, ("time_s", "cost"), cost={"area_mm2": 1.0})) == [FREE]
    assert said(of(fields, ("time_s", "gbps"))) == []
    # Less of it may take less power.
    assert FREE not in said(of(fields, ("time_s", "power_w")))
    assert said(of(fields, ("time_s",))) == []
    assert said(of({**fields, "bandwidth": RATES[0], "spm": ["8MiB", "9MiB"]})) == []


@pytest.mark.parametrize(
    ("fields", "is_mixed"),
    [
        ({"technology": ["nvsim-sram", "nvsim-stt"]}, False),
        ({"technology": ["deepnvm-sram", "relaxed-stt"]}, False),
        ({"technology": ["deepnvm-sram", "nvsim-stt"]}, True),
        ({"technology": ["relaxed-stt", "nvsim-sram"]}, True),
        ({"bank": ["1MB:nvsim-sram,3MB:nvsim-stt", "2MB:nvsim-sram"]}, False),
        ({"bank": ["1MB:nvsim-sram,3MB:deepnvm-stt", "2MB:nvsim-sram"]}, True),
        ({"bank": ["1MB:nvsim-sram", "3MB:deepnvm-stt"]}, True),
        ({"technology": "deepnvm-sram", "cores": [1, 2]}, False),
    ],
)
def test_sources_that_disagree(fields: dict[str, Any], is_mixed: bool) -> None:
    size = {} if "bank" in fields else {"spm": "3MB"}
    space = space_of({"space": {**size, **fields}}, "space")
    setup = Setup(
        networks=(Network(name="alexnet"),),
        space=space,
        objectives=("time_s",),
        scheduler="banks" if "bank" in fields else "residency",
    )
    assert said(setup) == ([APART] if is_mixed else [])


def test_energies_of_a_stored_problem() -> None:
    for objectives in (("energy_j",), ("time_s", "edp_js"), ("power_w",)):
        with pytest.raises(
            InputError, match=r"spends no energy, its energy\.dram_pj_per_byte, .* 0; "
        ):
            require_energies(small_setup(objectives=objectives))
    with pytest.raises(InputError, match="energy_j: "):
        require_energies(small_setup(schedule_for="energy"))
    limited = small_space(constraints=["power_w <= 1"])
    with pytest.raises(InputError, match="power_w: "):
        require_energies(small_setup(limited))
    require_energies(small_setup())
    given = small_space(space={"spm": [256, 512], "page": 16, "energy.mac_pj": 1.0})
    require_energies(small_setup(given, objectives=("energy_j",)))
    require_energies(of({"cores": [1, 2]}, ("energy_j",)))


def test_weights_of_nothing() -> None:
    with pytest.raises(InputError, match=r"mlp\.json has weight 0"):
        small_setup(small_space(weights={str(MLP): 0}))
    space = space_of({"space": {"cores": [1, 2]}, "weights": {"alexnet": 0, "vgg16": 0}}, "space")
    networks = (Network(name="alexnet"), Network(name="vgg16"))
    with pytest.raises(InputError, match="all networks have weight 0"):
        Setup(networks=networks, space=space, objectives=("time_s",))


def test_values_that_repeat() -> None:
    for field, given, repeated in (
        ("cores", [8, 8], "8"),
        ("spm", ["1MB", "2MB", "1000kB"], "1000kB"),
        ("technology", ["nvsim-sram", "nvsim-stt", "nvsim-sram"], "nvsim-sram"),
        ("duplex", [True, False, True, False], "True, False"),
    ):
        with pytest.raises(InputError, match=f"{field}: values repeat: {repeated}; name each once"):
            space_of({"space": {field: given}}, "space")


def test_paths_start_in_the_folder_of_the_space(tmp_path: Path) -> None:
    folder = tmp_path / "spaces"
    folder.mkdir()
    (folder / "mine.toml").write_text(
        'cell = "SRAM"\nsource = "mine"\naccess = "32B"\nbetween = "nothing"\n[[point]]\n'
        'capacity = "2MB"\nread_latency = "3ns"\nwrite_latency = "1ns"\nread_energy = "0.5nJ"\n'
        'write_energy = "0.2nJ"\nleakage = "500mW"\narea = "2mm2"\n'
    )
    texts = {
        "field": '[space]\nspm = "2MB"\ntechnology = ["mine.toml", "nvsim-sram"]\n',
        "one": '[space]\nspm = "2MB"\ntechnology = "mine.toml"\ncores = [1, 2]\n',
        "bank": '[space]\nbank = ["2MB:mine.toml", ["2MB:mine.toml", "1MB:nvsim-stt"]]\n',
        "machine": 'machine = "m.toml"\n[space]\ncores = [1, 2]\n',
    }
    (folder / "m.toml").write_text(
        'spm = "2MB"\nbandwidth = "100GB/s"\nthroughput = "1TFLOP/s"\nclock = "1GHz"\n'
        'technology = "mine.toml"\n'
    )
    for name, text in texts.items():
        (folder / f"{name}.toml").write_text(text)
        space = read_space(folder / f"{name}.toml")
        found = [space.candidate(point).machine for point in space.points()]
        named = {
            one
            for machine in found
            for one in (
                [bank.technology for bank in machine.banks]
                if machine.memory is None
                else [machine.memory.technology]
            )
        }
        assert str(folder / "mine.toml") in named, name
        assert space_of(json.loads(json.dumps(space.record())), "again") == space


def test_energy_that_schedules_do_not_minimize() -> None:
    fields = {"spm": ["8MiB", "9MiB"], "technology": "nvsim-sram"}
    for objectives, names in (
        (("time_s", "energy_j"), "energy_j: schedules minimize time"),
        (("edp_js", "power_w"), "edp_js and power_w: schedules minimize time"),
    ):
        assert said(of(fields, objectives)) == [names]
        other = of(fields, objectives)
        assert not list(cautions(replace(other, schedule_for="energy")))
    assert said(of(fields, ("time_s", "area_mm2"))) == []
