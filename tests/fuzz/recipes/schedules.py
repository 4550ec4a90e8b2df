"""Valid inputs that are extreme, and schedules that are changed: what is said to be right must be.

Schedules that a command writes or verifies are judged by a checker that shares nothing with it.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from spmopt.core.errors import InputError
from spmopt.core.machine import Bank, Machine
from spmopt.core.problem import Problem, TensorKind
from spmopt.io.files import encode_problem
from spmopt.testing.instances import random_problem
from tests.fuzz import bases
from tests.fuzz.case import Case, Random, case
from tests.fuzz.odd import json_text
from tests.fuzz.schedule_checker import why_wrong

MOST_BYTES = 2**47
POOL = 30
"""Results that are changed."""
QUICK = (
    *("stream", "lru", "belady", "belady-size", "belady-size:granularity=page", "frequency"),
    *("static", "msa", "tsai", "next-layer", "autotm", "double-buffer"),
)
SEARCHING = ("whole", "residency", "contiguous", "banks", "joint", "fusion")
_PAGES = (1, 4, 64, 4096, 2**20, 2**30, 2**40)


def drawn_problem(rng: Random, most_bytes: int = MOST_BYTES) -> Problem:
    """Draw a problem with any features: banks, retention, mappings, passes, duplex, bypass."""
    page = rng.choice([page for page in _PAGES if page <= most_bytes])
    found = random_problem(
        rng.randrange(2**32),
        page_bytes=page,
        max_tensor_pages=rng.choice((1, 3, 100, most_bytes // page)),
        max_operations=rng.choice((2, 5, 9)),
        max_tensors=rng.choice((2, 4, 7)),
        max_operands=rng.choice((2, 4)),
        max_mappings=rng.choice((1, 1, 3)),
        max_compute_cycles=rng.choice((0, 12, 2**40)),
        max_fetches=rng.choice((1, 3)),
        duplex=rng.random() < 0.3,
        setup=rng.random() < 0.3,
        energy=rng.random() < 0.7,
    )
    machine = found.machine
    what = rng.random()
    if what < 0.35:
        machine = _banked(machine, rng)
    elif what < 0.45 and not machine.duplex:
        bypass = (rng.choice((TensorKind.WEIGHT, TensorKind.ACTIVATION)),)
        with suppress(InputError):  # it may be required-resident
            return replace(found, machine=replace(machine, bypass=bypass))
    return replace(found, machine=machine)


def _banked(machine: Machine, rng: Random) -> Machine:
    page, pages = machine.page_bytes, machine.spm_pages
    cuts = sorted({rng.randrange(1, pages) for _ in range(rng.choice((1, 1, 2, 7)) * (pages > 1))})
    ends = zip([0, *cuts], [*cuts, pages], strict=True)
    banks = tuple(_bank((end - begin) * page, rng) for begin, end in ends)
    energy = replace(machine.energy, spm_read_pj_per_byte=0.0, spm_write_pj_per_byte=0.0)
    return replace(machine, banks=banks, spm_bytes=pages * page, energy=energy)


def _bank(size: int, rng: Random) -> Bank:
    rates = [rng.choice((None, None, 1, 5, 2**50)) for _ in range(2)]
    return Bank(
        spm_bytes=size,
        read_pj_per_byte=rng.choice((0.0, 0.25, 1e6)),
        write_pj_per_byte=rng.choice((0.0, 0.25, 1e6)),
        leakage_w=rng.choice((0.0, 1e-12, 1.0)),
        read_bytes_per_s=rates[0],
        write_bytes_per_s=rates[1],
        retention_ns=rng.choice((None, None, None, 1e9, 1e10, 1e24)),
    )


def _schedulers(rng: Random, searching: float) -> str:
    return rng.choice(SEARCHING if rng.random() < searching else QUICK)


def extreme(folder: Path, rng: Random) -> Case:
    """Problems with sizes up to 2**47 and all features: schedules must be legal."""
    (folder / "i.json").write_bytes(json_text(encode_problem(drawn_problem(rng))))
    words = ("solve", "i.json", "-s", _schedulers(rng, 0.1), "-o", "r.json")
    more = rng.choice(((), (), ("--objective", "traffic"), ("--objective", "energy")))
    return case(*words, *more, "--time-limit", "0.05", judge=_judged)


def fused(folder: Path, rng: Random) -> Case:
    """Fusion plans of a network: the schedule of its fusion tiles must be legal."""
    end, micro_batches = rng.randrange(1, 32), rng.choice((1, 2, 4, 4))
    fusion_plan = {
        "fused_groups": [
            {"begin": 0, "end": end, "fusion": micro_batches},
            {"begin": end, "fusion": 2},
        ]
    }
    (folder / "c.json").write_bytes(json_text(fusion_plan))
    words = ("solve", "bert-tiny", "--batch", "4", "--fusion-plan", "c.json", "-o", "r.json")
    spm = ("--spm", rng.choice(("20KB", "200KB", "5MB", "1GB")))
    return case(*words, "-s", rng.choice(QUICK), *spm, judge=_judged)


def changed_schedule(folder: Path, rng: Random) -> Case:
    """A legal schedule with one thing changed: what is verified all the same must be legal."""
    found = copy.deepcopy(rng.choice(_pool()))
    schedule = found["schedule"]
    for _ in range(rng.choice((1, 1, 1, 2))):
        change(schedule, rng)
    (folder / "r.json").write_bytes(json_text(found))
    return case("verify", "r.json", judge=_judged)


def change(schedule: Mapping[str, Any], rng: Random) -> None:
    """Change one thing in the tables of a schedule."""
    tables = [
        *(schedule.get(name) or {} for name in ("steps", "residency", "commands")),
        *(schedule.get(name) or {} for name in ("placements", "placements", "moves")),
    ]
    filled = [each for each in tables if each and next(iter(each.values()))]
    if not filled:
        return
    table = rng.choice(filled)
    row = rng.randrange(len(next(iter(table.values()))))
    other = rng.randrange(len(next(iter(table.values()))))
    match rng.randrange(6):
        case 0 | 1:
            column = rng.choice(list(table.values()))
            column[row] += rng.choice((-1, 1, 1, 2, 4, -4, 64, 2**31, 2**62))
        case 2:
            for column in table.values():
                del column[row]
        case 3:
            for column in table.values():
                column.insert(row, column[row])
        case 4:
            for column in table.values():
                column[row], column[other] = column[other], column[row]
        case _:
            column = rng.choice(list(table.values()))
            column[row], column[other] = column[other], column[row]


def _judged(folder: Path) -> Iterator[str]:
    path = folder / "r.json"
    found = json.loads(path.read_text()) if path.exists() else {"schedule": None}
    if found["schedule"] is not None and (why := why_wrong(found)) is not None:
        yield f"illegal schedule: {why}"


@cache
def _pool() -> list[dict[str, Any]]:
    """Results of small problems, by all kinds of schedulers."""
    rng, found = Random("pool"), list[dict[str, Any]]()
    while len(found) < POOL:
        made = json_text(encode_problem(drawn_problem(rng, 2**12)))
        words = ["solve", "i.json", "-s", _schedulers(rng, 0.2), "-o", "r.json"]
        content = bases.written([*words, "--time-limit", "0.05"], "r.json", {"i.json": made})
        if content and (result := json.loads(content))["schedule"] is not None:
            found.append(result)
    return found


def warm() -> None:
    """Make what is changed."""
    _pool()
