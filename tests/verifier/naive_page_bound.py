"""The bound of tensors in pages, with set-ups, once more: by every byte, from the rules."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import ceil

from spmopt.core.operation import Operand
from spmopt.core.problem import Problem
from spmopt.core.result import Certificate
from spmopt.core.timeline import Access, Timeline, relax_timeline
from tests.verifier.naive_bound import rooms_of, uses_of

State = tuple[int, int]
"""Resident bytes, and those of them that DRAM lacks."""


def naive_page_bound(problem: Problem, certificate: Certificate) -> Fraction:
    """Return what the dual values prove, without rounding, with states of any bytes."""
    line, machine = relax_timeline(problem), problem.machine
    objective, uses = certificate.objective, uses_of(problem, certificate)
    rooms = rooms_of(problem, certificate)
    total = Fraction(0)
    for tensor in range(len(problem.tensors)):
        if line.first_access[tensor] >= 0:
            total += _Tensor(problem, certificate, line, tensor).least()
    for step in range(line.steps):
        price, page = _Prices(problem, certificate, step), machine.page_bytes
        total -= price.hold * page * machine.spm_pages
        operation, costs = problem.operations[step], list[Fraction]()
        for number, each in enumerate(operation.mappings):
            cost = objective.of_mappings(
                each.spm_read_bytes, each.spm_write_bytes, each.macs, each.own_picojoules
            )
            cost += price.rho * each.compute_cycles
            pages = ceil(Fraction(each.scratch_bytes, page))
            cost += price.hold * page * pages
            given = rooms[step, number] * page * (machine.spm_pages - pages)
            cost -= Fraction(given, 2**certificate.bits)
            for tensor in operation.tensors:
                earned = problem.tensors[tensor].size_bytes * uses[step, tensor, number]
                cost -= Fraction(earned, 2**certificate.bits)
            costs.append(cost)
        total += min(costs)
    return total


class _Prices:
    """Dual values of a step, exact, with those of serial transfers and set-ups."""

    def __init__(
        self, problem: Problem, certificate: Certificate, step: int, ratio: Fraction = Fraction(1)
    ) -> None:
        machine, objective = problem.machine, certificate.objective
        beta, unit = machine.bytes_per_cycle, Fraction(1, 2**certificate.bits)
        into, out = (int(each[step]) * unit for each in (certificate.dram_in, certificate.dram_out))
        channel = into + out if machine.duplex else into
        self.hold = int(certificate.spm[step]) * unit
        self.rho = objective.cycle - beta * channel
        firm = channel + self.rho / beta
        lam = machine.dma_setup_cycles * beta
        more_in = (1 - ratio) * objective.unpacked_byte
        more_out = (1 - ratio) * objective.packed_byte
        self.load = ratio * (into + objective.dram_in_byte) + more_in, lam * into
        self.store = ratio * (out + objective.dram_out_byte) + more_out, lam * out
        self.firm_load = ratio * (firm + objective.dram_in_byte) + more_in, lam * firm
        self.firm_store = ratio * (firm + objective.dram_out_byte) + more_out, lam * firm


class _Tensor:
    def __init__(
        self, problem: Problem, certificate: Certificate, line: Timeline, tensor: int
    ) -> None:
        self.line, self.tensor, self.page = line, tensor, problem.machine.page_bytes
        self.size = int(line.size_bytes[tensor])
        ratio = problem.machine.moved_ratio(problem.tensors[tensor].kind)
        self.prices = [_Prices(problem, certificate, step, ratio) for step in range(line.steps)]
        rows = [row for row in range(line.step.size) if line.tensor[row] == tensor]
        self.access = {int(line.step[row]): row for row in rows}
        self.operations, self.unit = problem.operations, Fraction(1, 2**certificate.bits)
        self.uses, self.rooms = uses_of(problem, certificate), rooms_of(problem, certificate)

    def least(self) -> Fraction:
        states: dict[State, Fraction] = {(0, 0): Fraction(0)}
        for step in range(self.line.steps):
            after: dict[State, Fraction] = {}
            for state, paid in states.items():
                for new, cost in self.moves(step, state):
                    if paid + cost < after.get(new, Fraction(10**30)):
                        after[new] = paid + cost
            states = after
        kept = bool(self.line.keep[self.tensor])
        return min(paid for (_, dirty), paid in states.items() if not (kept and dirty))

    def moves(self, step: int, state: State) -> Iterator[tuple[State, Fraction]]:
        """Yield the states after a step, with the payments in it."""
        line, price = self.line, self.prices[step]
        row = self.access.get(step)
        if row is None:
            for held, cost in self.loads(step, state, price.load):
                yield from self.stores(held, state[1], cost, price.store)
            return
        for number, mapping in enumerate(self.operations[step].mappings):
            operand = mapping.operands[row - int(line.first[step])]
            use = self.size * self.uses[step, self.tensor, number] * self.unit
            room = self.page * self.rooms[step, number] * self.unit
            for new, cost in self.used(step, state, row, operand, room):
                yield new, cost + use

    def used(
        self, step: int, state: State, row: int, operand: Operand, room: Fraction
    ) -> Iterator[tuple[State, Fraction]]:
        """Yield the states after a step that uses the tensor so, with the payments in it.

        ``room``: of a page that is resident then, beside that of holding it.
        """
        line, price, size = self.line, self.prices[step], self.size
        kind, live = line.kind[row], bool(line.live_after[row])
        firm, fetches = operand.required_resident, operand.fetches
        read, written = kind != Access.WRITE, kind != Access.READ
        load, store = (price.firm_load, price.firm_store) if firm else (price.load, price.store)
        # Serial stores are those of results.
        store = store if written else price.store
        if read:
            arrived = list(self.loads(step, state, load))
        else:
            arrived = [(held, self.hold(step, held)) for held in range(size + 1)]
        times_in = fetches if read else fetches - 1 if live else 0
        times_out = fetches if written and live else 0
        by_byte = times_in * price.load[0] + times_out * price.store[0]
        setups = (price.load[1] if times_in else 0) + (price.store[1] if times_out else 0)
        for held, paid in arrived:
            if firm and held < size:
                continue
            cost = paid + ((size - held) * by_byte + setups if held < size else 0)
            cost += room * -(-held // self.page)
            if live:
                yield from self.stores(held, held if written else state[1], cost, store)
            else:
                yield (0, 0), cost

    def hold(self, step: int, held: int) -> Fraction:
        return self.prices[step].hold * self.page * -(-held // self.page)

    def loads(
        self, step: int, state: State, price: tuple[Fraction, Fraction]
    ) -> Iterator[tuple[int, Fraction]]:
        before, dirty = state
        for held in range(dirty, self.size + 1):
            cost = self.hold(step, held)
            if held > before:
                cost += (held - before) * price[0] + price[1]
            yield held, cost

    @staticmethod
    def stores(
        held: int, dirty: int, cost: Fraction, price: tuple[Fraction, Fraction]
    ) -> Iterator[tuple[State, Fraction]]:
        for left in range(dirty + 1):
            paid = (dirty - left) * price[0] + price[1] if left < dirty else Fraction(0)
            yield (held, left), cost + paid
