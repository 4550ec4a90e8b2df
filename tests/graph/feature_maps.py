"""Random small networks of feature maps: windows of all kinds, joins, and what has no rows."""

from __future__ import annotations

from hypothesis import strategies as st

from spmopt.core.fusion.fused_groups import FusedGroup, FusionPlan
from spmopt.core.fusion.tileable_graph import TileableGraph
from spmopt.core.graph import Attribute, Graph
from spmopt.graph.build import GraphBuilder

CHANNELS = 2
KINDS = ("Conv", "depthwise", "MaxPool", "AveragePool", "Relu", "Add", "Concat", "scale", "norm")
LARGER = ("ConvTranspose", "Resize", "Pad")
"""What makes rows that the map before does not have."""
MOST_ROWS = 40


@st.composite
def feature_maps(
    draw: st.DrawFn,
    *,
    most: int = 6,
    height: int = 12,
    width: int = 3,
    kinds: tuple[str, ...] = (*KINDS, *LARGER),
) -> Graph:
    """Up to ``most`` operations on images of two channels."""
    b = GraphBuilder("maps")
    batch = draw(st.integers(1, 2))
    x = b.input("x", (batch, CHANNELS, draw(st.integers(2, height)), width))
    made = [x]
    for k, kind in enumerate(draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=most))):
        x = draw(st.sampled_from(made[-2:]))
        alike = [y for y in made if b.shape(y) == b.shape(x)]
        name = f"{kind}{k}"
        if kind in ("Conv", "depthwise", "MaxPool", "AveragePool"):
            y = _window(draw, b, x, kind, name)
        elif kind == "ConvTranspose":
            y = _transposed(draw, b, x, name)
        elif kind == "Resize":
            y = _resized(draw, b, x, name)
        elif kind == "Pad":
            pads = (0, 0, draw(st.integers(0, 3)), 0, 0, 0, draw(st.integers(0, 3)), 0)
            y = b.add("Pad", [x], name=name, pads=pads)
        elif kind == "Add":
            y = b.add("Add", [x, draw(st.sampled_from(alike))], name=name)
        elif kind == "Concat":
            joined = b.add("Concat", [x, draw(st.sampled_from(alike))], name=name, axis=1)
            w = b.weight(f"{name}.w", (CHANNELS, 2 * CHANNELS, 1, 1))
            y = b.add("Conv", [joined, w], name=f"{name}.conv")
        elif kind == "scale":
            mean = b.add("GlobalAveragePool", [x], name=f"{name}.mean")
            y = b.add("Mul", [x, mean], name=name)
        elif kind == "norm":
            extra = [b.weight(f"{name}.{t}", (CHANNELS,)) for t in ("s", "b", "m", "v")]
            y = b.add("BatchNormalization", [x, *extra], name=name)
        else:
            y = b.add(kind, [x], name=name)
        made.append(y)
    return b.finish([made[-1]])


def _window(draw: st.DrawFn, b: GraphBuilder, x: int, kind: str, name: str) -> int:
    """Add a window that slides over rows, and over columns by one."""
    kernel, strides = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    dilations = 1 if kind == "AveragePool" else draw(st.integers(1, 2))
    rows = b.shape(x)[2]
    before = draw(st.integers(0, kernel - 1))
    after = max(draw(st.integers(0, kernel - 1)), (kernel - 1) * dilations + 1 - rows - before)
    if after >= kernel:  # more padding than there are rows
        kernel, before, after = 1, 0, 0
    slides: dict[str, Attribute] = {"strides": (strides, 1), "pads": (before, 0, after, 0)}
    if kind != "AveragePool":
        slides["dilations"] = (dilations, 1)
    if kind.endswith("Pool"):
        return b.add(kind, [x], name=name, kernel_shape=(kernel, 1), **slides)
    group = CHANNELS if kind == "depthwise" else 1
    w = b.weight(f"{name}.w", (CHANNELS, CHANNELS // group, kernel, 1))
    return b.add("Conv", [x, w], name=name, group=group, **slides)


def _transposed(draw: st.DrawFn, b: GraphBuilder, x: int, name: str) -> int:
    """Add a window that writes over rows."""
    rows, kernel = b.shape(x)[2], draw(st.integers(1, 5))
    stride, dilation = (
        draw(st.integers(1, max(1, min(3, MOST_ROWS // rows)))),
        draw(st.integers(1, 2)),
    )
    most = min(kernel - 1, (stride * (rows - 1) + (kernel - 1) * dilation) // 2)
    pads = (draw(st.integers(0, most)), 0, draw(st.integers(0, most)), 0)
    more = draw(st.integers(0, max(stride, dilation) - 1))
    w = b.weight(f"{name}.w", (CHANNELS, CHANNELS, kernel, 1))
    return b.add(
        "ConvTranspose",
        [x, w, *([b.weight(f"{name}.b", (CHANNELS,))] if draw(st.booleans()) else [])],
        name=name,
        strides=(stride, 1),
        dilations=(dilation, 1),
        pads=pads,
        output_padding=(more, 0),
    )


def _resized(draw: st.DrawFn, b: GraphBuilder, x: int, name: str) -> int:
    """Add an image of other rows, of twice as many most often."""
    batch, channels, rows, width = b.shape(x)
    most = min(2 * rows + 3, MOST_ROWS)
    wanted = draw(st.just(2 * rows) | st.integers(1, most)) if rows < MOST_ROWS // 2 else rows // 2
    return b.add(
        "Resize",
        [x],
        name=name,
        shape=(batch, channels, wanted, width),
        mode=draw(st.sampled_from(("nearest", "linear"))),
        coordinate_transformation_mode=draw(
            st.sampled_from(
                ("asymmetric", "half_pixel", "pytorch_half_pixel", "align_corners", "unknown")
            )
        ),
        nearest_mode=draw(
            st.sampled_from(("floor", "ceil", "round_prefer_floor", "round_prefer_ceil"))
        ),
    )


@st.composite
def striped(
    draw: st.DrawFn,
    found: TileableGraph,
    *,
    stripes: tuple[int, ...] = (1, 2, 3, 4),
    micro_batches: tuple[int, ...] = (),
) -> FusionPlan:
    """A fusion plan of a tileable graph, with stripes where there can be.

    ``micro_batches``: one, and one image in each, by default.
    """
    fusion_plan, at, count = list[FusedGroup](), 0, len(found.operations)
    while at < count:
        every = (
            FusedGroup(begin=at, end=end, micro_batches=number, stripes=each)
            for end in range(at + 1, count + 1)
            for number in micro_batches or {1, found.batch}
            for each in (stripes if number == found.batch else (1,))
        )
        ways = [fused_group for fused_group in every if not found.obstacle(fused_group)]
        cut = [fused_group for fused_group in ways if fused_group.stripes > 1]
        fusion_plan.append(draw(st.sampled_from(cut or ways)))
        at = fusion_plan[-1].end
    return tuple(fusion_plan)
