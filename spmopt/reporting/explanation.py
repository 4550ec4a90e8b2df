"""Stalls of a schedule and shadow prices, as text, JSON and CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from fractions import Fraction

import numpy as np

from spmopt.analysis.explanation import Explanation, Transfer
from spmopt.analysis.floor import Floor
from spmopt.analysis.obstacles import Obstacle
from spmopt.analysis.shadow_prices import (
    ShadowPrices,
    SpaceDuals,
    bytes_held_by_banks,
    little_bandwidth,
)
from spmopt.analysis.stalls import Cause
from spmopt.core.machine import Machine
from spmopt.core.result import Result
from spmopt.metrics import in_unit
from spmopt.reporting.analysis import Columns, detail, detail_parts, records
from spmopt.reporting.fused_groups import fused_groups_parts, fused_groups_record
from spmopt.reporting.headings import account_heading, speak
from spmopt.reporting.quantities import capacity, share, shares_text, si, upward
from spmopt.reporting.results import Record, problem_record, result_record
from spmopt.reporting.tables import Grid, NamedValues, Part

KB, GB = 1000, 10**9
_ALONE = (
    "avoidable: each transfer by itself, with all others where they are; several may count on the "
    "same free space and time."
)
_STALLS = ("step", "operation", "stall", "transfer", "tensor", "size", "blocked by", "detail")
_BLOCKED = _STALLS.index("blocked by")
# A narrow terminal leaves these out, and folds those.
_FEWER = ("size", "operation", "transfer", "tensor")
_FOLDED = ("operation", "tensor", "detail")
_NEGLIGIBLE = 0.01  # of a step's stall: a line with less is left out of the summary
_NAMED = 3  # transfers of a step, holders of a full step and transfers of a busy one
_TIGHT = 0.01  # distance of a shadow price of the channel from 1 at which it counts as 1
_SMALL = 100  # an added amount is at most this fraction of the machine's
# Schedules may gain more than the bound falls by, as far as they are above it.
_LOWERS = "lowers the bound by at most"


def explanation_record(
    found: Explanation,
    duals: ShadowPrices | None,
    result: Result,
    steps: Sequence[int],
    per: str | None = None,
) -> Record:
    """Return the JSON of ``explain``: ``steps`` in detail, rows of ``per`` under its plural."""
    machine, stall = found.problem.machine, found.figures.stall_cycles
    causes = [cause for cause in Cause if cause is not Cause.NONE]
    record: Record = {
        "problem": problem_record(found.problem),
        "result": result_record(found.problem, result),
        "stall_cycles": int(stall.sum()),
        "stall_s": int(stall.sum()) / machine.clock_hz,
        "stalled_steps": int(np.count_nonzero(stall)),
        "stall_cycles_by_obstacle": _by_obstacle(found),
        "stall_cycles_by_cause": {cause.words: int(found.by_cause[cause]) for cause in causes},
        "stalls": [_stall_record(found, step) for step in steps],
        "shadow_prices": None if duals is None else duals_record(machine, duals),
    }
    if found.fused_groups:
        record["fused_groups"] = fused_groups_record(found.fused_groups)
    if per is not None:
        record[f"{per}s"] = records(detail(found.analysis, per))
    return record


def duals_record(machine: Machine, duals: ShadowPrices) -> Record:
    """Return slopes of the bound in units of the objective; of banks one each.

    ``spm_more_bytes``, ``dram_more_bytes_per_s``: how much more they are of; null: of any more.
    """
    banks = [{"per_spm_kb": float(bank.per_byte * KB)} for bank in duals.banks]
    return {
        "unit": duals.certificate.objective.value_unit,
        "bound": float(duals.bound),
        "per_spm_kb": float(duals.spm.per_byte * KB),
        "spm_more_bytes": None if duals.is_line else machine.page_bytes,
        "per_gb_per_s": float(duals.per_byte_per_s * GB),
        "dram_more_bytes_per_s": little_bandwidth(machine),
        "priced_steps": int(np.count_nonzero(duals.spm.significant)),
        **({"banks": banks} if duals.banks else {}),
    }


def transfer_columns(found: Explanation, steps: Sequence[int] | None = None) -> Columns:
    """Return columns of every transfer that a step waits for; ``steps``: of these only."""
    rows = [of for of in found.transfers() if steps is None or of.step in steps]
    columns: Columns = {"step": [], "operation": []}
    columns |= {name: [] for name in (*_TRANSFER, *_CYCLES, "full_step", "busy_step")}
    for of in rows:
        own = {"step": of.step, "operation": found.operation(of.step), **_transfer_record(of)}
        for name, values in columns.items():
            values.append(own[name])
    return columns


def explanation_parts(
    found: Explanation,
    duals: ShadowPrices | None,
    result: Result,
    steps: Sequence[int],
    *,
    in_full: bool,
    per: str | None = None,
) -> Iterator[Part]:
    """Yield the text of ``explain``: ``steps`` with all of their transfers if ``in_full``."""
    yield from account_heading(found.problem, result)
    yield NamedValues(rows=list(_summary(found)))
    yield from fused_groups_parts(found.fused_groups, found.problem.machine, result)
    if steps:
        yield ""
        # A summary says how much of the stall it leaves out.
        if not in_full:
            yield _largest(found, steps)
        rows = [row for step in steps for row in stall_rows(found, step, in_full)]
        left = [name for name in _STALLS if name not in ("stall", "size")]
        yield Grid(columns=_STALLS, rows=rows, left=left, words=_FOLDED, dispensable=_FEWER)
        if any(row[_BLOCKED] == Obstacle.AVOIDABLE.words for row in rows):
            yield _ALONE
    if per is not None:
        yield ""
        yield from detail_parts(found.analysis, per)
    yield ""
    yield from duals_parts(found.problem.machine, duals)


def _largest(found: Explanation, steps: Sequence[int]) -> str:
    stall = found.figures.stall_cycles
    shown = [tile for step in steps for tile in found.fusion(step)]
    part = share(int(stall[shown].sum()) / int(stall.sum()))
    tiles = "" if len(shown) == len(steps) else ", the longest of each operation's fusion tiles"
    of_all = f"{len(shown)} of {np.count_nonzero(stall)} steps"
    return f"Largest stalls: {of_all}, {part} of all stall{tiles}"


def duals_parts(machine: Machine, duals: ShadowPrices | None) -> Iterator[Part]:
    """Yield by how much a little more scratchpad and bandwidth lower the bound, and where."""
    if duals is None:
        yield "Shadow prices: none, the result has no certificate for its order."
        return
    # A result may have a higher bound, over all fusion plans.
    yield f"Shadow prices (bound by these dual values alone: {_show(machine, duals, duals.bound)}):"
    rows = [
        (f"bank {index}", _of_space(machine, duals, space, bank.spm_bytes))
        for index, (space, bank) in enumerate(zip(duals.banks, machine.banks, strict=True))
    ] or [("SPM", _of_space(machine, duals, duals.spm, machine.spm_bytes))]
    if duals.certificate.objective.cycle:
        rows.append(("DRAM", _of_dram(machine, duals)))
    yield NamedValues(rows=rows)
    page, where = capacity(machine.page_bytes), "a bank" if duals.banks else "SPM"
    value = speak(duals.certificate.objective)
    if duals.is_line:
        yield (
            f"With d extra bytes of {where} (whole pages of {page}): {value} >= bound - d x shadow "
            f"price. With d fewer: {value} >= bound + d x shadow price."
        )
    yield "All of it in this order, of operations with the mappings that they have now."
    if machine.memory is not None:
        yield "Speed, energy and leakage of the SPM stay as they are."
    elif any(bank.technology for bank in machine.banks):
        yield "Ports, energy and leakage of the banks stay as they are."


def stall_rows(found: Explanation, step: int, in_full: bool) -> Iterator[tuple[str, ...]]:
    """Yield a row of :data:`_STALLS` for each transfer and obstacle, the largest first.

    Unless ``in_full``, small ones are left out.
    """
    clock, figures, transfers = found.problem.machine.clock_hz, found.figures, found.transfers(step)
    shown = transfers if in_full else transfers[:_NAMED]
    # A hundredth of the step's own stall, not of all: steps differ by orders of magnitude.
    least = 0 if in_full else _NEGLIGIBLE * figures.stall_cycles[step]
    more = len(found.fusion(step)) - 1
    alike = f" and {more} more fusion tile{'s' * (more > 1)}" if more > 0 and not in_full else ""
    where = (str(step), f"{found.operation(step)}{alike}")

    def time(cycles: int) -> str:
        return si(cycles / clock, "s", fill=True)

    for of in shown:
        size = si(of.size_bytes, "B") + (f" x {of.fetches}" if of.fetches > 1 else "")
        for kind in sorted(Obstacle, key=lambda kind: -of.by_obstacle[kind]):
            if of.by_obstacle[kind] > least:
                cells = (time(of.by_obstacle[kind]), of.cause.words, of.name, size, kind.words)
                yield *where, *cells, _detail(found, of, kind)
    port = int(figures.stalls.by_cause[Cause.PORT, step])
    if port > least:
        name, cycles = Cause.PORT.words, figures.port_cycles[step]
        busy = f"port of bank {cycles.argmax()} busy for {si(int(cycles.max()) / clock, 's')}"
        yield *where, time(port), name, "", "", name, busy
    others = transfers[len(shown) :]
    rest = sum(of.stall_cycles for of in others)
    if rest > _NEGLIGIBLE * figures.stall_cycles[step]:
        yield *where, time(rest), f"{len(others)} more", "", "", "", ""


def _stall_record(found: Explanation, step: int) -> Record:
    figures, clock = found.figures, found.problem.machine.clock_hz
    stall, port = int(figures.stall_cycles[step]), int(figures.stalls.by_cause[Cause.PORT, step])
    return {
        "step": step,
        "operation": found.operation(step),
        "cycles": int(figures.cycles[step]),
        "stall_cycles": stall,
        "stall_s": stall / clock,
        **({"port_stall_cycles": port} if found.problem.machine.banks else {}),
        "transfers": [
            {
                **_transfer_record(of),
                "held_by": [asdict(holder) for holder in found.holders(of.full_step)],
                "busy_with": [asdict(moved) for moved in found.transfers_in(of.busy_step)],
            }
            for of in found.transfers(step)
        ],
    }


_TRANSFER = ("transfer", "tensor", "size_bytes", "fetches", "cycles", "stall_cycles")
_CYCLES = tuple(f"{kind.words}_cycles" for kind in Obstacle)


def _transfer_record(of: Transfer) -> Record:
    values = (of.cause.words, of.name, of.size_bytes, of.fetches, of.cycles, of.stall_cycles)
    return {
        **dict(zip(_TRANSFER, values, strict=True)),
        "could_be": "later" if of.later else "earlier",
        "obstacle": of.obstacle.words,
        **dict(zip(_CYCLES, of.by_obstacle, strict=True)),
        "anyway_step": of.anyway_step,
        "full_step": of.full_step,
        "busy_step": of.busy_step,
    }


def _by_obstacle(found: Explanation) -> dict[str, int]:
    """Return cycles of all stall, by obstacle; ports only where the machine has banks."""
    cycles = {kind.words: int(found.by_obstacle[kind]) for kind in Obstacle}
    if found.problem.machine.banks:
        cycles[Cause.PORT.words] = int(found.by_cause[Cause.PORT])
    return cycles


def _summary(found: Explanation) -> Iterator[tuple[str, str]]:
    figures, clock = found.figures, found.problem.machine.clock_hz
    stall, time = int(figures.stall_cycles.sum()), int(figures.cycles.sum())
    stalled, steps = np.count_nonzero(figures.stall_cycles), figures.cycles.size
    yield "time", si(time / clock, "s")
    part = share(stall / max(1, time))
    yield "stall", f"{si(stall / clock, 's')} ({part}) in {stalled} of {steps} steps"
    if stall:
        causes = {cause.words: int(found.by_cause[cause]) for cause in Cause}
        yield "waits for", shares_text(causes, stall)
        yield "blocked by", shares_text(_by_obstacle(found), stall)
    yield "beyond floor", _beyond_floor(found)
    layers = found.analysis.by_layer()
    memory = layers.roofline == "memory"
    part = share(int(layers.cycles[memory].sum()) / max(1, time))
    yield "roofline", f"memory-bound: {memory.sum()} of {memory.size} layer passes ({part} of time)"


def _beyond_floor(found: Explanation) -> str:
    """Split the cost beyond the floor by the decisions that could save it."""
    least, clock = Floor.of(found.problem), found.problem.machine.clock_hz
    line = found.figures
    again = int((line.dram_in_bytes + line.dram_out_bytes).sum()) - least.traffic_bytes
    more = int(line.compute_cycles.sum()) - least.compute_cycles
    said = []
    if again > 0:
        said += [
            f"{si(again, 'B')} move again (to save: fusion, larger tiles, a larger scratchpad)"
        ]
    if more > 0:
        spent = si(more / clock, "s")
        said += [f"{spent} of computing (to save: tiles that fill the engine, units that overlap)"]
    return "; ".join(said) or "nothing"


def _detail(found: Explanation, of: Transfer, kind: Obstacle) -> str:
    """Say in short why the transfer is not at another time."""
    match kind:
        case Obstacle.CAPACITY:
            return _full(found, of)
        case Obstacle.CHANNEL:
            return _busy(found, of.busy_step)
        case Obstacle.DEPENDENCY if of.cause is Cause.PREFETCH and not of.later:
            return "needed by the next step, and there is no step before"
        case Obstacle.DEPENDENCY:
            return "produced by the last step" if of.later else "needed by the first step"
    if of.needed_step is not None:
        return f"fits into any step up to {of.needed_step}"
    kept = f", or keep it {'until' if of.later else 'since'} step {of.anyway_step}"
    when = "fits later" if of.later else "fits earlier"
    return when + ("" if of.anyway_step is None else kept)


def _full(found: Explanation, of: Transfer) -> str:
    step, machine = of.full_step, found.problem.machine
    if step is None:
        return ""
    holders = found.holders(step)
    usable = machine.spm_pages * machine.page_bytes
    large = f"larger than the SPM of {capacity(usable)}"
    if of.size_bytes > usable and not holders:
        return large
    names = [f"{h.name} ({si(h.size_bytes, 'B')} until step {h.until_step})" for h in holders]
    rest = si(sum(holder.size_bytes for holder in holders[_NAMED:]), "B")
    free = si(usable - int(found.figures.occupied_bytes[step]), "B")
    text = f"{free} free in step {step}, held by {_list(names, rest)}"
    return f"{large}; {text}" if of.size_bytes > usable else text


def _busy(found: Explanation, step: int | None) -> str:
    if step is None:
        return ""
    clock, moves = found.problem.machine.clock_hz, found.transfers_in(step)
    if not moves:
        lasts = si(int(found.figures.cycles[step]) / clock, "s")
        return f"step {step} moves nothing, but is too short ({lasts})"
    names = [f"{m.transfer} {m.tensor} ({si(m.cycles / clock, 's')})" for m in moves]
    rest = si(sum(moved.cycles for moved in moves[_NAMED:]) / clock, "s")
    return f"channel busy in step {step}: {_list(names, rest)}"


def _list(names: Sequence[str], rest: str) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more ({rest})" if more > 0 else "")


def _of_space(machine: Machine, duals: ShadowPrices, space: SpaceDuals, size_bytes: int) -> str:
    """Say by how much more of a memory of ``size_bytes`` lowers the bound."""
    page, amount, label = machine.page_bytes, KB, "kB"
    # The bound is linear near this capacity only: 1 kB would be too much of a small memory.
    if size_bytes < _SMALL * KB:
        amount = -(-size_bytes // (_SMALL * page)) * page
        label = si(amount, "B")
    priced, steps = int(np.count_nonzero(space.significant)), space.dual.size
    if not duals.is_line:  # evaluated at one page more
        amount, label = page, capacity(page)
        if not space.per_byte:
            return f"an extra {label} does not lower the bound; of more nothing is known"
    elif not priced:
        return "more does not lower the bound: no step has a shadow price"
    saved = _at_most(machine, duals, space.per_byte * amount)
    if page > amount:
        one = _at_most(machine, duals, space.per_byte * page)
        saved += f" (a page of {si(page, 'B')}: {one})"
    where = f"the shadow price is above zero in {priced} of {steps} steps"
    if not priced:
        where = "a mapping fits that does not fit now"
    return f"{'each' if duals.is_line else 'an'} extra {label} {_LOWERS} {saved}; {where}"


def _of_dram(machine: Machine, duals: ShadowPrices) -> str:
    if bytes_held_by_banks(machine):
        return "more saves nothing: the SPM banks limit the channel"
    amount = little_bandwidth(machine)
    label = si(amount, "B/s")
    saved = _at_most(machine, duals, duals.per_byte_per_s * amount)
    channel = np.count_nonzero(duals.channel_dual >= 1 - _TIGHT)
    steps = f"{channel} of {duals.channel_dual.size} steps bound by the channel"
    return f"{label} more {_LOWERS} {saved}; {steps}"


def _at_most(machine: Machine, duals: ShadowPrices, value: Fraction) -> str:
    """Show by how much the bound falls: by no more than all of it."""
    # Far extrapolation could promise more than the whole bound.
    if 0 < duals.bound <= value:
        return f"{_show(machine, duals, duals.bound)}, all of it: nothing is known of so much more"
    if 0 < value < duals.certificate.objective.cycle / 2:
        return "less than a cycle"
    most, unit = in_unit(duals.certificate.objective, machine, max(Fraction(0), value))
    return si(upward(most), unit)


def _show(machine: Machine, duals: ShadowPrices, value: Fraction) -> str:
    return si(*in_unit(duals.certificate.objective, machine, value))
