"""Rates and energies of products by element type, from files and options to schedules."""

from __future__ import annotations

from pathlib import Path

import pytest

import spmopt
from spmopt.core.errors import InputError
from spmopt.core.machine import TypedFigures
from spmopt.graph.build import GraphBuilder
from spmopt.graph.cycles import product_type
from spmopt.graph.operators.spec import Gemm
from spmopt.hardware.energy import energy_report
from spmopt.hardware.machines import RateError, load_machine, override
from spmopt.hardware.settings import Setting, from_settings, to_settings
from spmopt.search.candidate import Candidate
from spmopt.search.space import space_of

FILE = """
spm = "1MB"
bandwidth = "1GB/s"
clock = "1GHz"
"""


def read(tmp_path: Path, text: str) -> spmopt.Machine:
    path = tmp_path / "npu.toml"
    path.write_text(FILE + text)
    return load_machine(str(path))


def test_a_table_of_rates(tmp_path: Path) -> None:
    machine = read(
        tmp_path,
        'throughput = { fp32 = "1TFLOP/s", bf16 = "2TFLOP/s", int8 = "4TOP/s" }\n'
        "energy.mac_pj = { fp32 = 4.6, int8 = 0.23 }\n",
    )
    assert machine.operations_per_s == 10**12
    assert [machine.rate(name) for name in ("fp32", "bf16", "int8", "uint8", "fp64", None)] == [
        *(10**12, 2 * 10**12, 4 * 10**12, 4 * 10**12, 10**12, 10**12)
    ]
    assert [machine.mac_pj(name) for name in ("int8", "uint8", "bf16")] == [0.23, 0.23, 4.6]
    assert machine.fastest == 4 * 10**12
    assert from_settings(to_settings(machine), "again") == machine


@pytest.mark.parametrize(
    ("given", "default"),
    [
        ('{ default = "3TOP/s", fp32 = "1TFLOP/s" }', 3 * 10**12),
        ('{ int8 = "4TOP/s", int4 = "8TOP/s" }', 4 * 10**12),
    ],
)
def test_what_has_no_rate_of_its_own(tmp_path: Path, given: str, default: int) -> None:
    assert read(tmp_path, f"throughput = {given}\n").operations_per_s == default


def test_settings_of_types_are_set_one_by_one() -> None:
    machine = load_machine("rtx2080ti", {"throughput.int8": "100TOP/s", "energy.mac_pj.int8": 0.2})
    assert machine.types == (
        TypedFigures(element_type="int8", operations_per_s=10**14, mac_pj=0.2),
    )
    assert machine.energy.source.endswith("as set: energy.mac_pj.int8")
    assert override(machine, {"throughput.int8": "50TOP/s"}).rate("int8") == 5 * 10**13
    with pytest.raises(InputError, match="no element type called 'int9'; did you mean int"):
        override(machine, {"throughput.int9": "1TOP/s"})
    with pytest.raises(InputError, match="choose one of area"):
        override(machine, {"zzz": 1})


@pytest.mark.parametrize(
    ("types", "found"),
    [
        (("int8", "int8", "int32"), "int8"),  # the bias is of the type of sums
        (("uint8", "int8"), "uint8"),
        (("int8", "fp32"), "fp32"),
        (("int16", "fp16"), "fp16"),
    ],
)
def test_the_widest_factor_is_the_type_of_a_product(types: tuple[str, ...], found: str) -> None:
    assert product_type(Gemm(m=1, k=1, n=1), types) == found


def lowered(machine: spmopt.Machine, dtype: str | None) -> spmopt.Problem:
    b = GraphBuilder("one")
    x, w, bias = b.input("x", (64, 128)), b.weight("w", (128, 256)), b.weight("bias", (256,))
    workload = spmopt.load(b.finish([b.add("Relu", [b.add("Gemm", [x, w, bias])])]), dtype=dtype)
    return spmopt.lower(workload, machine)


