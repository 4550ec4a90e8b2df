"""Networks, batch sizes and capacities of DeepNVM++, and how a study of them is put together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from spmopt.studies.memory.assumptions import Assumptions
from spmopt.studies.memory.rows import OPTIMAL, READINGS, Workload, measured
from spmopt.studies.rows import Rows, number
from spmopt.studies.study import Figures, Findings, Study
from spmopt.studies.words import percent

MB = 10**6
MIB = 2**20
NETWORKS = ("alexnet", "googlenet", "vgg16", "resnet18", "squeezenet")
STAGES = ((False, 4), (True, 64))
"""Whether it trains, and the batch size."""
CONDITIONS = (
    "AlexNet, GoogLeNet, VGG-16, ResNet-18 and SqueezeNet, inference with batch 4 and training "
    "with batch 64"
)
COUNTING = (
    "*One by one* counts as the paper does: accesses of a GPU's kernels to its L2 cache, here "
    "those of products in square blocks, one after another in whole cycles, the cache leaking "
    "meanwhile. *Equal time*: the accesses of a schedule, in its makespan, whatever the "
    "technology. *Banks*: as many accesses at a time as the cache has slices, so that latencies "
    "hold back engine and DMA channel, and every technology has a schedule of its own. Each with "
    "the schedule of a greedy policy, and with that of `page`, asked for within 1 % of the least "
    "energy (one by one: of the least traffic to the DRAM, all that a schedule changes there). "
    "Machine and technologies are those of the notes where others are assumed."
)
READINGS_SHOWN = (
    "one by one: accesses one after another, as the paper counts; equal time: in the schedule's "
    "time, whatever the technology;\nbanks: latencies hold back engine and DMA channel"
)
"""Readings, for a picture that is read without its page."""
OVER_ONE = "above 1 the MRAM takes less than SRAM, below 1 more"
UNDER_ONE = "below 1 the MRAM takes less than SRAM, above 1 more"
TIMES_LESS = (
    "*Times less*: SRAM's figure over the MRAM's; where the MRAM takes more, it is the MRAM's over "
    "SRAM's, and the cell says *times more*."
)
Draw = Callable[[Rows, Figures, Path], None]


def workloads(
    scratchpads: Mapping[int, Sequence[str]],
    *,
    networks: Sequence[str] = NETWORKS,
    stages: Sequence[tuple[bool, int]] = STAGES,
    readings: Sequence[str] = READINGS,
) -> tuple[Workload, ...]:
    """Networks and stages, each with ``scratchpads``: roles by capacity (bytes)."""
    return tuple(
        Workload(
            network=network,
            training=training,
            batch=batch,
            spm_bytes=size,
            roles=tuple(roles),
            readings=tuple(readings),
        )
        for network in networks
        for training, batch in stages
        for size, roles in scratchpads.items()
    )


def _nothing(assumed: Assumptions) -> Figures:
    del assumed
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A study but for its assumptions, on which ``figures`` depend; else as :class:`Study`."""

    name: str
    title: str
    about: str
    workloads: tuple[Workload, ...]
    find: Callable[[Rows, Figures], Findings]
    draw: Draw | None = None
    figures: Callable[[Assumptions], Figures] = _nothing

    def study(self, assumed: Assumptions) -> Study:
        """The study under assumptions, which can be changed."""

        def assume(settings: Mapping[str, str]) -> Study:
            return self.study(assumed.given(settings))

        return Study(
            name=self.name,
            title=self.title,
            about=self.about,
            measured=measured(self.workloads, assumed),
            find=self.find,
            figures=partial(self.figures, assumed),
            draw=self.draw,
            assume=assume,
        )


def remarks(rows: Rows) -> tuple[str, str]:
    """Notes on how far schedules are from their bounds, and on what was assumed."""
    policy = next(name for name in rows.texts("scheduler") if name != OPTIMAL)
    worst = [
        max(
            number(row, "value") / number(row, "bound") - 1
            for row in rows.where(scheduler=scheduler)
        )
        for scheduler in (OPTIMAL, policy)
    ]
    row = next(iter(rows))
    roles = [
        f"`{role}={rows.where(role=role).texts('technology')[0]}`" for role in rows.texts("role")
    ]
    return (
        f"Schedules of `{OPTIMAL}` are within {percent(worst[0])} of the certified bound on what "
        f"they minimise (energy, traffic), those of {policy} within {percent(worst[1])} (time).",
        f"Assumptions, each to be changed with `--assume NAME=VALUE`: {', '.join(roles)}, "
        f"`machine={row['machine']}`, `policy={policy}`, `tile={row['tile']}` (rows and columns of "
        f"a block of a product), `clock_hz={row['clock_hz']}`, `banks={row['banks']}`, "
        f"`dram_cycles={row['dram_cycles']}` (latency of the DRAM, one by one).",
    )
