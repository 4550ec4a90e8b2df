"""The suites fit together: measures, options, figures and networks exist."""

from inspect import signature
from itertools import product

import pytest

from spmopt.bench.models import SETTINGS
from spmopt.bench.placement import FILE, RANDOM, read
from spmopt.bench.small import TINY
from spmopt.bench.suite import Suite
from spmopt.bench.suites import SUITES, find
from spmopt.bench.table import FORMS
from spmopt.bench.tiles import LAYER, SCALESIM
from spmopt.bench.worker import build, measure_named
from spmopt.core.errors import InputError
from spmopt.frontends import zoo
from spmopt.graph.lower import LOWERINGS
from spmopt.hardware.machines import load_machine
from spmopt.schedulers.registry import SCHEDULERS

ALL = [pytest.param(suite, id=name) for name, suite in SUITES.items()]


@pytest.mark.parametrize("suite", ALL)
def test_lines_have_names_of_their_own(suite: Suite) -> None:
    names = [row.name for row in suite.rows]
    assert len(set(names)) == len(names)
    assert {len(row.cells) for row in suite.rows} == {len(suite.heads)}


@pytest.mark.parametrize("suite", ALL)
def test_targets_are_shown(suite: Suite) -> None:
    shown = {column.figure for column in suite.columns}
    for row in suite.rows:
        assert {target.figure for target in row.targets} <= shown
    assert {column.form for column in suite.columns} <= set(FORMS)


@pytest.mark.parametrize("suite", ALL)
def test_cases_exist(suite: Suite) -> None:
    for row in suite.rows:
        case = row.case
        if case.machine in (FILE, RANDOM):
            assert len(read(case)) >= 100
            continue
        if case.machine == TINY or case.network.endswith(".onnx"):
            assert 6 <= len(build(case).operations) <= 40
            continue
        if case.network in (LAYER, SCALESIM):
            assert load_machine(case.machine, {"spm": case.spm}) == load_machine(case.machine)
            continue
        assert set(case.parameters) <= set(zoo.entry(case.network).parameters)
        assert case.lowering in LOWERINGS
        spm_bytes = load_machine(case.machine, {"spm": case.spm}).spm_bytes
        measures = {part.measure for part in row.parts.values()}
        own = load_machine(case.machine).spm_bytes
        assert spm_bytes == own if measures == {"backward"} else spm_bytes >= 24_000_000


@pytest.mark.parametrize("suite", ALL)
def test_measures_take_their_options(suite: Suite) -> None:
    for part in (part for row in suite.rows for part in row.parts.values()):
        bound = signature(measure_named(part.measure)).bind(None, **part.of_run(0).options)
        named = [bound.arguments.get(name) for name in ("scheduler", "policy")]
        named += str(bound.arguments.get("schedulers", "stream")).split(",")
        assert {name for name in named if name is not None} <= set(SCHEDULERS)
        assert bound.arguments.get("setting", "simplex") in SETTINGS


def test_what_must_be_reached() -> None:
    networks = ("resnet50", "mobilenetv2", "transformer")
    sizes = ("24MB", "64MB", "128MB", "296MB", "442MB", "1000MB")
    limits = {
        row.cells: {target.figure: target.value for target in row.targets}
        for name in ("page", "whole", "gnmt", "deep")
        for row in SUITES[name].rows
    }
    for case in product(networks, sizes):
        assert limits[*case, "page"] == {"wall_s": 1, "gap": 1e-3}
        assert limits[*case, "fluid"] == {"wall_s": 2, "gap": 1e-4}
        assert limits[case] == {"wall_s": 10, "class_gap": 1e-4}
    memory = {"peak_mb": 1000}
    assert limits["gnmt, plain=1", "64MB", "1 %"] == {"wall_s": 60, "gap": 1e-2, **memory}
    assert limits["gnmt, plain=1", "64MB", "0.2 %"] == {"wall_s": 120, "gap": 2e-3, **memory}
    assert limits["transformer, layers=96", "128MB", "0.1 %"] == {"wall_s": 15, "gap": 1e-3}


def test_an_unknown_suite_has_a_neighbour() -> None:
    with pytest.raises(InputError, match="did you mean page"):
        find("pages")
