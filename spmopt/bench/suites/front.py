"""Suite of the exact front of time and cost: capacities x bandwidths of training steps."""

from __future__ import annotations

from spmopt.bench.suite import Case, Column, Options, Part, Row, Suite, Target
from spmopt.bench.suites.common import OPERATIONS, PEAK

SPM, BANDWIDTH = "160MB", "1540GB/s"
TECHNOLOGY, MM2_PER_GBPS = "nvsim-sram", 0.1
"""The machines: the largest of each, and what they cost."""
_LIMIT_S, _TOLERANCE = 60.0, 1e-4
_BEYOND, _OVERHEAD = 20.0, 0.05


def front() -> Suite:
    """The front by proofs, and that of every machine solved on a smaller grid."""
    proofs = (Target(figure="proved", value=1, at_least=True),)
    wanted = (
        Target(figure="beyond", value=_BEYOND),
        Target(figure="undecided", value=0),
        Target(figure="overhead", value=_OVERHEAD),
        *proofs,
    )
    return Suite(
        name="front",
        title="the exact front of time and cost over capacities and bandwidths, pruned by proof",
        about="Training steps, batch of the zoo, on rtx2080ti with other capacities and "
        f"bandwidths: n x n machines, in equal steps up to {SPM} and {BANDWIDTH}. A "
        f"machine costs the area of its SRAM ({TECHNOLOGY}, a fit, extrapolated beyond its "
        f"points) and {MM2_PER_GBPS:g} mm2 for each GB/s, which is assumed. *Solves* are "
        f"runs of `page` to a gap of {_TOLERANCE:.2%}, verified; no relaxation is solved "
        "besides. *Beyond* are those of machines that are not on the front, and those "
        "repeated more closely. The front is that of the optimal times: a machine is left "
        "out only where a bound proves that another one dominates it. *Proved*: every "
        "bound was evaluated again, exactly, from its prices on the machine's own "
        "operations. *Borrowed*: prices evaluated on operations that another capacity "
        "lowers otherwise. *Outside*: share of the seconds that is not within solves; "
        "lowering is in it. *Equal*: every machine was solved for comparison, and the "
        "fronts agree.",
        heads=("network", "machines"),
        rows=(
            _row("resnet50", 20, wanted),
            _row("mobilenetv2", 20, wanted),
            _row("resnet50", 6, (Target(figure="equal", value=1, at_least=True), *proofs)),
        ),
        columns=(
            OPERATIONS,
            Column(figure="front", heading="on the front", form="n"),
            Column(figure="undecided", heading="undecided", form="n"),
            Column(figure="solves", heading="solves", form="n"),
            Column(figure="beyond", heading="beyond", form="n"),
            Column(figure="borrowed", heading="borrowed", form="n"),
            Column(figure="wall_s", heading="wall s"),
            Column(figure="cpu_s", heading="CPU s"),
            Column(figure="overhead", heading="outside %", form="%"),
            Column(figure="check_s", heading="check s"),
            Column(figure="proved", heading="proved", form="yes"),
            Column(figure="equal", heading="equal", form="yes"),
            PEAK,
        ),
    )


def _row(network: str, steps: int, targets: tuple[Target, ...]) -> Row:
    options: Options = {
        "steps": steps,
        "bandwidth": BANDWIDTH,
        "technology": TECHNOLOGY,
        "mm2_per_gbps": MM2_PER_GBPS,
        "tolerance": _TOLERANCE,
        "limit_s": _LIMIT_S,
        "exhaustive": any(target.figure == "equal" for target in targets),
    }
    return Row(
        case=Case(network=network, spm=SPM),
        cells=(network, f"{steps} x {steps}"),
        parts={"": Part(measure="front", options=options)},
        targets=targets,
    )
