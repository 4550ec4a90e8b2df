"""The options of a hardware search, and what they mean."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from spmopt.cli.options import AssumePointwise, Networks, Optimizer, Param, Training, choices
from spmopt.core.errors import InputError

if TYPE_CHECKING:  # they would load Optuna, and help should not
    from spmopt.core.machine import Machine
    from spmopt.search.space.setup import Setup
    from spmopt.search.tuning.effort import Effort
    from spmopt.sweep.cases import Network

_SPACE, _SEARCH, _STUDY = "Space and objectives", "Search", "Study"
STORAGE = "tune.db"
"""Where studies are unless told otherwise."""
_SAMPLERS = {
    "tpe": "tree-structured Parzen estimators",
    "nsga2": "NSGA-II",
    "nsga3": "NSGA-III, for three objectives and more",
    "cma-es": "CMA-ES, for one objective and ranges",
    "gp": "Gaussian processes; needs torch",
    "random": "at random",
    "grid": "every point once, in an order drawn once",
    "brute-force": "every point once",
}
_SCHEDULERS = {
    "bound": "no schedule: the certified bound",
    "best-policy": "the best of all greedy rules",
    "page": "or another name of 'spmopt schedulers'",
}

Storage = Annotated[
    str,
    Option(
        help="SQLite file, database URL, or journal:FILE. Several processes may share one.",
        rich_help_panel=_STUDY,
    ),
]
KeepSchedules = Annotated[
    Path | None,
    Option(
        help="Folder for schedules; default: beside a SQLite file, else they are not kept.",
        rich_help_panel=_STUDY,
        show_default=False,
    ),
]


@dataclass(frozen=True, kw_only=True)
class Tuned:
    """What is searched, and how."""

    networks: Networks
    training: Training = False
    optimizer: Optimizer = None
    param: Param = None
    assume_pointwise: AssumePointwise = False
    lowering: Annotated[
        str | None, Option(help="tiled (default) or ideal.", rich_help_panel="Network")
    ] = None
    batch: Annotated[
        int | None,
        Option(help="Batch size, where it is no field of the space.", rich_help_panel="Network"),
    ] = None
    space: Annotated[
        Path,
        Option(
            help="TOML file: machine, fields, constraints, cost, weights of networks.",
            rich_help_panel=_SPACE,
            show_default=False,
        ),
    ]
    objective: Annotated[
        str,
        Option(
            help="Some of time, energy, traffic, power, edp, edap, area, cost, or other figures, "
            "separated by commas; all are minimised.",
            rich_help_panel=_SPACE,
        ),
    ] = "time,area"
    scheduler: Annotated[
        str,
        Option(
            "--scheduler",
            "-s",
            help=choices("How schedules are made:", _SCHEDULERS),
            rich_help_panel=_SPACE,
        ),
    ] = "page"
    schedule_for: Annotated[
        str | None,
        Option(
            help="What schedules minimise: time, energy or traffic; default: the first objective "
            "that is one of them, else time.",
            rich_help_panel=_SPACE,
            show_default=False,
        ),
    ] = None
    tolerance: Annotated[
        float, Option(help="Gap at which a schedule counts as optimal.", rich_help_panel=_SPACE)
    ] = 1e-3
    time_limit: Annotated[
        float, Option(help="Seconds for each schedule.", rich_help_panel=_SPACE)
    ] = 60.0
    trials: Annotated[int, Option(help="Trials of the study in all.", rich_help_panel=_SEARCH)] = (
        100
    )
    sampler: Annotated[
        str, Option(help=choices("Who proposes machines:", _SAMPLERS), rich_help_panel=_SEARCH)
    ] = "tpe"
    seed: Annotated[
        int,
        Option(
            help="The same seed and workers give the same trials, where no other process joins.",
            rich_help_panel=_SEARCH,
        ),
    ] = 0
    prune: Annotated[
        bool,
        Option(
            "--prune/--no-prune",
            help="Exclude machines by proof: those that bounds show to be off the front.",
            rich_help_panel=_SEARCH,
        ),
    ] = True
    workers: Annotated[
        int,
        Option(
            help="Processes that schedule, while this one proposes and writes; 0: all in this one.",
            rich_help_panel=_SEARCH,
        ),
    ] = 1
    scheduler_address: Annotated[
        str | None,
        Option(
            help="Dask scheduler, as tcp://host:8786, whose workers evaluate trials.",
            rich_help_panel=_SEARCH,
        ),
    ] = None
    timeout: Annotated[
        float | None,
        Option(help="Seconds after which no trial is begun.", rich_help_panel=_SEARCH),
    ] = None
    storage: Storage = STORAGE
    study: Annotated[
        str | None,
        Option(
            help="Name of the study, gone on with if there is one; default: that of the space.",
            rich_help_panel=_STUDY,
            show_default=False,
        ),
    ] = None
    keep_schedules: KeepSchedules = None


def setup_of(tuned: Tuned) -> Setup:
    """The study that the options describe.

    Raises
    ------
    InputError
        A space, network or option that cannot be used.
    """
    from spmopt.search.space.doubts import require_energies
    from spmopt.search.space.figures import figure_named
    from spmopt.search.space.setup import Setup
    from spmopt.search.space.space import read_space

    for name, value in (("--tolerance", tuned.tolerance), ("--time-limit", tuned.time_limit)):
        if not isfinite(value) or value < 0:
            raise InputError(f"{name} {value}: must be a number, 0 or more")
    words = [word.strip() for word in tuned.objective.split(",") if word.strip()]
    objectives = tuple(figure_named(word, "objective") for word in words)
    for word in (
        word for place, word in enumerate(words) if objectives[place] in objectives[:place]
    ):
        raise InputError(f"--objective {tuned.objective}: {word} is named twice; leave one out")
    scheduled = [word for word in words if word in ("time", "energy", "traffic")]
    networks = _networks(tuned)
    setup = Setup(
        networks=networks,
        space=read_space(tuned.space, _machine_of(networks)),
        objectives=objectives,
        scheduler=tuned.scheduler,
        schedule_for=tuned.schedule_for or (*scheduled, "time")[0],
        tolerance=tuned.tolerance,
        time_limit_s=tuned.time_limit,
    )
    if tuned.batch is not None and setup.space.has_batch:
        raise InputError("--batch: the space says it; leave one out")
    setup.space.require_possible(setup.names)
    require_energies(setup)
    return setup


def effort_of(tuned: Tuned, setup: Setup) -> Effort:
    """How it is searched; raises :class:`InputError`."""
    from spmopt.search.tuning.effort import Effort
    from spmopt.search.tuning.samplers import require_sampler

    for name, value, least in (("--trials", tuned.trials, 1), ("--workers", tuned.workers, 0)):
        if value < least:
            raise InputError(f"{name} {value}: must be at least {least}")
    if tuned.seed < 0:
        raise InputError(f"--seed {tuned.seed}: must be 0 or more")
    if tuned.timeout is not None and not tuned.timeout >= 0:
        raise InputError(f"--timeout {tuned.timeout}: must be 0 or more")
    require_sampler(tuned.sampler, setup.space, setup.objectives)
    return Effort(
        trials=tuned.trials,
        sampler=tuned.sampler,
        seed=tuned.seed,
        workers=tuned.workers,
        address=tuned.scheduler_address,
        timeout_s=tuned.timeout,
        prune=tuned.prune,
    )


def _networks(tuned: Tuned) -> tuple[Network, ...]:
    """Networks as a sweep has them; what cannot be said of one is refused there."""
    from spmopt.cli.sweeping.cases import cases
    from spmopt.cli.sweeping.options import Swept

    swept = Swept(
        networks=tuned.networks,
        training=tuned.training,
        batch=None if tuned.batch is None else str(tuned.batch),
        optimizer=tuned.optimizer,
        param=tuned.param,
        assume_pointwise=tuned.assume_pointwise,
        lowering=tuned.lowering,
    )
    return tuple(dict.fromkeys(case.network for case in cases(swept)))


def _machine_of(networks: tuple[Network, ...]) -> Machine | None:
    """The machine of stored instances; None where there are none."""
    from spmopt.io.files import read_instance

    stored = [Path(network.name) for network in networks if network.is_lowered]
    machines = {path: read_instance(path).machine for path in stored}
    if len(set(machines.values())) > 1:
        raise InputError(
            f"{', '.join(map(str, stored))}: are of different machines; search them one by one"
        )
    return next(iter(machines.values()), None)