def test_products_take_the_rate_of_their_type() -> None:
    macs = 64 * 128 * 256
    given: dict[str, Setting] = {
        **{"throughput": "1TFLOP/s", "clock": "1GHz", "throughput.int8": "4TOP/s"},
    }
    plain = load_machine("rtx2080ti", given)
    cycles = {
        name: [
            operation.mappings[0].compute_cycles for operation in lowered(plain, name).operations
        ]
        for name in ("fp32", "bf16", "int8")
    }
    relu = -(-64 * 256 // 1000)
    assert cycles["fp32"] == cycles["bf16"] == [-(-2 * macs // 1000), relu]
    assert cycles["int8"] == [-(-2 * macs // 4000), relu]


def test_an_array_is_as_much_faster() -> None:
    base = load_machine("small-npu")
    own = [op.mappings[0].compute_cycles for op in lowered(base, "int8").operations]
    twice = override(base, {"throughput.int8": 2 * base.operations_per_s})
    assert twice.operations_per_s == base.operations_per_s
    found = [op.mappings[0].compute_cycles for op in lowered(twice, "int8").operations]
    assert found == [-(-own[0] // 2), own[1]]
    both = lowered(twice, None).operations, lowered(base, None).operations
    assert [each.mappings for each in both[0]] == [each.mappings for each in both[1]]


def test_energy_of_macs_by_type_is_in_every_objective_and_report() -> None:
    given: dict[str, Setting] = {"energy.mac_pj": 4.6, "energy.mac_pj.int8": 0.23}
    machine, macs = load_machine("small-npu", given), 64 * 128 * 256
    for name, each in (("int8", 0.23), ("fp32", 4.6)):
        problem = lowered(machine, name)
        solution = spmopt.solve(problem, "residency", objective="energy")
        result = solution.result
        assert result.totals is not None
        assert result.value is not None
        assert result.bound is not None
        own = round(macs * each)
        assert result.totals.own_picojoules == own
        report = energy_report(result.totals, machine)
        assert report.mac_j == pytest.approx(own * 1e-12)
        assert report.energy_j == pytest.approx(float(result.value))
        assert float(result.bound) <= report.energy_j
        assert not spmopt.verify(solution).violations
    # Of a machine without types nothing changes, the energy of its MACs in particular.
    plain = load_machine("small-npu")
    result = spmopt.solve(lowered(plain, "int8"), "residency", objective="energy").result
    assert result.totals is not None
    assert result.totals.own_picojoules == 0
    assert energy_report(result.totals, plain).mac_j == pytest.approx(macs * 4.6e-12)


def test_cores_multiply_rates() -> None:
    typed: dict[str, Setting] = {"throughput.int8": "100TOP/s"}
    two = Candidate.of(load_machine("rtx2080ti", typed), {"cores": 2})
    assert two.machine.rate("int8") == 2 * 10**14


def test_throughput_and_array_that_disagree(tmp_path: Path) -> None:
    wrong = (
        "throughput is 4 TFLOP/s, but the array of 8 x 8 does 128 GFLOP/s at 1 GHz; leave "
        "throughput out, or change one of them"
    )
    sides: dict[str, Setting] = {"array.rows": 8, "array.columns": 8}
    with pytest.raises(RateError, match=wrong):
        load_machine("rtx2080ti", {**sides, "throughput": "4TOP/s", "clock": "1GHz"})
    with pytest.raises(InputError, match=wrong):
        spmopt.machine("small-npu", throughput="4TOP/s", settings=sides)
    array = 'array = { rows = 8, columns = 8, dataflow = "ws" }'
    with pytest.raises(InputError, match=f"npu.toml: {wrong}"):
        read(tmp_path, f'throughput = "4TOP/s"\n{array}\n')
    assert read(tmp_path, array).operations_per_s == 128 * 10**9


@pytest.mark.parametrize(
    "fields",
    [
        {"throughput": ["4TOPS", "4.05TOPS"]},
        {"throughput": "4.05TOPS", "array.rows": [45, 90]},
        {"throughput": ["2TOPS", "4TOPS"], "array.rows": 8, "array.columns": 8},
    ],
)
def test_a_space_whose_throughput_is_not_that_of_the_array(fields: dict[str, object]) -> None:
    space = {"spm": ["1MB", "2MB"], **fields}
    with pytest.raises(InputError, match=r"space: throughput: .* but the array of \d+ x \d+ does"):
        space_of({"machine": "small-npu", "space": space}, "space")


@pytest.mark.parametrize("own", ["int8", "uint8", "int16"])
def test_a_type_without_figures_is_noted_with_the_default_rate(own: str) -> None:
    """The array of ethos-u65 computes in integers; its default rate is that of int8."""
    shown = [
        str(spmopt.solve(lowered(load_machine("ethos-u65"), name), "belady"))
        for name in (own, "fp32")
    ]
    note = "fp32 at the default rate, 1.024 TOP/s: the machine has figures for int16 and int8 alone"
    assert [note in text for text in shown] == [False, True]
    assert "at the default rate" not in shown[0]
