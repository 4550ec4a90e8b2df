"""The suite that compares two models of one relaxation."""

from __future__ import annotations

from itertools import product

from spmopt.bench.suite import Case, Column, Figures, Part, Row, Suite, Target
from spmopt.bench.suites.common import NETWORKS, PEAK, relax

_WAYS = ("simplex", "simplex, no presolve")
"""Ways to solve the plain model of which the best counts: suite ``settings`` has all."""


def plain() -> Suite:
    """Ratio of the plain model's seconds to the priced one's."""
    sizes = product(("tiled", "ideal"), NETWORKS, ("24MB", "128MB", "442MB"))
    cases = [Case(network=network, spm=spm, lowering=low) for low, network, spm in sizes]
    cases += [
        Case(network="gnmt", spm="64MB", parameters={"plain": 1, "steps": 5}),
        Case(network="transformer", spm="128MB", parameters={"layers": 24}),
    ]
    rows = tuple(
        Row(
            case=case,
            cells=(case.title, case.spm, case.lowering),
            parts={"priced": relax(300.0), **{way: _solve(way, 600.0) for way in _WAYS}},
            targets=(Target(figure="ratio", value=10, at_least=True),),
        )
        for case in cases
    )
    return Suite(
        name="plain",
        title="the priced model against the plain one, objective time",
        about="The `fluid` relaxation two ways: priced columns, to a gap of 0.01 %, and one "
        "variable per tensor and step, to the optimum, by dual simplex with or without presolve, "
        "whichever takes less. Seconds hold building and solving. A line fails unless the plain "
        "optimum lies between the priced model's bound and value. Most lines miss the target "
        "because networks of some hundred operations are easy for the simplex method without "
        "presolve: mostly it takes a second or so, and the priced model not much less.",
        heads=("network", "SPM", "lowering"),
        rows=rows,
        columns=(
            Column(figure="priced.operations", heading="operations", form="n"),
            Column(figure="priced.build_s", heading="priced: build s"),
            Column(figure="priced.solve_s", heading="solve s"),
            Column(figure="priced.cpu_s", heading="CPU s"),
            Column(figure="priced.columns", heading="columns", form="n"),
            Column(figure="priced.peak_mb", heading="peak MB", form="n"),
            Column(figure="priced.gap", heading="gap %", form="%"),
            Column(figure="build_s", heading="plain: build s"),
            Column(figure="solve_s", heading="solve s"),
            Column(figure="cpu_s", heading="CPU s"),
            Column(figure="columns", heading="columns", form="n"),
            PEAK,
            Column(figure="best", heading="by"),
            Column(figure="ratio_cpu", heading="ratio, CPU", form="x"),
            Column(figure="ratio", heading="ratio, wall", form="x"),
        ),
        derive=_ratios,
    )


def settings() -> Suite:
    """Every way to solve the plain model."""
    cases = (Case(network="resnet50", spm="24MB"), Case(network="mobilenetv2", spm="442MB"))
    ways = (*_WAYS, "ipx", "ipx, no presolve", "hipo", "hipo, no presolve", "pdlp")
    return Suite(
        name="settings",
        title="ways to solve the plain model, objective time",
        about="Simplex to the optimum; interior point (without crossover) and PDLP to a relative "
        "gap of 0.01 %. At most 60 s each. Ended: `other` is that HiGHS stopped by itself, with a "
        "value that it does not call optimal, as interior point may.",
        heads=("network", "SPM", "setting"),
        rows=tuple(
            Row(case=case, cells=(case.title, case.spm, way), parts={"": _solve(way, 60.0)})
            for case, way in product(cases, ways)
        ),
        columns=(
            Column(figure="build_s", heading="build s"),
            Column(figure="solve_s", heading="solve s"),
            Column(figure="cpu_s", heading="CPU s"),
            Column(figure="columns", heading="columns", form="n"),
            Column(figure="ending", heading="ended"),
            Column(figure="value_ms", heading="value ms", form="ms"),
        ),
    )


def _solve(setting: str, limit_s: float) -> Part:
    return Part(measure="plain", options={"setting": setting, "limit_s": limit_s})


def _ratios(figures: Figures) -> Figures:
    """The best plain way against the priced one; nothing if no plain way came to its end."""
    number = {name: value for name, value in figures.items() if isinstance(value, int | float)}
    solved = [way for way in _WAYS if figures[f"{way}.ending"] == "optimal"]
    if not solved:
        return {}
    best = min(solved, key=lambda way: number[f"{way}.wall_s"])
    names = ("build_s", "solve_s", "wall_s", "cpu_s", "columns", "peak_mb", "value")
    own = {name: number[f"{best}.{name}"] for name in names}
    slack = 1e-7 * own["value"]
    if not number["priced.bound"] - slack <= own["value"] <= number["priced.value"] + slack:
        return {"error": f"the plain optimum, {own['value']:.9g}, is not that of the priced model"}
    return {
        **own,
        "best": best,
        "ratio": own["wall_s"] / number["priced.wall_s"],
        "ratio_cpu": own["cpu_s"] / number["priced.cpu_s"],
    }
