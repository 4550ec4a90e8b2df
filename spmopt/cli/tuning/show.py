"""The command that shows what a search of machines has found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from spmopt.cli import Code
from spmopt.cli.flat import flat
from spmopt.cli.options import Json
from spmopt.cli.tuning.options import STORAGE
from spmopt.core.errors import InputError

if TYPE_CHECKING:  # it would load Optuna, and help should not
    from spmopt.search.space.setup import Setup


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is to be shown, and written where."""

    storage: Annotated[str, Option(help="As for the search.")] = STORAGE
    study: Annotated[
        str | None, Option(help="Name of the study; default: the only one of the storage.")
    ] = None
    trial: Annotated[int | None, Option(help="Show this trial; with -o write its schedule.")] = None
    network: Annotated[
        str | None, Option(help="Whose schedule, where the study has several networks.")
    ] = None
    top: Annotated[
        int | None,
        Option(help="Show so many of the best in the first objective in place of the front."),
    ] = None
    worth: Annotated[
        bool,
        Option("--worth", help="What more scratchpad, bandwidth and PEs are worth on the front."),
    ] = False
    output: Annotated[
        Path | None,
        Option(
            "--output",
            "-o",
            help="CSV file for the front, or result file for the schedule of --trial; one of that "
            "name is replaced.",
        ),
    ] = None

    def require_sense(self) -> None:
        """Raise :class:`InputError` for options that do not go together."""
        if self.trial is None and self.network is not None:
            raise InputError("--network: is for --trial; name one as well")
        if self.trial is not None and (self.worth or self.top is not None):
            option = "--worth" if self.worth else "--top"
            raise InputError(f"{option}: is for the front; leave --trial out")
        if self.top is not None and self.top < 1:
            raise InputError(f"--top {self.top}: must be at least 1")
        is_table = self.output is not None and self.output.suffix.lower() == ".csv"
        if self.trial is not None and is_table:
            raise InputError(
                f"-o {self.output}: a schedule is no table; name a file that ends in .json"
            )


@flat
def show(asked: Asked, json: Json = False) -> int:
    """Show the Pareto front of a search, what matters, and the schedule of any trial."""
    from spmopt.io.document import require_writable
    from spmopt.search.study.storage import open_known, storage_errors
    from spmopt.search.study.studies import known

    asked.require_sense()
    if asked.output is not None:
        require_writable(asked.output)
    with storage_errors(asked.storage):
        study, setup = known(open_known(asked.storage), asked.study)
        if asked.trial is None:
            return _show_front(study, setup, asked, json)
        return _show_trial(study, setup, asked.trial, asked, json)


def _show_front(study: Any, setup: Setup, asked: Asked, as_json: bool) -> int:
    from spmopt.cli.terminal.output import tell
    from spmopt.cli.tuning.view import show_study
    from spmopt.search.findings.found import found_of, worth_of
    from spmopt.search.findings.records import rows
    from spmopt.search.study.studies import schedules_of

    found = found_of(study, setup, asked.top)
    if asked.worth:
        found = replace(found, worth=worth_of(setup, found, schedules_of(study), tell))
    code = show_study(study, setup, found, as_json=as_json)
    if asked.output is not None:
        _write_csv(asked.output, rows(found, setup))
    return code


def _show_trial(study: Any, setup: Setup, number: int, asked: Asked, as_json: bool) -> int:
    from spmopt.cli.terminal.output import tell
    from spmopt.cli.tuning.view import show_trial
    from spmopt.io.files import write_result
    from spmopt.search.findings.replay import network_named, result_for, trial_numbered
    from spmopt.search.study.studies import schedules_of

    trial = trial_numbered(study, number)
    show_trial(trial, setup, as_json=as_json)
    if asked.output is not None:
        if setup.bound_only:
            raise InputError(f"-o: scheduler {setup.scheduler} gives bounds, no schedules")
        network = network_named(setup, asked.network)
        result = result_for(setup, trial, network, schedules_of(study), tell)
        write_result(asked.output, result)
    return Code.OK


def _write_csv(path: Path, found: Sequence[Mapping[str, object]]) -> None:
    """Write rows; raises :class:`InputError` where they cannot be."""
    import csv
    from io import StringIO

    from spmopt.io.document import write_text

    text = StringIO()
    heads = list(dict.fromkeys(key for row in found for key in row))
    writer = csv.DictWriter(text, heads, lineterminator="\n")
    writer.writeheader()
    writer.writerows(found)
    write_text(path, text.getvalue())
