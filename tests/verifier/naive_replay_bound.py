"""The bound on the replay again, byte by byte, from what section 5 of PROBLEM.md says of instants.

A byte is held or not before each operation starts, when it starts, when it ends, and after the
last; it is valid in DRAM or not. All ways are tried, by what rules R2 to R7 ask for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor

from spmopt.core.bypass import without_bypass
from spmopt.core.operation import OpMapping
from spmopt.core.order import reorder
from spmopt.core.problem import Problem
from spmopt.core.result import Certificate
from spmopt.core.timeline import Access, Timeline, relax_timeline
from tests.verifier.naive_bound import Byte, of_mapping, rooms_of, uses_of, with_mapping


@dataclass(frozen=True, kw_only=True)
class _Part:
    """A part of the time, and the instant that ends it: dual values of a byte moved, and held then.

    ``before``: what one that is written blindly pays for the part before, in which it is held too.
    """

    step: int
    kinds: tuple[Access, ...]
    load: int
    store: int
    hold: int
    before: int = 0


def naive_replay_bound(problem: Problem, certificate: Certificate) -> Fraction:
    """Equal to ``spmopt.verifier.bound`` of the replay."""
    if certificate.order is not None:
        problem = reorder(problem, certificate.order)
    left = without_bypass(problem)
    problem, objective = left.problem, certificate.objective
    line, machine, scale = relax_timeline(problem), problem.machine, 2**certificate.bits
    parts, total = _parts(problem, certificate), Fraction(0)
    uses, rooms = uses_of(problem, certificate), rooms_of(problem, certificate)

    def room(mapping: OpMapping) -> int:
        pages = machine.spm_pages - -(-mapping.scratch_bytes // machine.page_bytes)
        return pages * machine.page_bytes

    def fits(step: int, mapping: OpMapping) -> bool:
        uses = zip(problem.operations[step].tensors, mapping.operands, strict=True)
        firm = [problem.tensors[t].size_bytes for t, use in uses if use.required_resident]
        pages = sum(-(-size // machine.page_bytes) for size in firm)
        return pages * machine.page_bytes <= room(mapping)

    for tensor, record in enumerate(problem.tensors):
        total += record.size_bytes * _cheapest(problem, line, certificate, parts, tensor)
    for step in range(line.steps):
        dual = int(certificate.dram_in[step])
        dual += int(certificate.dram_out[step]) if machine.duplex else 0
        hidden = floor(objective.cycle * scale - machine.bytes_per_cycle * dual)
        held = sum(part.hold for part in parts if part.step == step)
        fit = [mapping for mapping in problem.operations[step].mappings if fits(step, mapping)]
        total += min(
            hidden * mapping.compute_cycles
            + scale * of_mapping(objective, mapping)
            - held * room(mapping)
            # Without operands nothing pays for room, so that nothing is given back.
            - bool(operation.tensors) * rooms[step, number] * room(mapping)
            - sum(problem.tensors[t].size_bytes * uses[step, t, number] for t in operation.tensors)
            for operation in (problem.operations[step],)
            for number, mapping in enumerate(operation.mappings)
            # No schedule runs a mapping that does not fit; where none does there is no schedule.
            if mapping in fit or not fit
        )
    found: Fraction = total / scale + left.streams.value(objective)
    return found


def _bare(problem: Problem, certificate: Certificate) -> tuple[int, int]:
    """What a byte costs, in and out, that nothing hides."""
    objective, scale = certificate.objective, 2**certificate.bits
    time = floor(objective.cycle * scale / problem.machine.bytes_per_cycle)
    return (
        time + floor(objective.dram_in_byte * scale),
        time + floor(objective.dram_out_byte * scale),
    )


def _parts(problem: Problem, certificate: Certificate) -> list[_Part]:
    """All of the time, part after part."""
    objective, scale = certificate.objective, 2**certificate.bits
    bare_in, bare_out = _bare(problem, certificate)
    in_byte = floor(objective.dram_in_byte * scale)
    out_byte = floor(objective.dram_out_byte * scale)
    found = list[_Part]()
    for step in range(len(problem.operations)):
        load = int(certificate.dram_in[step]) + in_byte
        store = int(certificate.dram_out[step]) + out_byte
        moved = {"load": load, "store": store}
        duplex = problem.machine.duplex
        idle = moved if duplex else {"load": bare_in, "store": bare_out}
        at_start = 0 if certificate.spm_at_start is None else int(certificate.spm_at_start[step])
        at_end = int(certificate.spm[step])
        found += [
            _Part(step=step, kinds=(), hold=0, **idle),
            _Part(step=step, kinds=(), hold=at_start, **moved),
            _Part(step=step, kinds=tuple(Access), hold=at_end, before=at_start, **moved),
        ]
    load = in_byte if problem.machine.duplex else bare_in
    return [*found, _Part(step=-1, kinds=(), hold=0, load=load, store=bare_out)]


def _cheapest(
    problem: Problem, line: Timeline, certificate: Certificate, parts: list[_Part], tensor: int
) -> int:
    """Least cost of one byte from the first part to the last; by (held, valid in DRAM)."""
    rows = {int(line.step[a]): a for a in range(line.tensor.size) if line.tensor[a] == tensor}
    live = bool(line.live_before[tensor])
    bare_in, bare_out = _bare(problem, certificate)
    uses, rooms = uses_of(problem, certificate), rooms_of(problem, certificate)
    costs = {(False, bool(line.in_dram[tensor])): 0}
    for part in parts:
        access = rows.get(part.step, -1)
        if access >= 0 and Access(int(line.kind[access])) not in part.kinds:
            access = -1
        kind = int(line.kind[access]) if access >= 0 else -1
        written = kind == Access.WRITE
        mappings = problem.operations[part.step].mappings if access >= 0 else (None,)
        after = dict[tuple[bool, bool], int]()
        for number, mapping in enumerate(mappings):
            of = line if mapping is None else with_mapping(line, access, mapping)
            firm = access >= 0 and bool(of.required_resident[access])
            byte = Byte.used(
                of,
                access,
                # Nothing hides what is required-resident, whichever instant stands for its moving.
                load=bare_in if firm and kind != Access.WRITE else part.load,
                store=bare_out if firm and kind != Access.READ else part.store,
                hold=part.hold + (part.before if written else 0),
            ).moving_as(problem, certificate, tensor)
            if access >= 0:
                byte = _with_setups(problem, certificate, byte, part.step, tensor)
            use = uses[part.step, tensor, number] if access >= 0 else 0
            room = rooms[part.step, number] if access >= 0 else 0
            for before, cost in costs.items():
                for held, store in ((False, False), (True, False), (True, True)):
                    move = byte.move(before, held, store, live)
                    if move is not None:
                        valid, paid = move
                        paid += cost + use + held * room
                        after[held, valid] = min(after.get((held, valid), paid), paid)
        costs = after
        live = bool(line.live_after[access]) if access >= 0 else live
    keep = bool(line.keep[tensor])
    return min(cost for (_, valid), cost in costs.items() if valid or not keep)


def _with_setups(
    problem: Problem, certificate: Certificate, byte: Byte, step: int, tensor: int
) -> Byte:
    """Add the shares of the set-ups of streams, which run while their operation does."""
    machine, size = problem.machine, problem.tensors[tensor].size_bytes
    factor = machine.dma_setup_cycles * machine.bytes_per_cycle
    return replace(
        byte,
        stream_setup_in=floor(factor * int(certificate.dram_in[step])) // size,
        stream_setup_out=floor(factor * int(certificate.dram_out[step])) // size,
    )
