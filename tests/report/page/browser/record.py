"""Measure pages in Chromium: ``python -m tests.report.page.browser.record``.

Writes ``results/pages.md`` and ``results/pages.json``; means something on an idle machine only.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

from spmopt.bench.lines import Line
from spmopt.bench.record import Record
from spmopt.bench.runner import run, select
from spmopt.bench.suite import Case, Column, Figures, Part, Row, Suite, Target
from spmopt.bench.table import markdown, write
from spmopt.bench.worker import build
from spmopt.core.scheduler import Request
from spmopt.io.files import StoredResult, write_result
from spmopt.solve import compare
from tests.report.page.browser.chromium import NEEDED, chromium, installed
from tests.report.page.browser.timing import ZOOMS, looked_at, written

FOLDER = Path(__file__).parents[4] / "results"
COMMAND = "python -m tests.report.page.browser.record"
RUNS = 5
SCHEDULERS = ("belady", "page")
CASES = (
    Case(network="resnet50", spm="24MB"),
    Case(network="gnmt", spm="64MB", parameters={"steps": 68}),
)
PAGES = {"one schedule": ("page",), "two compared": SCHEDULERS}
"""Schedulers of each page."""
TARGETS = (
    Target(figure="mb", value=20),
    Target(figure="pictures_ms", value=2000),
    *(Target(figure=f"frames_{zoom}", value=30, at_least=True) for zoom in ZOOMS),
)
REQUEST = Request(tolerance=0.01, time_limit_s=600)


def pages(cases: Sequence[Case] = CASES) -> Suite:
    """The table: a line for each page of each case."""
    return Suite(
        name="pages",
        title="Pages of schedules in Chromium",
        about="Pages that `spmopt report` makes of training steps, by page, and by belady against "
        "page. Write: from results in memory to the file: verifying, laying out, writing. "
        "Rectangles: of all maps on the page. Painted: from the start of loading to the first "
        "contentful paint; pictures: until all of them are drawn. Frames while the first map is "
        f"dragged, a move each frame, at {', '.join(f'{zoom}x' for zoom in ZOOMS)} zoom into the "
        "middle: frames a second, and the 95th percentile of the time from one to the next. Each "
        "run is a page written anew, in a browser of its own without a window or a graphics "
        "processor, 1280 by 900 pixels; it draws at most 60 frames a second.",
        heads=("network", "SPM", "page"),
        rows=tuple(
            Row(
                case=case,
                cells=(case.title, case.spm, name),
                parts={"": Part(measure="page", options={"schedulers": ",".join(schedulers)})},
                targets=TARGETS,
            )
            for case, (name, schedulers) in product(cases, PAGES.items())
        ),
        columns=(
            Column(figure="operations", heading="operations", form="n"),
            Column(figure="rectangles", heading="rectangles", form="n"),
            Column(figure="mb", heading="MB", form="x"),
            Column(figure="write_s", heading="write s"),
            Column(figure="painted_ms", heading="painted ms", form="n"),
            Column(figure="pictures_ms", heading="pictures ms", form="n"),
            *(column for zoom in ZOOMS for column in _columns(zoom)),
        ),
    )


def _columns(zoom: int) -> tuple[Column, Column]:
    return (
        Column(figure=f"frames_{zoom}", heading=f"{zoom}x: frames/s", form="x"),
        Column(figure=f"frame_{zoom}_ms", heading="95 % ms", form="x"),
    )


def main(arguments: Sequence[str] | None = None, suite: Suite | None = None) -> None:
    """Measure all pages and write the table; of some lines only, print it."""
    suite = suite or pages()
    parser = _parser(suite)
    only: str | None = parser.parse_args(arguments).only
    if only is not None:
        suite = replace(suite, rows=select(suite, only))
    if not suite.rows:
        parser.error(f"--only {only!r}: no line has these words; use some of --help")
    if not installed():
        parser.error(f"no Chromium is installed; install {NEEDED}")
    record = _begun(suite, only)
    with TemporaryDirectory() as folder:
        lines = _measured(suite, record, Path(folder))
    if only is None:
        write(FOLDER, suite, record, lines)
    else:
        print(markdown(suite, record.head, lines), end="")


def _parser(suite: Suite) -> ArgumentParser:
    parser = ArgumentParser(
        prog=COMMAND,
        description="Write pages of schedules and look at them in Chromium, which takes minutes, "
        f"and write {FOLDER.name}/{suite.name}.md and .json.",
    )
    parser.add_argument(
        "--only",
        metavar="WORDS",
        help="only lines that have these words: the table is printed, the files stay; of "
        + ", ".join(row.name for row in suite.rows),
    )
    return parser


def _begun(suite: Suite, only: str | None) -> Record:
    """The head, with the browser among the versions; runs that were left go on."""
    command = COMMAND if only is None else f"{COMMAND} --only '{only}'"
    with TemporaryDirectory() as downloads, chromium(Path(downloads)) as screen:
        browser = {"chromium": str(screen.driver.capabilities["browserVersion"])}
    return Record.begin(suite, command, RUNS, FOLDER if only is None else None, browser)


def _measured(suite: Suite, record: Record, folder: Path) -> list[Line]:
    found = []
    for line in run(suite, record, _tell, partial(measure, folder=folder)):
        found.append(line)
        print(f"{line.row.name}: {line.mark}", file=sys.stderr, flush=True)
    return found


def _tell(message: str, part: float | None) -> None:
    del part
    print(message, file=sys.stderr, flush=True)


def measure(case: Case, part: Part, *, folder: Path) -> Figures:
    """Write a page in a process of its own, and look at it; ``folder`` keeps the schedules."""
    names = str(part.options["schedulers"]).split(",")
    results = [folder / f"{case.title}-{name}.json" for name in names]
    if not all(path.exists() for path in results):
        _schedule(case, folder)
    page = folder / "page.html"
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        figures = pool.submit(written, results, page).result()
    with chromium(folder) as screen:
        return {**figures, **looked_at(screen, page)}


def _schedule(case: Case, folder: Path) -> None:
    instance = build(case)
    for result in compare(instance, SCHEDULERS, REQUEST):
        path = folder / f"{case.title}-{result.scheduler}.json"
        write_result(path, StoredResult(instance=instance, result=result))


if __name__ == "__main__":
    main()
