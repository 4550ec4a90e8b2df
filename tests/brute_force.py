"""The optimum over all legal schedules of a tiny problem in its own order.

Written from rules R1 to R7 of PROBLEM.md and from nothing else: a dynamic program
over the joint state (r_t, Z_t) of all tensors, which tries every move of every tensor in every
step and mapping. The addresses of R8 rule no residency plan out (paged tensors take any pages), R9
is the fixed order, and R10 orders the commands of a step without changing its time.

``s - Z``, where the bytes valid in DRAM begin, moves on a grid of ``store_bytes`` (with ``s``
added). One byte is exact for every objective. A page is exact when time costs nothing:
residency moves by pages, so that with every boundary rounded up to a page R2, R3, R5 and R7
still hold, and no more of any version is stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, lcm, prod

import numpy as np

from spmopt.core.objective import Objective
from spmopt.core.operation import Operand, OpMapping
from spmopt.core.problem import Problem
from spmopt.core.schedule import Residency, ResidencyPlan, Steps, Stores
from spmopt.core.table import Bools, Ints
from tests import brute_force_moves as one
from tests.brute_force_moves import Move, Rules, State

_SIZE_LIMIT = 2_000_000
_UNREACHED = np.int64(2**62)
_COMMANDS = ("load", "store", "stream_in", "stream_out")


@dataclass(frozen=True, kw_only=True)
class Optimum:
    """The least objective, and a residency plan that reaches it."""

    value: Fraction
    residency_plan: ResidencyPlan


@dataclass(frozen=True, kw_only=True)
class _Search:
    """What stays the same all along; ``scale`` makes every weight an integer."""

    rules: Rules
    objective: Objective
    scale: int


@dataclass(frozen=True, kw_only=True)
class _Here:
    """A step in one of its mappings."""

    rules: Rules
    step: int
    mapping: OpMapping

    def operand(self, tensor: int) -> Operand | None:
        """How the step uses ``tensor``, or None."""
        tensors = self.rules.problem.operations[self.step].tensors
        return self.mapping.operands[tensors.index(tensor)] if tensor in tensors else None

    def has_required_resident(self, tensor: int) -> bool:
        """Whether ``tensor`` is resident in full while the step's operation runs."""
        operand = self.operand(tensor)
        return operand is not None and operand.required_resident


@dataclass(frozen=True, kw_only=True)
class _Layer:
    """Best ways into every joint state after a step: whence, in what mapping, by which moves."""

    states: list[list[State]]
    value: Ints
    old: Ints
    mapping: Ints
    choice: Ints
    moves: list[list[list[Move]]]


def optimum(
    problem: Problem,
    objective: Objective,
    *,
    residency: str = "page",
    store_bytes: int | None = None,
) -> Optimum | None:
    """Return the optimum of a class of schedules, or None if there is none.

    Parameters
    ----------
    residency
        ``page``: multiples of a page, or all. ``whole``: all or nothing in a step that uses
        the tensor; between two uses it is kept, or given up in full and loaded again. ``uses``:
        all or nothing in a step that uses the tensor, as ``page`` in all others. ``kept``: so, but
        from one use to the next it is there in full, or in some step not at all.
    store_bytes
        Granule of stores; by default a page where time costs nothing, else one byte.

    Raises
    ------
    ValueError
        The problem is too large.
    """
    if store_bytes is None:
        store_bytes = problem.machine.page_bytes if objective.cycle == 0 else 1
    rules = Rules(problem, residency, store_bytes)
    scale = lcm(*(weight.denominator for weight in objective.weights))
    search = _Search(rules=rules, objective=objective, scale=scale)
    states = [[one.start(problem, tensor)] for tensor in range(len(problem.tensors))]
    value = np.zeros(1, np.int64)
    layers: list[_Layer] = []
    for step in range(len(problem.operations)):
        layer = _advance(search, step, states, value)
        layers.append(layer)
        states, value = layer.states, layer.value
    return _best(rules, layers, scale)


