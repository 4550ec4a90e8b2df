import json
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from spmopt.core.instance import Instance
from spmopt.core.machine import SystolicArray
from spmopt.core.order import same_order
from spmopt.core.result import Certificate, Result, Status
from spmopt.io.files import (
    read_instance,
    read_result,
    read_schedule,
    write_instance,
    write_result,
    write_schedule,
)
from tests.io.samples import schedule, stored
from tests.strategies import instances, random_instance

PER_EXAMPLE = settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@PER_EXAMPLE
@given(instances(max_modes=3, duplex=True, setup=True))
def test_instances_are_lossless(tmp_path: Path, instance: Instance) -> None:
    path = tmp_path / "instance.json"
    write_instance(path, instance)
    assert read_instance(path) == instance


def test_names_arrays_and_fractions_of_energy_are_lossless(tmp_path: Path) -> None:
    instance = random_instance(1)
    machine = replace(
        instance.machine,
        name='quote " newline \n ü',
        array=SystolicArray(rows=3, columns=5, dataflow="ws"),
        energy=replace(instance.machine.energy, mac_pj=0.1 + 0.2, leakage_w=5e-324),
    )
    instance = replace(instance, machine=machine, source="somewhere")
    write_instance(tmp_path / "i.json", instance)
    again = read_instance(tmp_path / "i.json")
    assert again == instance
    assert again.source == "somewhere"


@pytest.mark.parametrize("rows", [0, 1, 1000])
def test_schedules_are_lossless(tmp_path: Path, rows: int) -> None:
    write_schedule(tmp_path / "s.json", schedule(rows))
    assert read_schedule(tmp_path / "s.json") == schedule(rows)


def equal(one: Certificate | None, other: Certificate | None) -> bool:
    if one is None or other is None:
        return one is other
    names = ("spm", "dram_in", "dram_out")
    if not same_order(one.order, other.order):
        return False
    return (one.objective, one.bits) == (other.objective, other.bits) and all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in names
    )


@pytest.mark.parametrize("seed", range(5))
def test_results_are_lossless(tmp_path: Path, seed: int) -> None:
    before = stored(random_instance(seed, max_modes=2))
    write_result(tmp_path / "r.json", before)
    after = read_result(tmp_path / "r.json")
    assert after.instance == before.instance
    assert after.versions == before.versions
    for field in fields(Result):
        one, other = getattr(after.result, field.name), getattr(before.result, field.name)
        same = equal(one, other) if field.name == "certificate" else one == other
        assert same, field.name


def test_files_without_a_tolerance_are_read(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    write_result(path, stored(random_instance(0)))
    document = json.loads(path.read_text())
    del document["tolerance"]
    path.write_text(json.dumps(document))
    assert read_result(path).result.tolerance is None


def test_files_without_counts_of_transfers_are_read(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    before = stored(random_instance(0)).result.totals
    write_result(path, stored(random_instance(0)))
    document = json.loads(path.read_text())
    del document["totals"]["dma_commands"], document["totals"]["dma_descriptors"]
    path.write_text(json.dumps(document))
    assert before is not None
    expected = replace(before, dma_commands=None, dma_descriptors=None)
    assert read_result(path).result.totals == expected


def test_files_from_before_there_were_technologies_are_read(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    instance = random_instance(0)
    write_result(path, stored(instance))
    document = json.loads(path.read_text())
    machine = document["instance"]["machine"]
    del machine["area"], machine["memory"], machine["energy"]["source"]
    path.write_text(json.dumps(document))
    assert read_result(path).instance == instance


def test_files_without_the_order_of_a_certificate_are_read(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    write_result(path, stored(random_instance(0)))
    document = json.loads(path.read_text())
    del document["certificate"]["order"]
    path.write_text(json.dumps(document))
    certificate = read_result(path).result.certificate
    assert certificate is not None
    assert certificate.order is None


def test_a_relaxation_has_no_schedule(tmp_path: Path) -> None:
    full = stored(random_instance(0))
    bare = Result(
        scheduler="fluid", objective=full.result.objective, status=Status.UNKNOWN, solve_s=0.0
    )
    write_result(tmp_path / "r.json", replace(full, result=bare))
    assert read_result(tmp_path / "r.json").result == bare
