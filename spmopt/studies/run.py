"""Running a study: its sweeps one after the other, rows kept as they are finished."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from spmopt.io.document import require_folder
from spmopt.studies.record import Recorded, begin, columns_of, part_path, read, table_path
from spmopt.studies.study import Measured, Part, Study
from spmopt.sweep.cases import Case
from spmopt.sweep.pool import Pool
from spmopt.sweep.rows import Columns, Row, Value, row_of
from spmopt.sweep.run import sweep
from spmopt.sweep.store import Store
from spmopt.sweep.table import Table

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
    parts = study.parts()
    keys = [key for part in parts for key in _keys(part, columns)]

    def tell(message: str) -> None:
        report(f"{len(table)} of {len(keys)} rows; {message}", len(table) / len(keys))

    complete = False
    try:
        with Pool(jobs) as pool:
            for part in parts:
                _sweep(part, (table, columns, pool, _store(part, part_file, table)), tell, warn)
        complete = True
    finally:
        table.close(keys if complete else None)
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
        with Pool(jobs) as pool:
            for rows in measured.run(pool, tell, known):
                table.add(rows)
                keys += [columns.key_about(row) for row in rows]
    finally:
        table.close(keys or None)


def _keys(part: Part, columns: Columns) -> list[tuple[str, ...]]:
    return [
        columns.key_of(case, size, name)
        for case in part.labelled
        for size in case.capacities
        for name in part.schedulers
    ]


def _store(part: Part, part_file: Path, table: Table) -> Store:
    path = part_file.with_name(f"{part_file.name}.{part.name}.part")
    return Store(path, table.head, part.search.objective)


def _sweep(
    part: Part, places: tuple[Table, Columns, Pool, Store], tell: Callable[[str], None], warn: Warn
) -> None:
    table, columns, pool, store = places

    def done(case: Case, spm_bytes: int, name: str) -> bool:
        return columns.key_of(case, spm_bytes, name) in table

    found = sweep(
        part.labelled,
        part.schedulers,
        part.search,
        pool=pool,
        store=store,
        done=done,
        tell=tell,
        warn=warn,
    )
    for some in found:
        table.add(
            row_of(each.case, each.spm_bytes, each.finding, part.search.objective) for each in some
        )
    store.remove()
