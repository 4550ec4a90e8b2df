"""Suite of searches by samplers, held against the exact front of time and cost."""

from __future__ import annotations

from spmopt.bench.suite import Case, Column, Options, Part, Row, Suite, Target
from spmopt.bench.suites.front import BANDWIDTH, MM2_PER_GBPS, SPM, TECHNOLOGY

_STEPS, _TRIALS, _FEW = 20, 200, 40
_TOLERANCE, _LIMIT_S = 1e-3, 60.0
_MISSING, _OUTSIDE = 0.01, 0.05


def tune() -> Suite:
    """How much of the front a number of trials finds, and how fast they are."""
    return Suite(
        name="tune",
        title="searches by samplers of Optuna, against the exact front of time and cost",
        about=f"The {_STEPS} x {_STEPS} machines and costs of suite front, searched by "
        f"`spmopt tune` in {_TRIALS} trials, pruned by proof; each run has its own seed, from 0. "
        f"Every *solve* is one of `page` to a gap of {_TOLERANCE:.1%}, verified; a *pruned* trial "
        "is one that a bound excluded. *Missing*: share of the hypervolume of the exact front "
        "that no trial dominates, at most: the front is taken at its bounds. The reference point "
        "has the time of the cheapest machine of the grid and the cost of the dearest, the worst "
        "of both. *Outside*: share of the wall seconds in which the one worker is neither in "
        "schedulers nor in the verifier: its start, lowering, packing, and waiting for the "
        "process that meanwhile samples, proves, and writes the SQLite file of the study and the "
        "files of schedules; *in turn*: the same where one process does all, one after the other. "
        f"That and trials a second are over {_FEW} trials, the start of workers included.",
        heads=("network", "sampler"),
        rows=tuple(_row("resnet50", sampler) for sampler in ("tpe", "nsga2")),
        columns=(
            Column(figure="trials", heading="trials", form="n"),
            Column(figure="solved", heading="solves", form="n"),
            Column(figure="pruned", heading="pruned", form="n"),
            Column(figure="front", heading="on the exact front", form="n"),
            Column(figure="volume_gap", heading="missing %", form="%"),
            Column(figure="wall_s", heading="wall s"),
            Column(figure="cpu_s", heading="CPU s"),
            Column(figure="outside", heading="outside %", form="%"),
            Column(figure="none.outside", heading="in turn %", form="%"),
            Column(figure="none.rate", heading="trials/s, in turn"),
            Column(figure="one.rate", heading="trials/s, 1 worker"),
            Column(figure="two.rate", heading="trials/s, 2 workers"),
        ),
    )


def _row(network: str, sampler: str) -> Row:
    def part(*, trials: int, workers: int, exact: bool = False) -> Part:
        options: Options = {
            "steps": _STEPS,
            "bandwidth": BANDWIDTH,
            "technology": TECHNOLOGY,
            "mm2_per_gbps": MM2_PER_GBPS,
            "tolerance": _TOLERANCE,
            "limit_s": _LIMIT_S,
            "sampler": sampler,
            "trials": trials,
            "workers": workers,
            "exact": exact,
        }
        return Part(measure="search", options=options, seeded=True)

    return Row(
        case=Case(network=network, spm=SPM),
        cells=(network, sampler),
        parts={
            "": part(trials=_TRIALS, workers=1, exact=True),
            "none": part(trials=_FEW, workers=0),
            "one": part(trials=_FEW, workers=1),
            "two": part(trials=_FEW, workers=2),
        },
        targets=(
            Target(figure="volume_gap", value=_MISSING),
            Target(figure="outside", value=_OUTSIDE),
        ),
    )
