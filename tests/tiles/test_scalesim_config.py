"""SCALE-Sim's machine files."""

from __future__ import annotations

from pathlib import Path

import pytest

from spmopt.core.errors import InputError
from spmopt.core.machine import SystolicArray
from spmopt.tiles.scalesim import Config, parse_config, read_config

TEXT = """\
[general]
run_name = edge

; the machine
[architecture_presets]
ArrayHeight:    32
arraywidth =    16
IfmapSramSzkB:   64
FilterSramSzkB:  48
OfmapSramSzkB:   8
IfmapOffset:    0
Dataflow : ws
Bandwidth : 10
MemoryBanks: 1

[run_presets]
InterfaceBandwidth: CALC
"""


def test_read(tmp_path: Path) -> None:
    path = tmp_path / "edge.cfg"
    path.write_text(TEXT, encoding="utf-8")
    config = read_config(path)
    assert config == Config(
        name="edge",
        array=SystolicArray(rows=32, columns=16, dataflow="ws"),
        sram_bytes=65536 + 49152 + 8192,
        words_per_cycle=None,
        unused_bandwidth="10",
    )
    assert config.sram_bytes == 120 * 1024


def test_bandwidth_of_the_user() -> None:
    assert parse_config(TEXT.replace("CALC", "USER ")).words_per_cycle == 10


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ("ArrayHeight:    32\n", "", "e: ArrayHeight is missing; add it to section [architecture"),
        ("[run_presets]", "[run]", "e: InterfaceBandwidth is missing; add it to section [run_pre"),
        (": ws", ": rs", "e: Dataflow is 'rs'; write os, ws or is"),
        ("CALC", "AUTO", "e: InterfaceBandwidth is 'AUTO'; write CALC or USER"),
        ("   32", "   0", "e: ArrayHeight is '0'; write a whole number of at least 1"),
        ("   32", "", "e: ArrayHeight is missing; write a whole number"),
        ("; the", "the", "e, line 4: 'the machine' is neither a [section] nor a setting in one"),
        ("[general]\n", "", "e, line 1: 'run_name = edge' is neither a [section] nor a setting"),
        ("IfmapOffset", "arrayheight", "e, line 11: arrayheight is set before too; keep one"),
    ],
)
def test_bad_lines_are_named(old: str, new: str, error: str) -> None:
    assert old in TEXT
    with pytest.raises(InputError) as raised:
        parse_config(TEXT.replace(old, new), "e")
    assert str(raised.value).startswith(error)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.cfg: cannot be read .*name a SCALE-Sim \.cfg"):
        read_config(tmp_path / "none.cfg")
