"""Hardware files of ZigZag and Stream as machines."""

from __future__ import annotations

from pathlib import Path

import pytest

import spmopt
from spmopt.core.errors import InputError
from spmopt.core.machine import SystolicArray
from spmopt.hardware.machines import load_machine

yaml = pytest.importorskip("yaml", reason="needs the extra yaml")
TPU = Path(__file__).parents[2] / "instances" / "zigzag" / "tpu_like.yaml"


def test_figures_of_a_file() -> None:
    said: list[str] = []
    machine = spmopt.machine(TPU, callbacks=spmopt.Callbacks(warn=said.append))
    assert (machine.name, machine.spm_bytes, machine.clock_hz) == ("tpu_like", 2**21, 10**9)
    assert machine.dram_bytes_per_s == 8 * 10**9  # 64 bits a cycle
    assert not machine.duplex
    assert machine.array == SystolicArray(rows=32, columns=32, dataflow="ws", reuse=True)
    assert machine.operations_per_s == 2 * 32 * 32 * 10**9
    energy = machine.energy
    assert energy.spm_read_pj_per_byte == pytest.approx(416.16 / 256)  # 2048 bits a cycle
    assert energy.spm_write_pj_per_byte == pytest.approx(378.4 / 256)
    assert energy.dram_pj_per_byte == pytest.approx((700 + 750) / 2 / 8)
    assert energy.mac_pj == 0.04
    assert machine.bypass == ("weight",)  # its scratchpad holds inputs and outputs
    (line,) = said
    assert "not hold" not in line
    for words in (
        "memories rf_128B, rf_2B",
        "dram takes 87.5 pJ to read a byte and 93.75 to write one",
        "the clock (1 GHz is assumed)",
        "the array is taken as ws",
    ):
        assert words in line
    assert load_machine(str(TPU), {"spm": "4MiB"}).spm_bytes == 2**22


@pytest.mark.parametrize(("folder", "prefix"), [(".", "./"), ("cores", "")])
def test_cores_of_stream(tmp_path: Path, folder: str, prefix: str) -> None:
    document = yaml.safe_load(TPU.read_text(encoding="utf-8"))
    dram = document["memories"].pop("dram")
    document["memories"]["sram_2MB"]["operands"] = ["I2", "O"]
    off = {"name": "off", "memories": {"dram": dram}}
    off["operational_array"] = {"dimensions": ["D1"], "sizes": [0, 0], "unit_energy": 0}
    (tmp_path / folder).mkdir(exist_ok=True)
    for name, core in (("tpu", document), ("off", off)):
        (tmp_path / folder / f"{name}.yaml").write_text(yaml.safe_dump(core, sort_keys=False))
    top = {
        "name": "two",
        "cores": {k: f"{prefix}{name}.yaml" for k, name in enumerate(("tpu", "tpu", "off"))},
        "offchip_core_id": 2,
        "core_connectivity": [
            {"type": "link", "cores": [0, 1], "bandwidth": 8},
            {"type": "bus", "cores": [0, 1, 2], "bandwidth": 32},
        ],
    }
    path = tmp_path / "two.yml"
    path.write_text(yaml.safe_dump(top))
    said: list[str] = []
    machine = spmopt.machine(path, callbacks=spmopt.Callbacks(warn=said.append))
    assert (machine.name, machine.dram_bytes_per_s) == ("two", 4 * 10**9)  # the bus is slower
    assert "cores beside tpu_like (tpu_like) and links among them" in said[0]
    assert "that sram_2MB does not hold activations (here it may)" in said[0]
    assert machine.bypass == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: [1", "not YAML"),
        ("- 1", "is no hardware file of ZigZag or Stream"),
        ("memories: {}\noperational_array: {sizes: [1, 1]}", "is no hardware file"),
        ("cores: {0: none.yaml}\noffchip_core_id: 0", "none.yaml: cannot be read"),
    ],
)
def test_what_is_none(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "m.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=said) as caught:
        load_machine(str(path))
    assert "\n" not in str(caught.value)
