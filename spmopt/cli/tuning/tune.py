"""The commands that search machines, and show what a search has found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from typer import Context
from typer.core import TyperGroup

from spmopt.cli import Code
from spmopt.cli.flat import flat
from spmopt.cli.options import Json
from spmopt.cli.tuning.options import Tuned, effort_of, setup_of

if TYPE_CHECKING:  # they would load Optuna, and help should not
    from spmopt.search.space.setup import Setup


class _Unnamed(Context):
    """That of ``search``, whose name nobody has to write."""

    @property
    def command_path(self) -> str:
        """What the usage line begins with."""
        return self.parent.command_path if self.parent else super().command_path


class SearchOrShow(TyperGroup):
    """``tune show`` shows; whatever else follows ``tune`` is for ``tune search``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put in the name of the command that is left out."""
        named = args[:1] in (["search"], ["show"])
        return list(super().parse_args(ctx, args if named else ["search", *args]))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """That of a name."""
        found = super().get_command(ctx, cmd_name)
        if found is not None and cmd_name == "search":
            found.context_class = _Unnamed
        return found


@flat
def search(tuned: Tuned, json: Json = False) -> int:
    """Search machines for networks: schedules of each, verified, with certified bounds.

    'spmopt tune show' shows the front, what matters, and the schedule of any trial.
    """
    from spmopt.cli.terminal.interrupt import Interrupted
    from spmopt.cli.terminal.output import messages, tell, warn
    from spmopt.cli.terminal.progress import progress
    from spmopt.cli.tuning.view import show_study
    from spmopt.io.document import require_folder
    from spmopt.search.findings.found import found_of
    from spmopt.search.space.doubts import doubts
    from spmopt.search.study.schedules import Schedules, folder_for
    from spmopt.search.study.storage import open_storage, storage_errors
    from spmopt.search.study.studies import begin
    from spmopt.search.tuning.tune import tune

    setup = setup_of(tuned)
    effort = effort_of(tuned, setup)
    _warn_of_networks(setup, warn)
    name = tuned.study or tuned.space.stem
    if tuned.keep_schedules is not None:
        require_folder(tuned.keep_schedules.parent)
    storage = open_storage(tuned.storage)
    folder = folder_for(tuned.storage, name, tuned.keep_schedules)
    study = begin(storage, name, setup, folder)
    for doubt in doubts(setup):
        warn(doubt)
    schedules = Schedules(folder)
    code = Code.OK
    try:
        with progress(messages(), remaining=True) as report, storage_errors(tuned.storage):
            tune(study, setup, effort, storage=storage, schedules=schedules, tell=report)
    except (Interrupted, KeyboardInterrupt):
        code = Code.INTERRUPTED
        tell("interrupted: the same command goes on from here")
    shown = show_study(study, setup, found_of(study, setup), as_json=json)
    return code or shown


def _warn_of_networks(setup: Setup, warn: Any) -> None:
    """Say what is doubtful about networks from files, before they are built in silence."""
    from spmopt.sweep.cases import Case
    from spmopt.sweep.work import prepare

    for network in setup.networks:
        if network.name.lower().endswith(".onnx"):
            machine = setup.space.machine
            case = Case(network=network, machine=machine, capacities=(machine.spm_bytes,))
            for text in prepare(case)[1]:
                warn(text)
