"""The figures of Tsai's thesis, chapter 5, beside the same policy here and beside the optimum."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace

import pandas as pd

from results.shared.common import MB, Study, Tables, sweeps, tabulated
from results.shared.thesis import (
    BRIEF,
    CLAIMS,
    FEW,
    LIMIT,
    LISTED,
    MANY,
    PLAIN,
    QUICK,
    READINGS,
    SLOW,
    TITLES,
    ThesisClaim,
    applies,
    case,
    share_of,
    shares,
)
from spmopt.core.problem import Problem
from spmopt.sweeps.cases import SweepCase, sections
from spmopt.sweeps.run import Sweep
from spmopt.sweeps.work import SolveOptions

TEXT, FITTED, BEST = "text", "fitted", "optimum"
SENTENCES = {"sizes": "S", "binary": "M", "weights": "W"}
COLUMNS = {
    **{name: (name, "tsai") for name in READINGS},
    "text, listed": (TEXT, LISTED),
    "fitted, listed": (FITTED, LISTED),
}
"""Reading and scheduler of each column."""
NO = "not explained"
ELSEWHERE = {
    "speedup": "616 to 1555 GB/s: lines converge with capacity, except MobileNetV2",
    "batch": "batch: ResNet-50, Transformer flat; MobileNetV2 prefers small; GNMT, see there",
}
Part = tuple[str, SweepCase, tuple[str, ...], SolveOptions]


def cases() -> dict[str, Sweep]:
    """Declare the policy under every reading, in both orders, and bounds under the text's."""
    return sweeps([*policies(), *bounds()])


def policies() -> Iterable[Part]:
    """Declare the policy, with the throughput of the thesis and with more."""
    for name, reading in READINGS.items():
        for network in TITLES:
            if applies(name, network):
                sizes = [size * reading.megabyte for size in capacities(network)]
                yield name, case(network, sizes, name), ("tsai", LISTED), BRIEF
                faster = case(network, sizes[:1], name, throughput=MANY)
                yield f"{name}-faster", faster, ("tsai", LISTED), BRIEF


def bounds() -> Iterable[Part]:
    """Declare bounds of time and traffic; those of GNMT take minutes."""
    for network in TITLES:
        slow = network == "gnmt"
        sizes = [size * READINGS[TEXT].megabyte for size in capacities(network)]
        for part, objective, rate in (
            ("best-time", "time", FEW),
            ("best-time-faster", "time", MANY),
            ("best-traffic", "traffic", FEW),
        ):
            at = sizes[:1] if rate == MANY else sizes
            search = SolveOptions(
                objective=objective,
                tolerance=5e-3 if slow else 1e-3,
                time_limit_s=240.0 if slow else 60.0,
            )
            yield part, case(network, at, TEXT, throughput=rate), ("fluid",), search


def capacities(network: str) -> list[int]:
    """Return the capacities of a network's figures, in megabytes, 24 first."""
    own = {c.at_mb for c in CLAIMS if c.network == network and not c.is_share}
    return sorted({24, *own})


def value(claim: ThesisClaim, column: str, rows: pd.DataFrame) -> float | None:
    """Return what was found, in percent; None where the reading changes nothing of the network."""
    if claim.is_share:
        return share_of(rows, claim, column)
    reading, scheduler = COLUMNS[column]
    if not applies(reading, claim.network):
        return None
    what = "traffic_bytes" if claim.kind == "traffic" else "time_s"
    return claim.found(rows, what, reading, scheduler, READINGS[reading].megabyte)


def at_optimum(claim: ThesisClaim, rows: pd.DataFrame) -> str:
    """Write the change of the relaxation's optimum; both ends of it, where they differ much."""
    if claim.is_share:
        return claim.cell(share_of(rows, claim, BEST))
    part = "best-traffic" if claim.kind == "traffic" else "best-time"
    rows = rows[rows.part.str.startswith(part) & (rows.network == claim.network)]
    smallest = rows.spm_bytes == rows.spm_bytes.min()
    slow = smallest & (rows.part == part)  # the divisor of a change, the dividend of a speed
    ends = []
    for first, second in (("bound", "value"), ("value", "bound")):
        between = rows.assign(mixed=rows[first].where(slow, rows[second]))
        ends.append(claim.found(between, "mixed", part, "fluid", READINGS[TEXT].megabyte))
    low, high = sorted(ends)
    return claim.cell(low) if high - low < 1 else f"{claim.cell(high)} to {claim.cell(low)}"


