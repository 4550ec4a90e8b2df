"""What several suites share: columns, parts and targets."""

from __future__ import annotations

from collections.abc import Mapping

from spmopt.bench.suite import Column, Options, Part, Target

NETWORKS = ("resnet50", "mobilenetv2", "transformer")
GNMT: tuple[Mapping[str, int], ...] = ({"plain": 1}, {})
"""Without and with the second direction and residual connections: 18,619, 22,357 operations."""

OPERATIONS = Column(figure="operations", heading="operations", form="n")
PEAK = Column(figure="peak_mb", heading="peak MB", form="n")
CERTIFIED = Column(figure="gap", heading="certified gap %", form="%")


def close(scheduler: str, objective: str, tolerance: float, limit_s: float) -> Part:
    """Run ``scheduler`` until its gap is ``tolerance``."""
    options: Options = {
        "scheduler": scheduler,
        "objective": objective,
        "tolerance": tolerance,
        "limit_s": limit_s,
    }
    return Part(measure="reach", options=options)


def relax(limit_s: float) -> Part:
    """Solve the relaxation by priced columns, to a gap of 0.01 %."""
    return Part(measure="priced", options={"tolerance": 1e-4, "limit_s": limit_s})


def within(wall_s: float, gap: float, *more: Target) -> tuple[Target, ...]:
    """Targets of :func:`close` and :func:`relax`."""
    return (Target(figure="wall_s", value=wall_s), Target(figure="gap", value=gap), *more)