def _advance(search: _Search, step: int, states: list[list[State]], value: Ints) -> _Layer:
    """One step: all joint moves in all mappings, and the cheapest into each new joint state."""
    operation = search.rules.problem.operations[step]
    ways = [_Here(rules=search.rules, step=step, mapping=mapping) for mapping in operation.mappings]
    moves = [_moves(here, states) for here in ways]
    after = [
        sorted({move.new for of_mapping in moves for move in of_mapping[tensor]})
        for tensor in range(len(states))
    ]
    size = prod(len(of_tensor) for of_tensor in after)
    _check_size(size)
    best = _Layer(
        states=after,
        value=np.full(size, _UNREACHED),
        old=np.zeros(size, np.int64),
        mapping=np.zeros(size, np.int64),
        choice=np.zeros(size, np.int64),
        moves=moves,
    )
    for index, here in enumerate(ways):
        joint = _join(here, moves[index], states, after)
        joint = joint[:, value[joint[_OLD]] < _UNREACHED]
        cost = value[joint[_OLD]] + _cost(search, here.mapping, joint)
        _keep_best(best, index, joint, cost)
    return best


def _moves(here: _Here, states: list[list[State]]) -> list[list[Move]]:
    """Moves of each tensor."""
    return [
        [
            move
            for state in of_tensor
            for move in one.moves(here.rules, here.step, here.operand(tensor), tensor, state)
        ]
        for tensor, of_tensor in enumerate(states)
    ]


# Rows of a joint move: places in the state lists and in the product of the tensors' moves,
# then sums over tensors.
_OLD, _NEW, _CHOICE, _PAGES, _IN, _OUT, _IN_CYCLES, _OUT_CYCLES, _FIRST, _LAST = range(10)
_MORE_IN, _MORE_OUT, _ROWS = range(10, 13)


