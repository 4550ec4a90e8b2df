"""The suite that asks what each simplification costs, where the best in all is known or bounded."""

from __future__ import annotations

from spmopt.bench.small import TINY
from spmopt.bench.suite import Case, Column, Part, Row, Suite, Target

LIMIT_S = 30.0
_PROVED_UP_TO = 12  # operations
_INSTANCES = (
    ("residual", 6, "2048", 0),
    ("depthwise", 6, "4096", 0),
    ("attention", 9, "2048", 0),
    ("lenet", 9, "6144", 0),
    ("lstm-1", 9, "1024", 0),
    ("mlp", 9, "3072", 1),
    ("depthwise", 14, "6144", 1),
    ("residual", 15, "3072", 1),
    ("lstm-2", 18, "1024", 0),
    ("lstm-1", 19, "1024", 1),
    ("attention", 21, "3072", 1),
    ("lenet", 22, "12288", 1),
    ("bvlc_alexnet.onnx", 21, "4MB", 0),
    ("zfnet512.onnx", 21, "8MB", 0),
    ("lstm-3", 27, "1024", 0),
)
"""Network, operations, SPM, whether it is a training step; models of the onnx package as such."""
_ABOUT = (
    "The first columns are of the scheduler `joint`: the least cycles of the replay that it "
    "finds for whole tensors in ranges of addresses, in any order of operations, and its bound "
    "on them. Each column after them is the part by which one figure is above another:\n\n"
    "* policy: the replay of the best policy above that of `joint`; less than nothing where the "
    "policy moves tensors in parts, which `joint` does not.\n"
    "* listed order: the least replay in the listed order above that of `joint`.\n"
    "* one command: the least replay in the listed order above that of the schedule of `whole`, "
    "which may let a tensor come and go in parts between its uses; 0 where it is not above.\n"
    "* barriers: the least time of steps of `whole` above the lesser of these two replays.\n"
    "* whole tensors: that time above that of `page`; 0 where `page` is no better.\n"
    "* ranges, at most: the replay of `joint` above a bound for pages in any place.\n\n"
    "For example lenet, forward: `joint` takes 27,464 cycles, in any order and in the listed "
    "one; the schedule of `whole` takes 26,016 in the replay, and 27,464 is 5.57 % more (one "
    "command); in steps it takes 26,072, which is 0.215 % more than 26,016 (barriers); and "
    "`page` takes 23,712 in steps, and 26,072 is 9.95 % more (whole tensors).\n\n"
    f"Exact where the gap is 0, else of the best found; {LIMIT_S:g} s for each search. Lines of "
    f"up to {_PROVED_UP_TO} operations must be proved optimal in 60 s. The networks are built in "
    f"`spmopt/bench/small.py`, for a machine of their size called {TINY}, so that `spmopt solve` "
    "does not know them; the attention there is another network than that of "
    "`instances/attention.json`. Names with `.onnx` are models of the onnx package, on "
    "rtx2080ti: `spmopt solve` takes these, from the folder `onnx/backend/test/data/light` of "
    "that package, where their names begin with `light_`."
)


def joint() -> Suite:
    """Cycles of the replay in classes that are narrower and wider."""
    proved = (Target(figure="joint_gap", value=0.0), Target(figure="joint_s", value=60.0))
    rows = tuple(
        Row(
            case=Case(
                network=network,
                spm=spm,
                machine="rtx2080ti" if network.endswith(".onnx") else TINY,
                parameters={"training": training},
            ),
            cells=(network, "training" if training else "forward", spm),
            parts={"": Part(measure="simplifications", options={"limit_s": LIMIT_S})},
            targets=proved if operations <= _PROVED_UP_TO else (),
        )
        for network, operations, spm, training in _INSTANCES
    )
    return Suite(
        name="joint",
        title="what each simplification costs on small networks",
        about=_ABOUT,
        heads=("network", "step", "SPM"),
        rows=rows,
        columns=(
            Column(figure="operations", heading="operations", form="n"),
            Column(figure="joint", heading="joint, cycles", form="n"),
            Column(figure="joint_bound", heading="bound", form="n"),
            Column(figure="joint_gap", heading="gap %", form="%"),
            Column(figure="joint_s", heading="s"),
            Column(figure="heuristic_cost", heading="policy %", form="%"),
            Column(figure="order_cost", heading="listed order %", form="%"),
            Column(figure="command_cost", heading="one command %", form="%"),
            Column(figure="barrier_cost", heading="barriers %", form="%"),
            Column(figure="whole_cost", heading="whole tensors %", form="%"),
            Column(figure="range_cost", heading="ranges, at most %", form="%"),
        ),
    )
