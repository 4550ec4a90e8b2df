"""Fusion tiles decided together with residency: schedules, and bounds over the fusion space.

Lines of the costs ``panel`` have the targets of a first formulation of fusion plans, which cut the
batch alone; under the default costs, over the fusion space, milliseconds are reported, and gaps
have targets. The search ends after the seconds within which it is to be done.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from time import monotonic

from results.shared.bench import Bench, BenchLine, Figures, peak_mb, timed
from spmopt.core.errors import ScheduleError
from spmopt.core.graph import Graph
from spmopt.core.objective import Objective, objective_named
from spmopt.core.problem import Problem
from spmopt.core.result import relative_gap
from spmopt.core.scheduler import Incumbent, Request
from spmopt.frontends import zoo
from spmopt.graph.lower import lower
from spmopt.graph.normalization import split_normalizations
from spmopt.graph.preparation import LOWERINGS
from spmopt.graph.tileable import tileable
from spmopt.graph.training import training_graph
from spmopt.hardware.machines import load_machine
from spmopt.solving import solve

THREADS = 2
CNN_S, DEEP_S = 15.0, 60.0
"""Wall seconds within which schedule and bound are to be known."""


@dataclass(frozen=True, kw_only=True)
class FusionCase:
    """A network in inference or training, to be lowered for a machine.

    Attributes
    ----------
    split
        Training normalizations are two operations each, under lowerings that leave them one.
    """

    network: str
    spm: str
    machine: str = "rtx2080ti"
    training: bool = False
    split: bool = False
    objective: str = "time"
    mapper: str = LOWERINGS[0]
    fusion_space: str = "all"
    parameters: Mapping[str, int] = field(default_factory=dict)

    @property
    def cells(self) -> tuple[str, ...]:
        """Texts of the table's first columns."""
        given = [f"{name}={value}" for name, value in self.parameters.items()]
        goal = "training" if self.training else "inference"
        norms = ", norms in two" if self.split else ""
        return (
            ", ".join([self.network, *given]),
            goal + norms,
            self.machine,
            self.spm,
            self.objective,
            self.mapper,
            self.fusion_space,
        )

    def graph(self) -> Graph:
        """Build the graph."""
        graph = zoo.network(self.network, **self.parameters)
        graph = training_graph(graph) if self.training else graph
        return split_normalizations(graph) if self.split else graph

    def problem(self) -> Problem:
        """Build and lower it, with what can be cut of it."""
        graph, machine = self.graph(), load_machine(self.machine, {"spm": self.spm})
        found = lower(graph, machine, mapper=self.mapper)
        return replace(found, listed=partial(tileable, graph, mapper=self.mapper))

    @property
    def aim(self) -> Objective:
        """What is to be least."""
        return objective_named(self.objective, load_machine(self.machine, {"spm": self.spm}))

    @property
    def unit(self) -> float:
        """Of the objective, that of the table: milliseconds or MB."""
        machine = load_machine(self.machine, {"spm": self.spm})
        return machine.clock_hz / 1e3 if self.objective == "time" else 1e6


def measure(case: FusionCase, limit_s: float, most: float, gap: float) -> Figures:
    """Measure ``page`` layer by layer, then fusion tiles, from the problem in memory.

    ``reached_s``: wall seconds after which the search knows a schedule of at most ``most`` and of a
    gap to the bound over the fusion space of at most ``gap``; ``first_s``: those to its first
    schedule. What is known in the end is verified, and the bound recomputed in exact integers.

    Raises
    ------
    ScheduleError
        There is no schedule or no bound.
    """
    problem, mapper = timed(case.problem)
    request = Request(objective=case.aim, tolerance=1e-4, time_limit_s=limit_s, threads=THREADS)
    page = solve(problem, "residency", request)
    news = _News(most * case.unit, gap)
    request = replace(request, started=monotonic(), on_incumbent=news.note)
    fusion, taken = timed(lambda: solve(problem, f"fusion:space={case.fusion_space}", request))
    if page.value is None or fusion.value is None or fusion.fusion_bound is None:
        raise ScheduleError("no schedule, or no bound")
    assert page.totals is not None
    assert fusion.totals is not None
    assert fusion.fused is not None
    return {
        "operations": len(problem.operations),
        "page": float(page.value) / case.unit,
        "value": float(fusion.value) / case.unit,
        "bound": float(fusion.fusion_bound) / case.unit,
        "gap": fusion.fusion_gap,
        "page_gap": relative_gap(page.value, fusion.fusion_bound),
        "page_mb": page.totals.traffic_bytes / 1e6,
        "mb": fusion.totals.traffic_bytes / 1e6,
        "fused_groups": len(fusion.fused.fusion_plan),
        "first_s": news.first_s,
        "reached_s": news.reached_s,
        "lower_s": mapper["wall_s"],
        "peak_mb": peak_mb(),
        **taken,
    }


