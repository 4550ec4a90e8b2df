"""Space files: what they say, and one clear line for what they cannot say."""

from pathlib import Path
from typing import Any

import pytest

from spmopt.core.errors import InputError
from spmopt.search.axes import read_axis
from spmopt.search.space import read_space, space_of
from tests.search.study import FIELDS, small_space


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(
        'machine = "small-npu"\n'
        'constraints = ["area_mm2 <= 50", "power >= 0.5"]\n'
        "cost = { area = 1.0, gbps = 0.1 }\n"
        "weights = { resnet50 = 2 }\n"
        "[space]\n"
        'spm = { low = "1MB", high = "3MB", step = "1MB" }\n'
        'bandwidth = ["22GB/s", "44GB/s"]\n'
        'technology = "nvsim-sram"\n'
        "cores = [1, 2, 4]\n"
        '"array.rows" = { low = 16, high = 64, log = true }\n'
        "[space.energy]\n"
        "mac_pj = [1, 2.5]\n"
    )
    space = read_space(path)
    assert space.machine.name == "small-npu"
    assert [axis.key for axis in space.axes] == [
        "spm",
        "bandwidth",
        "cores",
        "array.rows",
        "energy.mac_pj",
    ]
    spm, bandwidth, cores, rows, mac = space.axes
    assert list(spm.values()) == [1_000_000, 2_000_000, 3_000_000]
    assert bandwidth.choices == (22 * 10**9, 44 * 10**9)
    assert cores.choices == (1, 2, 4)
    assert (rows.low, rows.high, rows.log, rows.size) == (16, 64, True, 49)
    assert mac.choices == (1.0, 2.5)
    assert space.fixed == {"technology": "nvsim-sram"}
    assert space.cost == {"area_mm2": 1.0, "gbps": 0.1}
    assert [str(each) for each in space.constraints] == ["area_mm2 <= 50", "power_w >= 0.5"]
    assert space.size == 3 * 2 * 3 * 49 * 2
    assert space_of(space.record(), "again") == space


def test_values_at_equal_distances_are_a_range() -> None:
    axis = read_axis("spm", "24MB:1000MB:2MB", "s")
    assert (axis.low, axis.high, axis.step) == (24_000_000, 1_000_000_000, 2_000_000)
    assert axis.size == 489
    assert read_axis("cores", [2, 4, 6], "s").step == 2
    assert read_axis("spm", "1MB:8MB:x2", "s").choices == (10**6, 2 * 10**6, 4 * 10**6, 8 * 10**6)


BAD_FIELDS = [
    ({"sram": "1MB"}, "no field of a space called 'sram'"),
    ({"spn": "1MB"}, "did you mean spm?"),
    ({"spm": {"low": "3MB", "high": "1MB"}}, "low = '3MB' is above high = '1MB'"),
    ({"spm": {"low": "1GB/s", "high": "2MB"}}, "'GB/s' is not a unit of this quantity"),
    ({"bandwidth": ["1GB/s", "2GB"]}, "'GB' is not a unit of this quantity"),
    ({"spm": {"low": "1MB"}}, "a range needs low and high; high is missing"),
    ({"spm": {"low": "1MB", "high": "2MB", "by": 3}}, "no entry of a range called 'by'"),
    ({"spm": {"low": "1MB", "high": "2MB", "step": "300kB"}}, "do not end at high; let high be"),
    ({"spm": {"low": "1MB", "high": "2MB", "step": "1MB", "log": True}}, "exclude each other"),
    ({"spm": {"low": "1MB", "high": "2MB", "log": 1}}, "log = 1: must be true or false"),
    ({"spm": []}, "an empty list"),
    ({"spm": [1.5, 2]}, "write a whole number, or a quantity in quotes"),
    ({"spm": [True, False]}, "must be no true or false"),
    ({"cores": [0, 1]}, "must be at least 1"),
    ({"energy": {"mac_pj": ["much", 1]}}, "'much': must be a number"),
    ({"energy.mac_pj": {"low": 0, "high": 1, "log": True}}, "a logarithm needs more than 0"),
    ({"technology": {"low": "a", "high": "b"}}, "technology is no number; list its choices"),
    ({"technology": ["nvsim-sran", "nvsim-x"]}, "no technology called 'nvsim-sran'"),
    ({"spm": ["50B", "60B"]}, "smaller than one page"),
    ({"array.dataflow": ["os", "xs"], "array.rows": [4, 0], "array.columns": 4}, ""),
    ({"spm": "1MB"}, "nothing to choose; give a field in [space] several values"),
]


@pytest.mark.parametrize(("fields", "message"), BAD_FIELDS, ids=str)
def test_bad_fields_give_one_line(fields: dict[str, Any], message: str) -> None:
    if not message:
        assert space_of({"space": fields}, "space s.toml").size == 4
        return
    with pytest.raises(InputError, match=r"^space s\.toml: ") as caught:
        space_of({"space": fields}, "space s.toml")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


