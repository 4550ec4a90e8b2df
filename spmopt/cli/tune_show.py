"""The command that shows what a search of machines has found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from typer import Option

from spmopt.cli import Code
from spmopt.cli.options import Json
from spmopt.cli.tuned import STORAGE
from spmopt.core.errors import InputError


def show(
    *,
    storage: Annotated[str, Option(help="As for the search.")] = STORAGE,
    study: Annotated[
        str | None, Option(help="Name of the study; default: the only one of the storage.")
    ] = None,
    trial: Annotated[
        int | None, Option(help="Show this trial; with -o write its schedule.")
    ] = None,
    network: Annotated[
        str | None, Option(help="Whose schedule, where the study has several networks.")
    ] = None,
    top: Annotated[
        int | None,
        Option(help="Show so many of the best in the first objective in place of the front."),
    ] = None,
    worth: Annotated[
        bool,
        Option("--worth", help="What more scratchpad, bandwidth and PEs are worth on the front."),
    ] = False,
    output: Annotated[
        Path | None,
        Option(
            "--output",
            "-o",
            help="CSV file for the front, or result file for the schedule of --trial; one of that "
            "name is replaced.",
        ),
    ] = None,
    json: Json = False,
) -> int:
    """Show the Pareto front of a search, what matters, and the schedule of any trial."""
    from spmopt.cli.output import tell
    from spmopt.cli.tune_view import show_study, show_trial
    from spmopt.io.document import require_writable
    from spmopt.search.findings.found import found_of, worth_of
    from spmopt.search.findings.records import rows
    from spmopt.search.findings.replay import trial_numbered
    from spmopt.search.study.journal import require_journal
    from spmopt.search.study.storage import open_known
    from spmopt.search.study.studies import known, schedules_of

    if trial is None and network is not None:
        raise InputError("--network: is for --trial; name one as well")
    if trial is not None and (worth or top is not None):
        option = "--worth" if worth else "--top"
        raise InputError(f"{option}: is for the front; leave --trial out")
    if top is not None and top < 1:
        raise InputError(f"--top {top}: must be at least 1")
    if trial is not None and output is not None and output.suffix.lower() == ".csv":
        raise InputError(f"-o {output}: a schedule is no table; name a file that ends in .json")
    if output is not None:
        require_writable(output)
    require_journal(storage)
    kept, setup = known(open_known(storage), study)
    schedules = schedules_of(kept)
    if trial is None:
        found = found_of(kept, setup, top)
        if worth:
            found = replace(found, worth=worth_of(setup, found, schedules, tell))
        code = show_study(kept, setup, found, as_json=json)
        if output is not None:
            _write_csv(output, rows(found, setup))
        return code
    one = trial_numbered(kept, trial)
    show_trial(one, setup, as_json=json)
    if output is not None:
        from spmopt.io.files import write_result
        from spmopt.search.findings.replay import network_named, result_for

        if setup.bound_only:
            raise InputError(f"-o: scheduler {setup.scheduler} gives bounds, no schedules")
        result = result_for(setup, one, network_named(setup, network), schedules, tell)
        write_result(output, result)
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
