"""Table II of DeepNVM++ at other capacities: what it says, and what the paper prints beside it.

STT-MRAM and SOT-MRAM have two capacities in table II (3 and 7 MB, 3 and 10 MB): every figure of
theirs is the power law through its two points. SRAM has 3 MB alone, and so one more figure each:

* area: the saving that section V prints, mean of 1 to 32 MB;
* read latency, leakage: the most that latency and energy fall by (section IV-C, figure 10), counted
  as the paper counts, by the accesses of its networks;
* write latency: that of STT-MRAM at 32 MB, which it "almost matches" (figure 9b);
* read energy: that of SOT-MRAM at 7 MB, the "break even point" (figure 9c);
* write energy: in proportion to read energy. This is assumed, the paper prints nothing.

Savings are printed of both MRAMs. One, the *anchor*, makes SRAM's curves; the other's are what the
curves predict. The anchor of the technologies of spmopt (``scaled-*``) is SOT-MRAM, which is
known at 10 MB and so has the shorter way to 32 MB.

    python -m results.memory_scaling_16nm.curves      # prints SRAM's points, by anchor
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from math import ceil, floor, log, log10
from typing import Any

import pandas as pd

from results.memory_scaling.run import at_best, means
from results.shared import memory
from results.shared.common import MB, Row
from spmopt.frontends.networks import load_network
from spmopt.hardware.technologies import load_technology
from spmopt.hardware.technology import Interpolation, Point, Technology

SIZES = tuple(2**power * MB for power in range(6))
LAST = SIZES[-1]
ANCHOR = "sot"
AREA_SAVED = {"stt": 0.58, "sot": 0.65}
LATENCY_LESS = {"stt": 2.1, "sot": 2.6}
ENERGY_LESS = {"stt": 31.2, "sot": 36.4}
_CLOSE = 1e-7
Found = Callable[[Any], float]
EVEN_BYTES = 7 * MB  # where a read of SRAM takes the energy of one of SOT-MRAM


@dataclass(frozen=True)
class Workload:
    """Bytes that a network reads and writes, in one stage."""

    network: str
    training: bool
    batch: int
    accessed: tuple[int, int]


@cache
def workloads() -> tuple[Workload, ...]:
    """Count accesses of the paper's networks, in inference and in training."""
    return tuple(
        Workload(
            name,
            training,
            batch,
            memory.accesses(load_network(name, batch=batch, training=training), memory.PAPER.tile),
        )
        for name in memory.NETWORKS
        for training, batch in memory.STAGES
    )


def counted(technologies: Mapping[str, Technology]) -> pd.DataFrame:
    """Return rows of all workloads and capacities one by one, without DRAM: by no schedule."""
    rows: list[Row] = [
        {
            **{name: getattr(work, name) for name in memory.WORKLOAD},
            "spm_bytes": size,
            "role": role,
            "area_mm2": pad.point.area_mm2,
            **memory.one_by_one(pad, work.accessed, 0, memory.PAPER),
        }
        for role, technology in technologies.items()
        for size in SIZES
        for pad in [technology.at(size)]
        for work in workloads()
    ]
    return memory.measures(pd.DataFrame(rows))


def scaled(role: str, points: Sequence[Point]) -> Technology:
    """Return the power law through two points."""
    plain = load_technology(getattr(memory.PAPER, role))
    return replace(plain, name=f"scaled-{role}", between=Interpolation.POWER, points=tuple(points))


def derived(anchor: str) -> dict[str, Technology]:
    """Return the three technologies; ``anchor`` is the MRAM whose printed figures SRAM has."""
    found = {
        role: scaled(role, load_technology(getattr(memory.PAPER, role)).points)
        for role in memory.RIVALS
    }
    (base,) = load_technology(memory.PAPER.sram).points
    even = found["sot"].at(EVEN_BYTES).point.read_energy_pj / base.read_energy_pj
    grown = even ** (log(LAST / base.capacity_bytes) / log(EVEN_BYTES / base.capacity_bytes))
    last = replace(
        base,
        capacity_bytes=LAST,
        write_latency_ns=digits(found["stt"].at(LAST).point.write_latency_ns),
        read_energy_pj=digits(base.read_energy_pj * grown),
        write_energy_pj=digits(base.write_energy_pj * grown),
    )
    wanted: dict[str, tuple[float, Found]] = {
        "area_mm2": (1 / (1 - AREA_SAVED[anchor]), lambda rows: 1 / area(anchor, rows)),
        "read_latency_ns": (LATENCY_LESS[anchor], partial(at_best("time_s"), anchor)),
        "leakage_mw": (ENERGY_LESS[anchor], partial(at_best("energy"), anchor)),
    }
    for name, (paper, get) in wanted.items():
        of = partial(_with_sram, found, (base, last), name, get)
        last = _changed(last, name, solved(of, paper, getattr(base, name)))
    return {"sram": scaled("sram", (base, last)), **found}


def _with_sram(
    found: Mapping[str, Technology],
    points: tuple[Point, Point],
    name: str,
    get: Found,
    value: float,
) -> float:
    """Return what ``get`` finds where SRAM's last point has a value for one figure."""
    base, last = points
    sram = scaled("sram", (base, _changed(last, name, value)))
    return get(counted({"sram": sram, **found}))


def _changed(point: Point, name: str, value: float) -> Point:
    """Return a point with another value of one figure."""
    figures: dict[str, Any] = {name: value}
    return replace(point, **figures)


def area(role: str, rows: pd.DataFrame) -> float:
    """Return the part of SRAM's area that is left, mean of capacities."""
    return float(means(rows, role, "area_mm2").mean())


def solved(of: Found, wanted: float, least: float) -> float:
    """Return where a rising function reaches a value, from ``least`` to 1000 times that.

    Rounded up: latencies count in whole cycles, so that the function has steps.
    """
    low, high = least, 1000 * least
    while high / low > 1 + _CLOSE:
        middle = (low * high) ** 0.5
        low, high = (middle, high) if of(middle) < wanted else (low, middle)
    return digits(high, ceil)


def digits(value: float, rounded: Callable[[float], float] = round) -> float:
    """Return a figure with four digits, one more than table II."""
    unit = 10.0 ** (floor(log10(value)) - 3)
    return float(f"{rounded(value / unit) * unit:.4g}")


def main() -> None:
    """Print SRAM's points."""
    for anchor in memory.RIVALS:
        print(f"anchor {anchor}: {derived(anchor)['sram'].points}")


if __name__ == "__main__":
    main()