BAD_TABLES = [
    ({"machin": "x"}, "no entry called 'machin'"),
    ({"machine": 3}, "must be a name or a file, in quotes"),
    ({"machine": "rtx"}, "no machine called 'rtx'"),
    ({"space": 3}, "space: must be a table"),
    ({"constraints": "area <= 3"}, "must be a list of texts"),
    ({"constraints": ["area < 3"]}, "write FIGURE <= NUMBER"),
    ({"constraints": ["aera_mm2 <= 3"]}, "did you mean area_mm2?"),
    ({"constraints": ["area_mm2 <= 3mm2"]}, "'3mm2' is no number; the unit is that of the figure"),
    ({"cost": {"time": 1.0}}, "cost.time: takes area_mm2, spm_mb"),
    ({"cost": {"gbps": -1}}, "cost.gbps = -1: must be a number, 0 or more"),
    ({"cost": {"gpbs": 1}}, "did you mean gbps?"),
    ({"weights": {"a": "b"}}, "weights.a = 'b': must be a number"),
]


@pytest.mark.parametrize(("tables", "message"), BAD_TABLES, ids=str)
def test_bad_tables_give_one_line(tables: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        space_of({"space": {"spm": ["1MB", "2MB"]}, **tables}, "space s.toml")
    assert message in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_space(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("a = ")
    with pytest.raises(InputError, match="not TOML"):
        read_space(tmp_path / "bad.toml")


def test_constraints_that_nothing_holds() -> None:
    space = small_space(constraints=["spm_mb <= 1e-6"])
    with pytest.raises(
        InputError, match=r"nothing in the space holds it, spm_mb is 0\.000256 at l"
    ):
        space.require_possible(())
    space = small_space(constraints=["spm_mb <= 0.0003", "cost >= 1"])
    with pytest.raises(InputError, match="nothing in the space holds them together"):
        space.require_possible(())
    small_space(constraints=["spm_mb <= 0.0003", "gbps >= 1.5"]).require_possible(("cost",))


def test_an_area_needs_a_technology() -> None:
    with pytest.raises(InputError, match="name its technology"):
        small_space().require_possible(("area_mm2",))


def test_points_without_a_machine_do_not_spoil_the_rest() -> None:
    fields = {**FIELDS, "technology": ["deepnvm-stt", "deepnvm-sram"], "spm": ["3MB", "4MB"]}
    space = small_space(space=fields, constraints=["area_mm2 <= 5"])
    with pytest.raises(InputError, match=r"area_mm2 <= 0.5: nothing .* is 2.34 at least"):
        small_space(space=fields, constraints=["area_mm2 <= 0.5"]).require_possible(())
    space.require_possible(("area_mm2",))
    with pytest.raises(InputError, match="has no figures for 4 MB"):
        space.candidate({"spm": 4_000_000, "technology": "deepnvm-stt"})


@pytest.mark.parametrize("sizes", [["1kB", "2MB"], ["2MB", "1kB"]])
def test_the_order_of_values_does_not_decide_what_can_be(sizes: list[str]) -> None:
    tables = {"machine": "rtx2080ti", "space": {"spm": sizes, "page": ["64kB", "32kB"]}}
    space = space_of(tables, "space")
    assert space.candidate({"spm": 2_000_000, "page": 32_000}).machine.spm_bytes == 2_000_000


@pytest.mark.parametrize(
    ("key", "texts", "values"),
    [
        ("spm", ["1MB:4MB:1MB"], [1, 2, 3, 4]),
        ("spm", ["1MB:2MB:1MB", "8MB", 9_000_000], [1, 2, 8, 9]),
        ("spm", ["1MB,3MB", "8MB"], [1, 3, 8]),
    ],
)
def test_texts_of_a_list_may_be_ranges(key: str, texts: list[object], values: list[int]) -> None:
    assert list(read_axis(key, texts, "s").values()) == [value * 10**6 for value in values]


@pytest.mark.parametrize(
    ("key", "given", "said"),
    [
        ("spm", ["1MB:3MB:1MB", "2MB"], "s: spm: values repeat: 2MB; name each once"),
        ("spm", ["1MB:3MB"], "s: spm '1MB:3MB': write a range as START:STOP:STEP"),
        ("cores", ["0:4:1"], "s: cores 0: must be at least 1"),
        ("cores", "0:4:1", "s: cores 0: must be at least 1"),
        ("spm", "1MiB:8MiB:2MiB", "let the range end at 7MiB or 9MiB"),
        ("spm", {"low": "1MiB", "high": "8MiB", "step": "2MiB"}, "let high be '7MiB' or '9MiB'"),
        ("spm", {"low": 4096, "high": 9000, "step": 4096}, "let high be 8192 or 12288"),
        (
            "bandwidth",
            {"low": "1GB/s", "high": "2GB/s", "step": "0.3GB/s"},
            "'1.9GB/s' or '2.2GB/s'",
        ),
        ("cores", {"low": 1, "high": 4, "step": 2}, "let high be 3 or 5"),
        ("energy.mac_pj", {"low": 0.5, "high": 2.0, "step": 0.4}, "let high be 1.7 or 2.1"),
    ],
)
def test_what_a_wrong_range_is_told(key: str, given: object, said: str) -> None:
    with pytest.raises(InputError) as error:
        read_axis(key, given, "s")
    assert said in str(error.value)
