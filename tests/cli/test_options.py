"""Records of options: each field is a parameter of the function that its values go to."""

import inspect
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import pytest

import spmopt
from spmopt.cli import ablation, lists, options, parts, run, sweep, tune, views
from spmopt.cli.app import application
from spmopt.cli.commands import COMMANDS

RECORDS: list[tuple[Callable[..., Any], tuple[type, ...], set[str]]] = [
    (spmopt.load, (options.LoadOptions,), {"source"}),
    (spmopt.machine, (options.MachineOptions,), set()),
    (spmopt.lower, (options.LowerOptions,), {"workload", "machine"}),
    (spmopt.solve, (options.SearchOptions,), {"problem", "scheduler"}),
    (spmopt.compare, (options.SearchOptions,), {"problem", "schedulers"}),
    (spmopt.ablation, (ablation.AblationOptions, options.Limits), {"problem"}),
    (spmopt.run, (run.RunOptions,), {"result", "network"}),
    (spmopt.emit, (), {"result"}),
    (spmopt.plot, (views.PlotOptions,), {"subject", "timing"}),
    (spmopt.place, (parts.PlaceOptions,), {"buffers"}),
    (spmopt.gradients, (parts.TilesOptions,), {"source", "settings"}),
    (spmopt.list_technologies, (lists.TechnologyOptions,), {"names"}),
    (spmopt.read_search, (tune.StudyOptions,), set()),
    (
        spmopt.sweep,
        (
            sweep.SweepOptions,
            options.TrainingOptions,
            options.MachineSettings,
            options.MapperOptions,
        ),
        {"networks"},
    ),
    (
        spmopt.tune,
        (tune.TuneOptions, options.TrainingOptions, options.MapperOptions),
        {"networks"},
    ),
]
OTHERWISE = {("machine", "base"), ("sweep", "jobs"), ("gradients", "jobs"), ("tune", "workers")}
OTHERWISE |= {("tune", "storage")}
"""Defaults of the command line that are not those of the function."""


@pytest.mark.parametrize(("function", "records", "others"), RECORDS)
def test_a_record_has_the_parameters_of_its_function(
    function: Callable[..., Any], records: tuple[type, ...], others: set[str]
) -> None:
    parameters = inspect.signature(function).parameters
    stated = {field.name: field.default for record in records for field in fields(record)}
    assert {*stated} | others | {"callbacks"} == {*parameters} | {"callbacks"}
    for name, default in stated.items():
        known = parameters[name].default
        if (function.__name__, name) not in OTHERWISE and known is not inspect.Parameter.empty:
            assert default == known, name


def helped() -> list[tuple[str, Any]]:
    app = application([])
    commands = {name: app[name] for name in COMMANDS}
    commands |= {f"tune {name}": app["tune"][name] for name in ("search", "show")}
    return [
        (f"{name} {argument.name}", argument)
        for name, command in commands.items()
        for argument in command.assemble_argument_collection(parse_docstring=True)
        if argument.show
    ]


def test_every_option_has_help_without_markup() -> None:
    for name, argument in helped():
        assert argument.parameter.help, name
        assert ":func:" not in argument.parameter.help, name
        assert ":mod:" not in argument.parameter.help, name


def test_summaries_stand_in_the_list_of_commands(capsys: pytest.CaptureFixture[str]) -> None:
    from spmopt.cli import main

    assert main([]) == 0
    shown = capsys.readouterr().out
    assert all(f" {name} " in shown for name in COMMANDS)
    assert "--install-completion" in shown
