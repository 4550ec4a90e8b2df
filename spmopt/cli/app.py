"""The commands; each imports what it needs when it runs."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Context, Option, Typer

from spmopt.cli.analyze import analyze
from spmopt.cli.bench import bench
from spmopt.cli.explain import explain
from spmopt.cli.export import export
from spmopt.cli.flat import flat
from spmopt.cli.looking.plot import plot
from spmopt.cli.looking.report import report
from spmopt.cli.looking.trace import trace
from spmopt.cli.options import Json, Output, Search, Source, choices
from spmopt.cli.place import place
from spmopt.cli.study import study
from spmopt.cli.sweeping.sweep import merge, sweep
from spmopt.cli.technologies import technologies
from spmopt.cli.terminal.quiet import add_quiet
from spmopt.cli.tiling.tiles import tiles
from spmopt.cli.tuning.show import show
from spmopt.cli.tuning.tune import SearchOrShow, search
from spmopt.schedulers.registry import BEST_RULE, SCHEDULERS

app = Typer(
    name="spmopt",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_SCHEDULES, _INPUTS = "Schedules", "What is scheduled"
_PARTS, _MANY = "Buffers and layers", "Many schedules"
"""Panels of the help."""
_PHRASES = {
    name: "; ".join(
        (entry.summary, *(f"{key}={'|'.join(known)}" for key, known in entry.options.items()))
    )
    for name, entry in SCHEDULERS.items()
}
_OPTIONS = ", options after colons as name:option=choice ('spmopt schedulers' explains them)"
_Scheduler = Annotated[
    str, Option("--scheduler", "-s", help=choices(f"One of these{_OPTIONS}:", _PHRASES))
]
_Backend = Annotated[
    str | None,
    Option(
        metavar="pulp:NAME",
        help="Solve the second model of the scheduler whole, by a solver that PuLP knows, as "
        "pulp:cbc, pulp:highs, pulp:gurobi, pulp:cplex or pulp:scip.",
    ),
]


@app.callback(invoke_without_command=True)
def top(
    context: Context,
    version: Annotated[bool, Option("--version", help="Print the version.")] = False,
) -> int:
    """Optimal, verified schedules for the scratchpad of a DNN accelerator."""
    if version:
        from spmopt import __version__

        print(f"spmopt {__version__}")
    elif context.invoked_subcommand is None:
        print(context.get_help())
    return 0


@app.command(rich_help_panel=_SCHEDULES)
@flat
def solve(
    *,
    source: Source,
    search: Search,
    scheduler: _Scheduler = "page",
    backend: _Backend = None,
    output: Annotated[
        Path | None,
        Option("--output", "-o", help="Result file to write; one of that name is replaced."),
    ] = None,
    json: Json = False,
) -> int:
    """Schedule a network, verify the schedule and certify its bound."""
    from spmopt.cli.run import run_solve

    name = scheduler if backend is None else f"{scheduler}@{backend}"
    return run_solve(source, search, name, output, json)


@app.command(rich_help_panel=_SCHEDULES)
@flat
def compare(
    source: Source,
    search: Search,
    schedulers: Annotated[
        str | None,
        Option(
            "--schedulers",
            "--scheduler",
            "-s",
            help=choices(f"Some of these, separated by commas{_OPTIONS}:", _PHRASES),
            show_default=f"all usual ones that know the objective, and {BEST_RULE}",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        Option(
            "--output",
            "-o",
            help="Folder for a result file of each, as page.json; those there are replaced.",
        ),
    ] = None,
    json: Json = False,
) -> int:
    """Compare schedulers, all against the best certified bound."""
    from spmopt.cli.run import run_compare

    return run_compare(source, search, schedulers, output, json)


@app.command(rich_help_panel=_SCHEDULES)
def verify(
    result: Annotated[Path, Argument(help="Result file.")],
    json: Json = False,
) -> int:
    """Recompute everything that a result file claims, without any solver."""
    from spmopt.cli.run import run_verify

    return run_verify(result, json)


app.command(rich_help_panel=_SCHEDULES)(analyze)
app.command(rich_help_panel=_SCHEDULES)(explain)
app.command(rich_help_panel=_SCHEDULES)(trace)
app.command(rich_help_panel=_SCHEDULES)(plot)
app.command(rich_help_panel=_SCHEDULES)(report)


@app.command(rich_help_panel=_INPUTS)
@flat
def instance(source: Source, output: Output, json: Json = False) -> int:
    """Write the instance of a network as JSON."""
    from spmopt.cli.run import run_instance

    return run_instance(source, output, json)


@app.command(rich_help_panel=_INPUTS)
def networks(json: Json = False) -> int:
    """List the networks that come with the program."""
    from spmopt.cli.lists import list_networks

    return list_networks(json)


@app.command(rich_help_panel=_INPUTS)
def schedulers(json: Json = False) -> int:
    """List the schedulers, and explain their options."""
    from spmopt.cli.lists import list_schedulers

    return list_schedulers(json)


@app.command(rich_help_panel=_INPUTS)
def machines(
    machine: Annotated[
        list[str] | None, Argument(help="Names or TOML files; default: those of the program.")
    ] = None,
    json: Json = False,
) -> int:
    """List machines: size, rates, and the scratchpad's technology and area where known."""
    from spmopt.cli.lists import list_machines

    return list_machines(machine or (), json)


app.command(rich_help_panel=_INPUTS)(technologies)
app.command(rich_help_panel=_INPUTS)(export)
app.command(rich_help_panel=_PARTS)(place)
app.command(rich_help_panel=_PARTS)(tiles)
app.command(rich_help_panel=_MANY)(sweep)
app.command(rich_help_panel=_MANY)(merge)
_tune = Typer(cls=SearchOrShow, help="Search machines for networks; show what was found.")
_tune.command()(search)
_tune.command()(show)
app.add_typer(_tune, name="tune", rich_help_panel=_MANY)
_moved = {"ignore_unknown_options": True, "allow_extra_args": True}
app.command(hidden=True, context_settings=_moved)(study)
app.command(rich_help_panel=_MANY)(bench)
add_quiet((*app.registered_commands, *_tune.registered_commands))