def is_met(claim: ThesisClaim, column: str, rows: pd.DataFrame) -> bool:
    """Return whether a figure is within the limit."""
    found = value(claim, column, rows)
    return found is not None and abs(claim.off(found)) <= LIMIT


def explanation(claim: ThesisClaim, rows: pd.DataFrame) -> str:
    """Name the sentences without which a figure that the text's readings meet is missed."""
    if not is_met(claim, TEXT, rows):
        return NO
    if is_met(claim, PLAIN, rows):
        return "P"
    enough = [mark for name, mark in SENTENCES.items() if is_met(claim, name, rows)]
    return " or ".join(f"P, {mark}" for mark in enough) or f"P, {', '.join(SENTENCES.values())}"


def tables(rows: pd.DataFrame) -> Tables:
    """Tabulate one line for each figure: beside the thesis, then by reading."""
    lines, others = [], []
    for claim in CLAIMS:
        lines.append([claim.text, claim.quoted])
        for column in (TEXT, FITTED):
            found = value(claim, column, rows)
            off = 0.0 if found is None else claim.off(found)
            bold = "**" if abs(off) > LIMIT else ""
            lines[-1] += [claim.cell(found), f"{bold}{off:+.1f}{bold}"]
        lines[-1] += [at_optimum(claim, rows), explanation(claim, rows)]
        cells = [claim.cell(value(claim, column, rows), bold=True) for column in COLUMNS]
        others.append([claim.text, claim.quoted, *cells])
    lines += [
        [text, *[""] * 6, f"[{name}](../{name}/README.md)"] for name, text in ELSEWHERE.items()
    ]
    heads = ["figure", "paper, %", "text, %", "deviation", "fitted, %", "its deviation"]
    return {
        "": tabulated([*heads, "optimum, text", "explained by"], lines),
        "By reading, %": tabulated(["figure", "paper", *COLUMNS], others),
    }


def lowered(network: str, reading: str) -> Problem:
    """Return a training step with 24 MB."""
    size = 24 * READINGS[reading].megabyte
    return sections(case(network, (size,), reading), lambda _: None)[0].problem(size)


def operand_bytes(problem: Problem) -> list[int]:
    """Return the bytes of what each operation reads and writes."""
    sizes = [tensor.size_bytes for tensor in problem.tensors]
    return [
        sum(sizes[t] for t in (*operation.reads, *operation.writes))
        for operation in problem.operations
    ]


def most_saved(network: str, reading: str) -> float:
    """Return percents between keeping and overlapping nothing, and computing alone."""
    problem = lowered(network, reading)
    computed = sum(operation.mappings[0].compute_cycles for operation in problem.operations)
    moved = sum(operand_bytes(problem)) / SLOW * problem.machine.clock_hz
    return 100 * moved / (moved + computed)


def own_share(network: str, reading: str) -> float:
    """Return percents that moving point-wise layers' operands takes, beside computing products."""
    problem = lowered(network, reading)
    pairs = [*zip(problem.operations, operand_bytes(problem), strict=True)]
    moved = sum(size for operation, size in pairs if not operation.mappings[0].macs) / SLOW
    products = (each.mappings[0] for each, _ in pairs if each.mappings[0].macs)
    computed = sum(mapping.compute_cycles for mapping in products) / problem.machine.clock_hz
    return 100 * moved / (moved + computed)


def above_ridge(operations: int) -> tuple[int, int]:
    """Count products of MobileNetV2 above the ridge point, and all, forward."""
    given = case("mobilenetv2", (24 * MB,))
    given = replace(given, network=replace(given.network, training=False))
    problem = sections(given, lambda _: None)[0].problem(24 * MB)
    found = [
        operations * operation.mappings[0].macs / size > FEW / SLOW
        for operation, size in zip(problem.operations, operand_bytes(problem), strict=True)
        if operation.mappings[0].macs
    ]
    return sum(found), len(found)


def figures() -> dict[str, float]:
    """Measure shares of single schedules, and what the prose says of layers."""
    found = shares({**COLUMNS, BEST: (TEXT, "residency")})
    found["largest resnet50"] = max(t.size_bytes for t in lowered("resnet50", PLAIN).tensors)
    for name in (TEXT, FITTED):
        found[f"most saved gnmt {name}"] = most_saved("gnmt", name)
        found[f"own share transformer {name}"] = own_share("transformer", name)
    for operations in (1, 2):
        above, found["products mobilenetv2"] = above_ridge(operations)
        found[f"above ridge mobilenetv2 {operations}"] = above
    return found


STUDY = Study(file=__file__, cases=cases, quick=QUICK, tables=tables, figures=figures)

if __name__ == "__main__":
    sys.exit(STUDY.main())
