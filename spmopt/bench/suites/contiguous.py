"""The suite of contiguous addresses: what one range a tensor costs."""

from __future__ import annotations

from itertools import product

from spmopt.bench.suite import Case, Column, Options, Part, Row, Suite, Target
from spmopt.bench.suites.common import GNMT, NETWORKS, OPERATIONS

_SIZES = ("24MB", "64MB", "128MB")
_SMALL: Options = {"tolerance": 1e-4, "limit_s": 120.0}
_LARGE: Options = {"tolerance": 1e-3, "limit_s": 600.0}
_MOST = 0.01


def contiguous() -> Suite:
    """Four networks, three scratchpads."""
    small = (Case(network=name, spm=spm) for name, spm in product(NETWORKS, _SIZES))
    large = (Case(network="gnmt", spm=spm, parameters=GNMT[0]) for spm in _SIZES)
    rows = (*(_row(case, _SMALL) for case in small), *(_row(case, _LARGE) for case in large))
    return Suite(
        name="contiguous",
        title="what contiguous addresses cost, objective time",
        about="Step time of the best schedule in which each tensor has one range of addresses, "
        "and of the best one in pages anywhere, from which it is repaired. Both gaps are to the "
        "certified bound, which holds for any addresses. Seconds of `contiguous` hold those of "
        "`page`. It ends within 0.01 % of the bound, after 20 trials in vain, or after 120 s; on "
        "GNMT within 0.1 %, or after 600 s.",
        heads=("network", "SPM"),
        rows=rows,
        columns=(
            OPERATIONS,
            Column(figure="page_ms", heading="page ms", form="ms"),
            Column(figure="ms", heading="contiguous ms", form="ms"),
            Column(figure="cost", heading="cost %", form="%"),
            Column(figure="page_gap", heading="gap, page %", form="%"),
            Column(figure="gap", heading="gap, contiguous %", form="%"),
            Column(figure="traffic", heading="more traffic %", form="%"),
            Column(figure="page_s", heading="page wall s"),
            Column(figure="wall_s", heading="wall s"),
            Column(figure="cpu_s", heading="CPU s"),
            Column(figure="verified", heading="verified", form="yes"),
        ),
    )


def _row(case: Case, options: Options) -> Row:
    return Row(
        case=case,
        cells=(case.title, case.spm),
        parts={"": Part(measure="contiguity", options=options)},
        targets=(Target(figure="cost", value=_MOST),),
    )
