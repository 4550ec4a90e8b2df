"""Technologies by name and from TOML files; what is wrong with a file is one line."""

from dataclasses import replace
from pathlib import Path

import pytest

from spmopt.core.errors import InputError
from spmopt.hardware.machines import load_machine
from spmopt.hardware.scratchpad import BankOf, with_banks, with_technology
from spmopt.hardware.technologies import load_technology, names
from spmopt.hardware.technology import Interpolation, Point, Technology

HEAD = 'cell = "SRAM"\nsource = "me"\naccess = "64B"\nbetween = "{}"\n'
POINT = """[[point]]
capacity = "{}MiB"
read_latency = "500ps"
write_latency = "1.5ns"
read_energy = "0.1nJ"
write_energy = "250fJ"
leakage = "0.5W"
area = "250000um2"
"""
GOOD = HEAD.format("nothing") + POINT.format(1)


def load(tmp_path: Path, text: str) -> Technology:
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return load_technology(str(path))


def test_units_are_read(tmp_path: Path) -> None:
    technology = load(tmp_path, GOOD)
    assert technology == Technology(
        name="mine",
        cell="SRAM",
        source="me",
        access_bytes=64,
        between=Interpolation.NOTHING,
        points=(
            Point(
                capacity_bytes=2**20,
                read_latency_ns=0.5,
                write_latency_ns=1.5,
                read_energy_pj=100.0,
                write_energy_pj=0.25,
                leakage_mw=500.0,
                area_mm2=0.25,
            ),
        ),
    )


def test_a_file_may_ask_for_a_fit(tmp_path: Path) -> None:
    text = HEAD.format("fit") + "".join(POINT.format(size) for size in (4, 1, 2))
    technology = load(tmp_path, text)
    assert technology.capacities_bytes == (2**20, 2**21, 2**22)
    assert technology.at(3 * 2**20).point.area_mm2 == pytest.approx(0.25)


def test_contents_may_last_for_some_time_only(tmp_path: Path) -> None:
    text = GOOD.replace("between", 'retention = "1.5us"\nbetween', 1)
    technology = load(tmp_path, text)
    assert technology.retention_ns == 1500
    size = technology.capacities_bytes[0]
    plain = load_machine("gtx1080ti")
    machine = with_banks(plain, [BankOf(spm_bytes=size, technology=technology)])
    assert machine.banks[0].retention_ns == 1500
    assert machine.retention_cycles == (1500 * machine.clock_hz // 10**9,)
    with pytest.raises(InputError, match="for some time only, which is modeled of banks"):
        with_technology(replace(plain, spm_bytes=size), technology)
    with pytest.raises(InputError, match="retention '0ms': must be greater than 0"):
        load(tmp_path, text.replace("1.5us", "0ms"))


WRONG = {
    "source = ": ("source = 3 #", "source = 3: must be a text in quotes"),
    'cell = "SRAM"\n': ("", "cell is missing; add it"),
    'access = "64B"': ('access = "0B"', "access '0B': must be greater than 0"),
    "access = ": ("acess = ", "no technology setting called 'acess'; did you mean access"),
    '"nothing"': ('"line"', "between = 'line': must be nothing or fit or power"),
    'read_latency = "500ps"\n': ("", "point 1: read_latency is missing; add it"),
    "read_energy = ": ("energy = ", "point 1: no setting of a point called 'energy'"),
    '"1.5ns"': ('"-1.5ns"', "point 1: write_latency '-1.5ns': must be greater than 0"),
    '"0.1nJ"': (
        '"0.1ns"',
        "read_energy '0.1ns': 'ns' is not a unit of this quantity; write for example 350pJ",
    ),
    '"0.5W"': ("0.5", "point 1: leakage '0.5': has no unit; write for example 748mW"),
    '"250000um2"': ('"250000mm"', "area '250000mm': 'mm' is not a unit of this quantity"),
    '"250fJ"': ("true", "write_energy = True: must be a text in quotes"),
    "[[point]]": ("[point]", "point: must be tables, each headed"),
    '"1MiB"': ('"1Mb"', "point 1: capacity '1Mb': 'Mb' is not a unit"),
    '"SRAM"': ('"SRAM', "not TOML"),
}


@pytest.mark.parametrize("old", WRONG)
def test_errors_name_file_and_field_in_one_line(tmp_path: Path, old: str) -> None:
    new, complaint = WRONG[old]
    assert old in GOOD
    with pytest.raises(InputError) as caught:
        load(tmp_path, GOOD.replace(old, new, 1))
    message = str(caught.value)
    assert complaint in message
    assert message.startswith("technology ")
    assert "mine.toml: " in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (HEAD.format("nothing") + "point = []", "mine: has no point; add one"),
        (GOOD + POINT.format(1), "mine: two points have a capacity of 1048576 bytes"),
        (
            HEAD.format("fit") + POINT.format(1) + POINT.format(2),
            "mine: a fit needs at least 3 points, there are 2",
        ),
        (HEAD.format("power") + POINT.format(1), "mine: a power law needs 2 points, there are 1"),
    ],
)
def test_points_must_make_a_technology(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        load(tmp_path, text)


def test_every_technology_says_where_it_is_from() -> None:
    found = [load_technology(name) for name in names()]
    assert [each.name for each in found] == [
        "deepnvm-sot",
        "deepnvm-sram",
        "deepnvm-stt",
        "nvsim-sot",
        "nvsim-sram",
        "nvsim-stt",
        "relaxed-stt",
        "scaled-sot",
        "scaled-sram",
        "scaled-stt",
    ]
    for each in found:
        origin = "NVSim, 22 nm" if each.name.startswith("nvsim") else "DeepNVM++, table II"
        assert each.source.startswith(origin)
        assert (each.between is Interpolation.FIT) == each.name.startswith("nvsim")
    assert [each.name for each in found if "assumed" in each.source] == [
        "nvsim-sot",
        "relaxed-stt",
        "scaled-sot",
        "scaled-sram",
        "scaled-stt",
    ]


def test_relaxed_writes_take_half_and_all_else_is_the_same() -> None:
    plain, relaxed = (load_technology(name).points for name in ("deepnvm-stt", "relaxed-stt"))
    for before, after in zip(plain, relaxed, strict=True):
        halves = (after.write_latency_ns, after.write_energy_pj)
        assert halves == pytest.approx((before.write_latency_ns / 2, before.write_energy_pj / 2))
        assert replace(before, write_latency_ns=halves[0], write_energy_pj=halves[1]) == after


def test_unknown_names_and_files() -> None:
    with pytest.raises(InputError, match="no technology called 'nvsim-stt2'; did you mean nvsim-"):
        load_technology("nvsim-stt2")
    with pytest.raises(InputError, match=r"technology none\.toml: cannot be read \(No such file"):
        load_technology("none.toml")
