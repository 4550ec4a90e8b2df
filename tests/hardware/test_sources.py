"""Sources of technologies that disagree: by how much, and where it is said."""

from pathlib import Path

import pytest

from spmopt.hardware.machines import load_machine, override
from spmopt.hardware.scratchpad import disagreement, sources_of
from spmopt.hardware.technologies import load_technology, names
from tests.cli.run import runner


@pytest.mark.parametrize("cell", ["sram", "stt", "sot"])
def test_they_disagree_by_two_orders_of_magnitude(cell: str) -> None:
    one, other = (load_technology(f"{source}-{cell}") for source in ("deepnvm", "nvsim"))
    ratio = one.at(3_000_000).leakage_w / other.at(3_000_000).leakage_w
    assert 50 < ratio < 200


def test_every_technology_is_of_one_of_them() -> None:
    sources = {name: load_technology(name).source for name in names()}
    nvsim = {name for name in sources if disagreement([sources[name], sources["deepnvm-stt"]])}
    deepnvm = {name for name in sources if disagreement([sources[name], sources["nvsim-stt"]])}
    assert nvsim == {name for name in names() if name.startswith("nvsim-")}
    assert nvsim | deepnvm == set(names())
    assert not nvsim & deepnvm
    assert disagreement([*(sources[name] for name in nvsim), "a paper"]) is None
    assert disagreement([]) is None


def test_sources_of_a_machine() -> None:
    machine = load_machine("rtx2080ti")
    assert sources_of(machine) == ()
    uniform = override(machine, {"spm": "8MiB", "technology": "nvsim-stt"})
    assert sources_of(uniform) == (load_technology("nvsim-stt").source,)
    mixed = override(machine, {"bank": "3MB:deepnvm-stt,1MiB:nvsim-sram"})
    assert disagreement(sources_of(mixed)) is not None
    assert disagreement(sources_of(mixed)[:1]) is None


def test_banks_of_both_are_warned_of(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    run = runner(capsys)
    for second, count in (("nvsim-stt", 0), ("deepnvm-stt", 1)):
        line = f"--bank 1MiB:nvsim-sram --bank 3MB:{second} -o {tmp_path / 'i.json'}"
        found = run(f"problem ncf --batch 1 {line}")
        assert found.code == 0
        assert found.err.count("warning: technologies of two sources") == count
    for other, count in (("nvsim-stt", 0), ("deepnvm-stt", 1)):
        line = f"--spm 3MB --technology nvsim-sram,{other} -s stream --jobs 1"
        assert run(f"sweep ncf --batch 1 {line}").err.count("technologies of two") == count
    explained = run(f"explain {tmp_path / 'i.json'} -s banks --time-limit 0.2")
    assert "warning: technologies of two" in explained.err