class _News:
    """What the search tells, and when it is as good as asked for."""

    def __init__(self, most: float, gap: float) -> None:
        self.most, self.gap, self.begun = most, gap, monotonic()
        self.value, self.bound = float("inf"), 0.0
        self.first_s: float | None = None
        self.reached_s: float | None = None

    def note(self, news: Incumbent) -> None:
        """Take news of the search."""
        since = monotonic() - self.begun
        if news.value is not None:
            self.value = min(self.value, float(news.value))
            self.first_s = since if self.first_s is None else self.first_s
        if news.bound is not None and news.of_fusion_plans and not news.of_class:
            self.bound = max(self.bound, float(news.bound))
        met = self.value <= self.most and self.value <= self.bound * (1 + self.gap)
        if met and self.reached_s is None:
            self.reached_s = since


def line(
    case: FusionCase, most: float, gap: float, within_s: float, *, long: bool = False
) -> BenchLine:
    """Return the line of a case: a value that is no worse than ``most``, and a gap."""
    targets = {"gap": f"≤ {gap}", "first_s": "≤ 2", "reached_s": f"≤ {within_s:g}"}
    targets |= {"peak_mb": "≤ 1000"}
    if most < INFINITE:
        targets["value"] = f"≤ {most}"
    parts = {"": partial(measure, case, within_s, most, gap)}
    return BenchLine(case.cells, parts, targets, long=long)


def is_long(case: FusionCase) -> bool:
    """Return whether a case is measured with ``--long`` only: the slowest one."""
    return case.network == "transformer"


INFINITE = 1e12
RESNET = partial(FusionCase, network="resnet50")
MOBILE = partial(FusionCase, network="mobilenetv2")
BERT = partial(FusionCase, network="bert-large", parameters={"batch": 8, "sequence": 512})
FIRST: list[tuple[FusionCase, float, float, float]] = [
    (RESNET(spm="4MB"), 21.73, 0.003, CNN_S),
    (RESNET(spm="24MB"), 19.56, 0.003, CNN_S),
    (MOBILE(spm="4MB"), 2.173, 0.01, CNN_S),
    (MOBILE(spm="24MB"), 1.4935, 0.003, CNN_S),
    (RESNET(spm="8MB", machine="large-npu"), 17.95, 0.012, CNN_S),
    (MOBILE(spm="8MB", machine="large-npu"), 151.4, 0.003, CNN_S),
    (RESNET(spm="1MB", machine="small-npu", parameters={"batch": 4}), 48.95, 0.02, CNN_S),
    (BERT(spm="4MB"), 214.7, 0.003, DEEP_S),
    (BERT(spm="24MB"), 202.8, 0.003, DEEP_S),
    (RESNET(spm="24MB", training=True), 67.04, 0.003, CNN_S),
    (RESNET(spm="4MB", training=True, split=True), 68.3, 0.005, CNN_S),
    (RESNET(spm="24MB", training=True, split=True), 60.44, 0.005, CNN_S),
    (RESNET(spm="8MB", machine="large-npu", training=True, split=True), INFINITE, 0.03, CNN_S),
    (FusionCase(network="transformer", spm="24MB", training=True), 620.19, 0.001, DEEP_S),
    (MOBILE(spm="4MB", objective="traffic"), 546, 0.025, CNN_S),
    (RESNET(spm="24MB", objective="traffic"), 309, 0.25, CNN_S),
]
"""Case, the value of a first formulation, the gap to reach, and the seconds."""
DEFAULT = {
    whole.cells: (whole, gap, within_s)
    for case, _, gap, within_s in FIRST
    for whole in [replace(case, split=False)]
}
"""The cases under the default costs, which split normalizations by themselves."""
LONG = [
    FusionCase(network="transformer", spm="64MB", training=True, parameters={"layers": 96}),
    FusionCase(network="gnmt", spm="64MB", training=True, parameters={"steps": 10}),
]
TINY = FusionCase(
    network="bert-tiny", spm="1MB", parameters={"batch": 4, "sequence": 8, "layers": 1}
)
BENCH = Bench(
    file=__file__,
    lines=[
        *(
            line(replace(each, mapper="panel", fusion_space="batch"), *rest)
            for each, *rest in FIRST
        ),
        line(MOBILE(spm="4MB", mapper="panel"), 1.75, 0.01, CNN_S),
        *(
            line(case, INFINITE, gap, within_s, long=is_long(case))
            for case, gap, within_s in DEFAULT.values()
        ),
        *(line(case, INFINITE, 1.0, 120.0, long=True) for case in LONG),
    ],
    quick=partial(measure, TINY, 5.0, INFINITE, 1.0),
)

if __name__ == "__main__":
    sys.exit(BENCH.main())
