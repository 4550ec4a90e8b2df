"""Pages of schedules in Chromium: their size, how soon they are drawn, how smoothly they move.

Means something on an idle machine only.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

from results.shared.bench import TINY, Bench, BenchLine, Case, Figures
from spmopt.core.scheduler import Request
from spmopt.io.files import StoredResult, write_result
from spmopt.solving import compare
from tests.reporting.page.browser.chromium import chromium
from tests.reporting.page.browser.timing import ZOOMS, looked_at, written

SCHEDULERS = ("belady", "residency")
PAGES = {"one schedule": ("residency",), "two compared": SCHEDULERS}  # schedulers of each
KEPT = Path(gettempdir()) / "spmopt-pages"


def page(case: Case, schedulers: tuple[str, ...]) -> Figures:
    """Write a page, and look at it; schedules are kept for the next run."""
    results = [KEPT / f"{case.title}, {case.spm}, {name}.json" for name in schedulers]
    if not all(path.exists() for path in results):
        schedule(case)
    with TemporaryDirectory() as folder:
        file = Path(folder) / "page.html"
        figures = written(results, file)
        with chromium(Path(folder)) as screen:
            return {**figures, **looked_at(screen, file)}


def schedule(case: Case) -> None:
    """Write the schedules of a case."""
    KEPT.mkdir(exist_ok=True)
    problem = case.problem()
    for result in compare(problem, SCHEDULERS, Request(tolerance=0.01, time_limit_s=600)):
        path = KEPT / f"{case.title}, {case.spm}, {result.scheduler}.json"
        write_result(path, StoredResult(problem=problem, result=result))


def browser() -> dict[str, str]:
    """Return the version of the browser."""
    with TemporaryDirectory() as downloads, chromium(Path(downloads)) as screen:
        return {"chromium": str(screen.driver.capabilities["browserVersion"])}


TARGETS = {
    **{"mb": "≤ 20", "pictures_ms": "≤ 2000"},
    **{f"frames_{zoom}": "≥ 30" for zoom in ZOOMS},
}
BENCH = Bench(
    file=__file__,
    lines=[
        BenchLine((case.title, case.spm, name), {"": partial(page, case, schedulers)}, TARGETS)
        for case in (Case("resnet50", "24MB"), Case("gnmt", "64MB", {"steps": 68}))
        for name, schedulers in PAGES.items()
    ],
    versions=browser,
    quick=partial(page, TINY, ("residency",)),
)

if __name__ == "__main__":
    sys.exit(BENCH.main())
