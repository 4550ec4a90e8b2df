"""Suite of gradients in tiles: the work of comparing all orders and partitions of a network."""

from __future__ import annotations

from spmopt.bench.suite import Case, Column, Options, Part, Row, Suite, Target

_ORDERS = "sequential,interleaved,dx-major,dw-major"
_PARTITIONS = "none,m/2,m/4,n/2,n/4,k/2,k/4"


def gradients() -> Suite:
    """All layers of ResNet-50 on the machines of Kim et al., MICRO 2023."""
    rows = tuple(
        Row(
            case=Case(network="resnet50", spm=spm, machine=machine),
            cells=("resnet50", machine, f"batch {batch}"),
            parts={"": Part(measure="backward", options=_options(batch))},
            targets=(Target(figure="wall_s", value=120),),
        )
        for machine, spm, batch in (("small-npu", "1MB", 4), ("large-npu", "8MB", 8))
    )
    return Suite(
        name="gradients",
        title="gradients of ResNet-50 in tiles: four orders, seven partitions, double buffering",
        about="All layers, in four orders (sequential, interleaved, dx-major, dw-major), whole "
        "and cut into 2 and 4 parts along M, K and N. For each the tile is chosen, and the "
        "schedule made and verified, on all processors. Equal layers are computed once. The "
        "last figure but one: time that the best of all saves against sequential.",
        heads=("network", "machine", "batch"),
        rows=rows,
        columns=(
            Column(figure="layers", heading="sizes", form="n"),
            Column(figure="schedules", heading="schedules", form="n"),
            Column(figure="products", heading="tile products", form="n"),
            Column(figure="wall_s", heading="wall s"),
            Column(figure="cpu_s", heading="CPU s"),
            Column(figure="saved", heading="saved %", form="%"),
            Column(figure="verified", heading="verified", form="yes"),
        ),
    )


def _options(batch: int) -> Options:
    return {
        "batch": batch,
        "orders": _ORDERS,
        "partitions": _PARTITIONS,
        "replacement": "double-buffer",
    }
