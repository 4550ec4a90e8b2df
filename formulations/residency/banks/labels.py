"""The cheapest schedule step by step, of problems with few tensors of few pages.

A *label* is a state of every tensor after some steps, and the least cost of reaching it. From step
to step each label is followed by all choices of all tensors that fit the banks. The rest of the
schedule costs at least its bound at the dual values, tensor by tensor, so that labels that cannot
end below the best schedule known are dropped. If none but these are, the result is the optimum over
all mappings; beyond a number of labels, those are kept that may become cheapest.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from formulations.residency.banks.choices import Choices, TensorChoices
from formulations.residency.banks.duals import BankMultipliers
from formulations.residency.banks.facts import BankCoefficients
from formulations.solver.program import Floats
from spmopt.assemble.cost import step_time
from spmopt.core.objective import Objective
from spmopt.core.problem import Problem
from spmopt.core.schedule import BankRows, Residency, ResidencyPlan, Steps, Stores
from spmopt.core.scheduler import Request
from spmopt.core.shares import STREAM_BANK
from spmopt.core.table import Ints
from spmopt.core.timeline import timeline

_MOST_PAGES = 8
_MOST_CELLS = 400
"""Pages of a tensor, and tensors times steps, up to which it is worth trying."""
_LABELS, _ROWS, _TRIED = 5_000, 30_000, 120_000
"""Labels kept after a step; rows kept, and tried, for each tensor in a step."""
_HALVINGS = 30
_ROUNDED = 1e-9
_SCRATCH = -1


@dataclass(frozen=True, kw_only=True, eq=False)
class _Labels:
    """States (k, m) as places among those of the tensors, values, and whence they come."""

    states: Ints
    value: Floats
    parent: Ints
    mapping: Ints
    choice: Ints


def is_small(problem: Problem) -> bool:
    """Return whether a problem is so small that a search over labels may be quick."""
    page = problem.machine.page_bytes
    pages = max((-(-tensor.size_bytes // page) for tensor in problem.tensors), default=0)
    cells = len(problem.tensors) * len(problem.operations)
    return 0 < cells <= _MOST_CELLS and pages <= _MOST_PAGES


def cheapest(
    problem: Problem, request: Request, duals: BankMultipliers, below: float
) -> ResidencyPlan | None:
    """Return a residency plan with its banks that costs less than ``below``; None if none is found.

    Parameters
    ----------
    duals
        Legal ones.
    below
        Objective of a legal schedule, or infinite.
    """
    return _LabelSearch(problem, request, duals, below).run()


class _LabelSearch:
    """Choices of all tensors in all steps, the payments left after each, and the labels."""

    def __init__(
        self, problem: Problem, request: Request, duals: BankMultipliers, below: float
    ) -> None:
        self._problem, self._request, self._below = problem, request, below
        counts = np.array([len(operation.mappings) for operation in problem.operations])
        self._mappings = counts
        self._facts = [
            _in_mappings(problem, request.objective, np.minimum(number, counts - 1))
            for number in range(int(counts.max()))
        ]
        self._fixed = np.array([_fix(facts, request.objective) for facts in self._facts])
        least = np.array([_least(facts, duals) for facts in self._facts]) + self._fixed
        self._rest = np.append(np.cumsum(least.min(axis=0)[::-1])[::-1], 0.0)
        tensors = [
            TensorChoices(problem.machine, self._facts, duals, tensor)
            for tensor in range(len(problem.tensors))
        ]
        self._layouts = [tensor.layouts for tensor in tensors]
        self._tables = [_Table(tensor, counts) for tensor in tensors]
        self._layers: list[_Labels] = []

    def run(self) -> ResidencyPlan | None:
        """Follow labels to the end."""
        start = sum(table.ahead[0][0] for table in self._tables) + self._rest[0]
        if not np.isfinite(start) or start >= self._limit:
            return None
        gap = self._limit - start
        for table in self._tables:
            table.prune(gap + _ROUNDED * abs(self._limit))
        labels = _Labels(
            states=np.zeros((1, len(self._tables)), np.int64),
            value=np.zeros(1),
            parent=np.zeros(1, np.int64),
            mapping=np.zeros(1, np.int64),
            choice=np.zeros((1, len(self._tables)), np.int64),
        )
        for step in range(len(self._problem.operations)):
            labels = self._advance(step, labels)
            if not labels.value.size or self._request.remaining_s() <= 0:
                return None
            self._layers.append(labels)
        return self._residency_plan(int(np.argmin(labels.value)))

    @property
    def _limit(self) -> float:
        """Upper limit on the cost of a better schedule."""
        return self._below - _ROUNDED * abs(self._below)

    def _ahead(self, step: int, states: Ints) -> Floats:
        """Return (k,) the least payments left before a step."""
        # Weak duality: the rest costs at least its payments at the dual values.
        left = np.full(len(states), self._rest[step])
        for tensor, table in enumerate(self._tables):
            left += table.ahead[step][states[:, tensor]]
        return left

    def _advance(self, step: int, labels: _Labels) -> _Labels:
        found = []
        slack = self._limit - labels.value - self._ahead(step, labels.states)
        for mapping in range(int(self._mappings[step])):
            found.append(self._follow(step, mapping, labels, slack))
        return self._keep(
            step + 1,
            _Labels(
                **{
                    name: np.concatenate([getattr(each, name) for each in found])
                    for name in vars(found[0])
                }
            ),
        )

    def _follow(self, step: int, mapping: int, labels: _Labels, slack: Floats) -> _Labels:
        """Follow labels by all choices of all tensors that fit, in one mapping."""
        machine = self._problem.machine
        room = np.array(machine.bank_pages)
        facts = self._facts[mapping]
        left = machine.spm_pages - int(facts.scratch_bytes[step]) // machine.page_bytes
        label = np.arange(labels.value.size)
        slack = slack + _ROUNDED * abs(self._limit)
        total = np.zeros((label.size, _width(room.size)))
        picked = np.zeros((label.size, 0), np.int64)
        for tensor, table in enumerate(self._tables):
            row, choice = table.after(step, mapping, labels.states[label, tensor], slack)
            slack_now = slack[row] - table.more[step][mapping][choice]
            now = total[row] + table.columns[step][mapping][choice]
            used = now[:, : room.size]
            # R1 of each bank, and of all with the scratch, which lies where there is room.
            good = np.flatnonzero((used <= room).all(axis=1) & (used.sum(axis=1) <= left))
            # A beam: from here on the result may not be the optimum.
            if good.size > _ROWS:
                good = good[np.argpartition(-slack_now[good], _ROWS)[:_ROWS]]
            label, total, slack = label[row[good]], now[good], slack_now[good]
            picked = np.concatenate((picked[row[good]], choice[good, None]), axis=1)
        states = np.empty_like(picked)
        for tensor, table in enumerate(self._tables):
            states[:, tensor] = table.new[step][mapping][picked[:, tensor]]
        return _Labels(
            states=states,
            value=labels.value[label] + self._cost(step, mapping, total),
            parent=label,
            mapping=np.full(label.size, mapping),
            choice=picked,
        )

    def _cost(self, step: int, mapping: int, total: Floats) -> Floats:
        """Return the cost of a step (R6, energy)."""
        facts, machine = self._facts[mapping], self._problem.machine
        banks = len(machine.banks)
        busy = total[:, banks : 2 * banks].copy()
        loose = facts.read_ratio[STREAM_BANK] * facts.loose_read[step]
        loose += facts.write_ratio[STREAM_BANK] * facts.loose_write[step]
        busy[:, STREAM_BANK] += loose / facts.cycle_bytes
        # Floats: a port that is busy for whole cycles must not round up.
        busiest = np.ceil(busy.max(axis=1, initial=0.0) * (1 - _ROUNDED) - _ROUNDED)
        compute = np.maximum(busiest, facts.line.compute_cycles[step]).astype(np.int64)
        cost = total[:, 2 * banks]
        inward, outward, before, after = total[:, 2 * banks + 1 :].T.astype(np.int64)
        cycles = step_time(
            machine, compute=compute, inward=inward, outward=outward, before=before, after=after
        )
        result: Floats = cost + self._fixed[mapping, step]
        return result + float(self._request.objective.cycle) * cycles

    def _keep(self, step: int, found: _Labels) -> _Labels:
        """Return the cheapest label of each state, those that may become cheapest if many."""
        hope = found.value + self._ahead(step, found.states)
        kept = np.flatnonzero(hope < self._limit)
        order = kept[np.lexsort((found.value[kept], *found.states[kept].T))]
        states = found.states[order]
        first = np.ones(order.size, bool)
        # Of labels of one state the cheapest comes first: the others end no better.
        first[1:] = (states[1:] != states[:-1]).any(axis=1)
        order = order[first]
        if order.size > _LABELS:
            order = order[np.argpartition(hope[order], _LABELS)[:_LABELS]]
        return _Labels(**{name: column[order] for name, column in vars(found).items()})

    def _residency_plan(self, label: int) -> ResidencyPlan:
        """Return the residency plan that leads to a label."""
        mappings: list[int] = []
        layout: list[list[tuple[int, ...]]] = []
        size: list[list[int]] = []
        stores: list[tuple[int, int, int]] = []
        for step in range(len(self._layers) - 1, -1, -1):
            labels = self._layers[step]
            mapping = int(labels.mapping[label])
            mappings.append(mapping)
            layout.append([])
            size.append([])
            for tensor, choice in enumerate(labels.choice[label].tolist()):
                own = self._tables[tensor].choices[step][mapping]
                place = int(own.layout[choice])
                layout[-1].append(self._layouts[tensor].banks[place])
                size[-1].append(int(self._layouts[tensor].resident[place]))
                if own.store[choice]:
                    stores.append((step, tensor, int(own.store[choice])))
            label = int(labels.parent[label])
        return _residency_plan(
            self._problem, mappings[::-1], layout[::-1], size[::-1], sorted(stores)
        )


class _Table:
    """Choices of a tensor by step and mapping, sorted by state, then by ``more``; states.

    Attributes
    ----------
    choices
        By step, then by mapping.
    new, more, columns
        So too: place of the new state among those of the next step; how much more than the least a
        choice costs at the bound's dual values; pages, port's cycles, cost, cycles.
    ahead
        By step, of each state: the least that is left to pay.
    """

    def __init__(self, tensor: TensorChoices, mappings: Ints) -> None:
        states = [np.array([tensor.start])]
        self.choices: list[list[Choices]] = []
        for step, count in enumerate(mappings.tolist()):
            self.choices.append([tensor.of(step, mapping, states[-1]) for mapping in range(count)])
            states.append(np.unique(np.concatenate([each.new for each in self.choices[-1]])))
        self.new = [
            [np.searchsorted(states[step + 1], each.new) for each in own]
            for step, own in enumerate(self.choices)
        ]
        self.ahead = [np.zeros(states[-1].size)]
        for step in range(mappings.size - 1, -1, -1):
            least = np.full(states[step].size, np.inf)
            for each, new in zip(self.choices[step], self.new[step], strict=True):
                np.minimum.at(least, each.old, each.dual + self.ahead[0][new])
            self.ahead.insert(0, least)
        self.more: list[list[Floats]] = []
        self.columns: list[list[Floats]] = []
        self._first: list[list[Ints]] = []

    def prune(self, gap: float) -> None:
        """Drop choices on no path that costs less than ``gap`` more than the cheapest."""
        behind = np.zeros(1)
        self._span = 2.0 * gap or 1.0
        for step, own in enumerate(self.choices):
            later = np.full(self.ahead[step + 1].size, np.inf)
            self.more.append([])
            self.columns.append([])
            self._first.append([])
            for mapping, each in enumerate(own):
                new = self.new[step][mapping]
                rest = self.ahead[step + 1][new]
                with np.errstate(invalid="ignore"):
                    more = each.dual + rest - self.ahead[step][each.old]
                    # A choice on no path within the gap is in no better schedule.
                    good = np.flatnonzero(behind[each.old] + more <= gap)
                good = good[np.lexsort((more[good], each.old[good]))]
                own[mapping] = kept = each.take(good)
                self.new[step][mapping] = new[good]
                np.minimum.at(later, new[good], behind[kept.old] + more[good])
                self.more[step].append(more[good])
                self.columns[step].append(_columns(kept))
                places = np.arange(self.ahead[step].size + 1)
                self._first[step].append(np.searchsorted(kept.old, places))
            behind = later

    def after(self, step: int, mapping: int, states: Ints, slack: Floats) -> tuple[Ints, Ints]:
        """Return (r,) rows of ``states``, repeated for every choice, and these choices.

        Those that leave some of ``slack``, the most of it where they are too many.
        """
        first, more = self._first[step][mapping], self.more[step][mapping]
        begin = first[states]
        keys = self.choices[step][mapping].old * self._span + more

        def counts(least: float) -> Ints:
            left = np.minimum(slack - least, 0.75 * self._span)
            found = np.searchsorted(keys, states * self._span + left, side="right") - begin
            return np.where(left >= 0, np.maximum(found, 0), 0)

        often, low, high = counts(0.0), 0.0, float(slack.max(initial=0.0))
        if often.sum() > _TRIED:
            for _ in range(_HALVINGS):
                middle = (low + high) / 2
                low, high = (low, middle) if counts(middle).sum() <= _TRIED else (middle, high)
            often = counts(high)
        row = np.repeat(np.arange(states.size), often)
        place = np.arange(row.size) - np.repeat(np.cumsum(often) - often, often)
        return row, begin[row] + place


def _columns(kept: Choices) -> Floats:
    parts = (kept.cost, kept.inward, kept.outward, kept.before, kept.after)
    return np.column_stack((kept.pages, kept.busy, *parts)).astype(np.float64)


def _width(banks: int) -> int:
    return 2 * banks + 5


def _in_mappings(problem: Problem, objective: Objective, mappings: Ints) -> BankCoefficients:
    line = timeline(problem, Steps.listed(mappings))
    return BankCoefficients(problem, line, objective, relaxed=False)


def _fix(facts: BankCoefficients, objective: Objective) -> Floats:
    """Return (n,) costs of each step that do not depend on residency, without its time."""
    line = facts.line
    columns = (line.spm_read_bytes, line.spm_write_bytes, line.macs, line.own_picojoules)
    own = [
        float(objective.of_mappings(*figures))
        for figures in zip(*(column.tolist() for column in columns), strict=True)
    ]
    loose: Floats = np.array(own) + facts.read_byte[STREAM_BANK] * facts.loose_read
    loose += facts.write_byte[STREAM_BANK] * facts.loose_write
    return loose


def _least(facts: BankCoefficients, duals: BankMultipliers) -> Floats:
    """Return (n,) the bound of each step at dual values, beside payments of tensors."""
    channel = duals.load + (duals.store if facts.duplex else 0.0) + duals.port.sum(axis=0)
    loose = facts.read_ratio[STREAM_BANK] * facts.loose_read
    loose = loose + facts.write_ratio[STREAM_BANK] * facts.loose_write
    least: Floats = (facts.byte_time - channel) * facts.computing_bytes
    least = least - facts.capacity_bytes @ duals.hold
    least += duals.hold.min(axis=0) * facts.scratch_bytes + duals.port[STREAM_BANK] * loose
    return least


def _residency_plan(
    problem: Problem,
    mappings: list[int],
    layout: list[list[tuple[int, ...]]],
    size: list[list[int]],
    stores: list[tuple[int, int, int]],
) -> ResidencyPlan:
    """Return the tables of layouts by step and tensor; pages that remain are in one row."""
    machine, steps = problem.machine, len(mappings)
    held, rows = [], []
    for tensor in range(len(problem.tensors)):
        own = [size[step][tensor] for step in range(steps)]
        held += [(tensor, begin, end, amount) for begin, end, amount in _runs(own) if amount]
        most = max(len(layout[step][tensor]) for step in range(steps))
        for page in range(most):
            where = [
                layout[step][tensor][page] if page < len(layout[step][tensor]) else -1
                for step in range(steps)
            ]
            rows += [
                (tensor, page, 1, bank, begin, end)
                for begin, end, bank in _runs(where)
                if bank >= 0
            ]
    for step, mapping in enumerate(mappings):
        needed = -(-problem.operations[step].mappings[mapping].scratch_bytes // machine.page_bytes)
        first = 0
        for bank, pages in enumerate(machine.bank_pages):
            free = pages - sum(own.count(bank) for own in layout[step])
            taken = min(free, needed - first)
            if taken:
                rows.append((_SCRATCH, first, taken, bank, step, step + 1))
                first += taken
    return ResidencyPlan(
        steps=Steps.listed(np.array(mappings, np.int64)),
        residency=Residency.of_rows(held),
        stores=Stores.of_rows(stores),
        banks=BankRows.of_rows(rows),
    )


def _runs(values: list[int]) -> list[tuple[int, int, int]]:
    """Return (begin, end, value) of equal neighbors."""
    edges = [0, *(k for k in range(1, len(values)) if values[k] != values[k - 1]), len(values)]
    return [(begin, end, values[begin]) for begin, end in pairwise(edges)]
