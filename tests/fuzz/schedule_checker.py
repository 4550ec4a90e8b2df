"""A small checker of the schedule in a result file, which shares nothing with the program.

Written from formulations/PROBLEM.md (sections 2 and 3, without times): capacity, growth, reads,
writes, stores before loads, the end, addresses, moves, order, bypass. Bytes are handled as ranges,
so that sizes may be anything. It says what is wrong, or None.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

LOAD, STORE, STREAM_IN, STREAM_OUT = range(4)
Row = tuple[int, ...]


class WrongError(Exception):
    """What is wrong with a schedule."""


def why_wrong(result: Mapping[str, Any]) -> str | None:
    """Return what is wrong with the schedule of a result, as its file has it."""
    try:
        _Check(result["problem"], result["schedule"]).all()
    except (WrongError, LookupError) as error:
        return f"{type(error).__name__}: {error}"
    return None


def _need(holds: bool, what: str, *where: object) -> None:
    if not holds:
        raise WrongError(" ".join(map(str, (what, *where))))


def _rows(table: Mapping[str, Sequence[int]], *names: str) -> list[Row]:
    return list(zip(*(table[name] for name in names), strict=True))


class _Check:
    def __init__(self, problem: Mapping[str, Any], schedule: Mapping[str, Any]) -> None:
        machine, tensors = problem["machine"], problem["tensors"]
        self.page: int = machine["page_bytes"]
        banks = [bank["spm_bytes"] for bank in machine.get("banks") or ()]
        self.pages = sum(size // self.page for size in banks or [machine["spm_bytes"]])
        self.banked = bool(banks)
        self.bypass = set(machine.get("bypass") or ())
        self.size: list[int] = tensors["size_bytes"]
        self.kind, self.in_dram, self.keep = (tensors[k] for k in ("kind", "in_dram", "keep"))
        self.operations, self.mappings = problem["operations"], problem["mappings"]
        self.steps = _rows(schedule["steps"], "operation", "mapping")
        self.held = _rows(schedule["residency"], "tensor", "begin", "end", "size_bytes")
        self.places = _rows(
            *(schedule["placements"], "tensor", "tensor_page", "pages", "spm_page", "begin", "end")
        )
        moves = schedule.get("moves") or dict.fromkeys(("step", "tensor", "begin", "end"), ())
        self.moves = _rows(moves, "step", "tensor", "begin", "end")
        self.commands: dict[int, list[Row]] = defaultdict(list)
        names = ("step", "kind", "tensor", "begin", "end", "fetches")
        for step, *command in _rows(schedule["commands"], *names):
            self.commands[step].append(tuple(command))

    def all(self) -> None:
        count = len(self.operations["reads"])
        order = [operation for operation, _ in self.steps]
        _need(sorted(order) == list(range(count)), "not every operation once")
        _need(all(0 <= step < count for step in self.commands), "a command in no step")
        at = {operation: step for step, operation in enumerate(order)}
        for operation, befores in enumerate(self.operations["predecessors"]):
            _need(all(at[b] < at[operation] for b in befores), "a predecessor later", operation)
        now, valid = [0] * len(self.size), [0] * len(self.size)
        for tensor, there in enumerate(self.in_dram):
            valid[tensor] = self.size[tensor] if there else 0
        live, places = self._live(order), dict[int, Any]()
        for step in range(count):
            before, now = now, self._resident(step)
            self._step(step, before, now, valid, live[step + 1])
            places = self._addresses(step, now, places)
        for tensor, keep in enumerate(self.keep):
            _need(not keep or valid[tensor] == self.size[tensor], "not in DRAM at the end", tensor)

    def _live(self, order: list[int]) -> list[list[bool]]:
        """Whether contents of each tensor are needed before each step, and at the end."""
        found = [list(self.keep)]
        for operation in reversed(order):
            live = list(found[-1])
            for tensor in self.operations["writes"][operation]:
                live[tensor] = False
            for tensor in self.operations["reads"][operation]:
                live[tensor] = True
            found.append(live)
        return found[::-1]

    def _mapping(self, step: int) -> tuple[dict[int, tuple[int, bool]], int]:
        """Return fetches of each operand, and whether it is resident; and bytes of scratch."""
        operation, number = self.steps[step]
        _need(number >= 0, "no such mapping", step)
        mapping = [k for k, of in enumerate(self.mappings["operation"]) if of == operation][number]
        reads, writes = (self.operations[name][operation] for name in ("reads", "writes"))
        names = [*reads, *(tensor for tensor in writes if tensor not in reads)]
        each = zip(
            self.mappings["fetches"][mapping],
            self.mappings["required_resident"][mapping],
            strict=True,
        )
        return dict(zip(names, each, strict=True)), self.mappings["scratch_bytes"][mapping]

    def _resident(self, step: int) -> list[int]:
        found = [0] * len(self.size)
        for tensor, begin, end, size in self.held:
            if begin <= step < end:
                _need(not found[tensor] and 0 < size <= self.size[tensor], "residency", tensor)
                _need(self.kind[tensor] not in self.bypass, "resident, though it bypasses", tensor)
                found[tensor] = size
        return found

    def _step(
        self, step: int, before: list[int], now: list[int], valid: list[int], live: list[bool]
    ) -> None:
        operation = self.steps[step][0]
        reads, writes = (set(self.operations[n][operation]) for n in ("reads", "writes"))
        operands, _ = self._mapping(step)
        for tensor, size in enumerate(self.size):
            mine = [command for command in self.commands[step] if command[1] == tensor]
            held, was, in_dram = now[tensor], before[tensor], valid[tensor]
            read, written, needed = tensor in reads, tensor in writes, live[tensor]
            fetches, required_resident = operands.get(tensor, (0, False))
            where = (f"tensor {tensor}", f"step {step}")
            _need(
                not required_resident or held == size,
                "a required-resident operand is not there",
                *where,
            )
            if read or (needed and not written):
                _need(max(was, held) + in_dram >= size, "contents are nowhere", *where)
            if not written or read:
                _need(held <= was or was >= size - in_dram, "loads what DRAM lacks", *where)
                _need(min(was, held) + in_dram >= size or not (read or needed), "lost", *where)
                self._fusion_plan(mine, LOAD, (was, max(was, held)), 1, where)
            else:
                self._fusion_plan(mine, LOAD, (0, 0), 1, where)
            _need(not read or held >= size - in_dram, "reads what DRAM lacks", *where)
            partial = fetches - 1 if written and not read and needed else 0
            ins = fetches if read else partial
            self._fusion_plan(mine, STREAM_IN, (held, size), ins, where)
            out = fetches if written and needed else 0
            self._fusion_plan(mine, STREAM_OUT, (held, size), out, where)
            if written:
                in_dram = size - held if needed else 0
            stores = [(begin, end) for kind, _, begin, end, _ in mine if kind == STORE]
            for begin, end in stores:
                _need(len(stores) == 1 and end == size - in_dram, "stores no suffix", *where)
                _need(0 <= begin < end <= held, "stores what is not there", *where)
                in_dram += end - begin
            valid[tensor] = in_dram
            _need(not needed or held + in_dram >= size, "nowhere after the step", *where)

    def _fusion_plan(
        self, mine: Iterable[Row], kind: int, bytes_: tuple[int, int], fetches: int, where: Any
    ) -> None:
        """Require the commands of a kind to move just these bytes."""
        wanted = [(*bytes_, fetches)] if bytes_[0] < bytes_[1] and fetches else []
        found = [(b, e, p) for k, _, b, e, p in mine if k == kind]
        _need(found == wanted, f"commands of kind {kind}: {found} for {wanted}", *where)

    def _addresses(self, step: int, now: list[int], before: dict[int, Any]) -> dict[int, Any]:
        """Check where pages lie in a step; return (page, end, address) by tensor."""
        _, scratch = self._mapping(step)
        wanted = {-1: scratch, **dict(enumerate(now))}
        found: dict[int, list[Row]] = defaultdict(list)
        taken = []
        for tensor, first, pages, address, begin, end in self.places:
            if begin <= step < end:
                _need(pages > 0, "no pages", tensor)
                found[tensor].append((first, first + pages, address))
                taken.append((address, address + pages))
        taken.sort()
        _need(all(a[1] <= b[0] for a, b in pairwise(taken)), "overlap", step)
        fits = not taken or (taken[0][0] >= 0 and taken[-1][1] <= self.pages)
        _need(fits, "outside of the scratchpad", step)
        for tensor, size in wanted.items():
            at = 0
            for first, end, _ in sorted(found[tensor]):
                _need(first == at, "a page without an address", tensor, step)
                at = end
            _need(at == -(-size // self.page), "not one address a page", tensor, step)
            if tensor >= 0:
                self._stay(step, tensor, sorted(found[tensor]), before.get(tensor, ()))
        return found

    def _stay(self, step: int, tensor: int, now: Sequence[Row], before: Sequence[Row]) -> None:
        """Require what has another address to be moved, and nothing else."""
        moved = []
        for first, end, address in now:
            for was, until, old in before:
                low, high = max(first, was), min(end, until)
                if low < high and address - first != old - was:
                    moved.append((low * self.page, min(high * self.page, self.size[tensor])))
        told = [
            (begin, end) for at, which, begin, end in self.moves if (at, which) == (step, tensor)
        ]
        _need(_joined(moved) == _joined(told), "moves of", tensor, step)
        _need(self.banked or not moved, "a page moves", tensor, step)


def _joined(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for begin, end in sorted(ranges):
        joins = bool(found) and found[-1][1] == begin
        found.append((found.pop()[0] if joins else begin, end))
    return found