def _join(
    here: _Here, moves: list[list[Move]], before: list[list[State]], after: list[list[State]]
) -> Ints:
    """Every combination of the tensors' moves that fits the scratchpad (R1), one a column."""
    machine = here.rules.problem.machine
    room = machine.spm_pages - -(-here.mapping.scratch_bytes // machine.page_bytes)
    joint = np.zeros((_ROWS, 1), np.int64)
    for tensor, of_tensor in enumerate(moves):
        own = _columns(here, tensor, of_tensor)
        own[_OLD] = [before[tensor].index(move.old) for move in of_tensor]
        own[_NEW] = [after[tensor].index(move.new) for move in of_tensor]
        radix = np.ones((_ROWS, 1), np.int64)
        radix[[_OLD, _NEW, _CHOICE], 0] = len(before[tensor]), len(after[tensor]), len(of_tensor)
        _check_size(joint.shape[1] * own.shape[1])
        combined = ((joint * radix)[:, :, None] + own[:, None, :]).reshape(_ROWS, -1)
        joint = combined[:, combined[_PAGES] <= room]
    return joint


def _check_size(count: int) -> None:
    if count > _SIZE_LIMIT:
        raise ValueError(f"{count} joint states or moves to enumerate: take a smaller problem")


def _columns(here: _Here, tensor: int, moves: list[Move]) -> Ints:
    """The rows of :func:`_join` for one tensor, but for the places in the state lists."""
    machine = here.rules.problem.machine

    def cycles(size_bytes: int) -> int:
        if not size_bytes:
            return 0
        transfer = size_bytes * machine.clock_hz
        return machine.dma_setup_cycles - (-transfer // machine.dram_bytes_per_s)

    ratio = machine.moved_ratio(here.rules.problem.tensors[tensor].kind)
    # R2 to R5 name bytes on chip; of a compressed tensor each command moves fewer.
    named, moves = (
        moves,
        [
            move._replace(**{name: ceil(ratio * getattr(move, name)) for name in _COMMANDS})
            for move in moves
        ],
    )
    required_resident = here.has_required_resident(tensor)
    is_result = tensor in here.rules.problem.operations[here.step].writes
    columns = [
        (
            0,
            0,
            place,
            -(-move.resident // machine.page_bytes),
            move.load + move.stream_in,
            move.store + move.stream_out,
            cycles(move.load) + cycles(move.stream_in),
            cycles(move.store) + cycles(move.stream_out),
            cycles(move.load) if required_resident else 0,
            cycles(move.store) if required_resident and is_result else 0,
            on_chip.load + on_chip.stream_in - move.load - move.stream_in,
            on_chip.store + on_chip.stream_out - move.store - move.stream_out,
        )
        for place, (move, on_chip) in enumerate(zip(moves, named, strict=True))
    ]
    return np.array(columns, np.int64).reshape(-1, _ROWS).T


def _cost(search: _Search, mapping: OpMapping, joint: Ints) -> Ints:
    """Return what a step adds to the objective, times ``scale``; its duration is that of R6."""
    objective, scale = search.objective, search.scale
    serial = joint[_FIRST] + mapping.compute_cycles + joint[_LAST]
    if search.rules.problem.machine.duplex:
        channels = np.maximum(joint[_IN_CYCLES] + joint[_LAST], joint[_FIRST] + joint[_OUT_CYCLES])
    else:
        channels = joint[_IN_CYCLES] + joint[_OUT_CYCLES]
    fixed = (
        objective.spm_read_byte * mapping.spm_read_bytes
        + objective.spm_write_byte * mapping.spm_write_bytes
        + objective.mac * mapping.macs
    )
    cost: Ints = (
        int(objective.cycle * scale) * np.maximum(channels, serial)
        + int(objective.dram_in_byte * scale) * joint[_IN]
        + int(objective.dram_out_byte * scale) * joint[_OUT]
        + int(objective.unpacked_byte * scale) * joint[_MORE_IN]
        + int(objective.packed_byte * scale) * joint[_MORE_OUT]
        + int(fixed * scale)
    )
    return cost


def _keep_best(best: _Layer, mapping: int, joint: Ints, cost: Ints) -> None:
    """Enter the cheapest column into each new joint state where it is an improvement."""
    order = np.lexsort((cost, joint[_NEW]))
    new = joint[_NEW][order]
    cheapest: Bools = np.ones(new.size, bool)
    cheapest[1:] = new[1:] != new[:-1]
    column = order[cheapest]
    column = column[cost[column] < best.value[joint[_NEW][column]]]
    new = joint[_NEW][column]
    best.value[new] = cost[column]
    best.old[new] = joint[_OLD][column]
    best.mapping[new] = mapping
    best.choice[new] = joint[_CHOICE][column]


def _best(rules: Rules, layers: list[_Layer], scale: int) -> Optimum | None:
    """Return the cheapest end that keeps R7, and the residency plan that leads there."""
    end = layers[-1]
    good = np.ones(1, bool)
    for tensor, states in enumerate(end.states):
        own = [one.finished(rules.problem, tensor, state) for state in states]
        good = (good[:, None] & np.array(own, bool)).ravel()
    value = np.where(good, end.value, _UNREACHED)
    place = int(np.argmin(value))
    if value[place] == _UNREACHED:
        return None
    taken: list[list[Move]] = []
    mappings: list[int] = []
    at = place
    for layer in reversed(layers):
        mapping, choice = int(layer.mapping[at]), int(layer.choice[at])
        moves: list[Move] = []
        for of_tensor in reversed(layer.moves[mapping]):
            choice, own_choice = divmod(choice, len(of_tensor))
            moves.append(of_tensor[own_choice])
        taken.append(moves[::-1])
        mappings.append(mapping)
        at = int(layer.old[at])
    return Optimum(
        value=Fraction(int(value[place]), scale),
        residency_plan=_residency_plan(taken[::-1], mappings[::-1]),
    )


def _residency_plan(taken: list[list[Move]], mappings: list[int]) -> ResidencyPlan:
    """Residency and stores of the moves taken, by step and tensor."""
    rows = [(step, t, move) for step, moves in enumerate(taken) for t, move in enumerate(moves)]
    resident = sorted((t, step, step + 1, m.resident) for step, t, m in rows if m.resident)
    stored = [(step, t, m.store) for step, t, m in rows if m.store]
    return ResidencyPlan(
        steps=Steps.listed(np.array(mappings, np.int64)),
        residency=Residency.of_rows(resident),
        stores=Stores.of_rows(stored),
    )
