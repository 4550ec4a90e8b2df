"""Running a study: its sweeps one after the other, rows kept as they are finished."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from spmopt.experiments.queue import TaskQueue
from spmopt.experiments.rows import Row, Value
from spmopt.experiments.store import Table
from spmopt.io.document import require_folder
from spmopt.studies.record import Recorded, begin, columns_of, part_path, read, table_path
from spmopt.studies.study import Measured, Study
from spmopt.sweep.run import Sweep, run_sweeps

Report = Callable[[str, float | None], None]
Warn = Callable[[str], None]


def measure(
    study: Study, folder: Path, command: str, *, jobs: int, report: Report, warn: Warn
) -> Recorded:
    """Run the sweeps of a study, those of a killed run from where it was; write its CSV file.

    Parameters
    ----------
    command
        That runs it.
    folder
        Where the file goes; while the study runs, rows are in a hidden file there.
    jobs
        Processes.
    report, warn
        Told of progress, with the part done, and of what is doubtful.

    Raises
    ------
    InputError
        A network or machine that cannot be used, a folder that cannot be written to.
    ScheduleError
        An illegal schedule or an untrue bound.
    """
    require_folder(folder)
    report(f"{study.name}: figures", None)
    columns, part_file = columns_of(study), part_path(folder, study)
    table = Table(part_file, columns, begin(study, command, folder))
    if study.measured is not None:
        _measured(study.measured, table, jobs, report)
        part_file.replace(table_path(folder, study))
        return read(study, folder)
    sweeps = [
        Sweep(cases=part.labelled, schedulers=part.schedulers, search=part.search)
        for part in study.parts()
    ]
    with TaskQueue(jobs) as queue:
        run_sweeps(sweeps, table, queue, report=report, warn=warn)
    part_file.replace(table_path(folder, study))
    return read(study, folder)


def _measured(measured: Measured, table: Table, jobs: int, report: Report) -> None:
    """Keep rows as they come; those that a killed run left are known."""
    columns, keys = measured.columns, list[tuple[str, ...]]()

    def tell(message: str) -> None:
        report(f"{len(table)} rows; {message}", None)

    def known(about: Mapping[str, Value]) -> Row | None:
        return table.get(columns.key_about(about))

    try:
        with TaskQueue(jobs) as pool:
            for rows in measured.run(pool, tell, known):
                table.add(rows)
                keys += [columns.key_about(row) for row in rows]
    finally:
        table.close(keys or None)
