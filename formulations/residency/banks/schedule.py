"""Scheduler ``banks``: residency in pages of a scratchpad of several banks, with its bound."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction

import numpy as np

from formulations.residency.banks.assign import Assignment, assign
from formulations.residency.banks.duals import BankMultipliers, certificate
from formulations.residency.banks.facts import BankCoefficients
from formulations.residency.banks.first_fit import all_in, first_fit
from formulations.residency.banks.labels import cheapest, is_small
from formulations.residency.banks.layout import bank_rows
from formulations.residency.banks.relaxation import Relaxation
from formulations.residency.banks.retention import Retention
from formulations.residency.banks.value import residency_plan_value
from formulations.residency.page import round_values
from spmopt.assemble.cost import residency_plan_cost
from spmopt.core.errors import InfeasibleError, InputError
from spmopt.core.machine import Bank
from spmopt.core.mappings import SEVERAL_MAPPINGS
from spmopt.core.objective import Objective
from spmopt.core.problem import Problem
from spmopt.core.result import Result
from spmopt.core.schedule import ResidencyPlan
from spmopt.core.scheduler import Request
from spmopt.core.timeline import fitting_timeline, timeline

_FOR_PAGES = 0.3
_FOR_PROGRAM = 0.5
_FOR_ONE_BANK = 0.05
_FOR_BANKS = 0.5
_PARTS = (1.0, 0.5, 0.25)
"""Shares of the time for a plan that knows no banks, for the program that does, for a plan of each
bank alone, and for the banks of all residency plans; parts of the time that banks keep contents,
which plans of their own wait at most."""
_NO_BANKS = (
    "scheduler banks: the machine has no banks; give some by --bank, or use the scheduler residency"
)


def schedule(problem: Problem, request: Request) -> Result:
    """Decide which pages remain, in which bank, and when they move, by least cost; with a bound.

    The bound is that of the program in bytes (:mod:`formulations.residency.banks.relaxation`). Of
    several plans (its own rounded to pages, that of the scheduler ``page`` for one bank of the
    same size, that for each bank alone, those to start from) each gets its banks from an integer
    program; the cheapest is taken. Small problems are searched step by step beyond that.

    Raises
    ------
    InputError
        The machine has no banks.
    InfeasibleError
        An operation's required-resident operands and scratch do not fit the scratchpad.
    """
    if not problem.machine.banks:
        raise InputError(_NO_BANKS)
    line = fitting_timeline(problem)
    residency_plans = [
        residency_plan
        for residency_plan in (request.start, *request.others)
        if residency_plan is not None
    ][:2]
    first = _without_banks(problem, request)
    relaxation = Relaxation(problem, request, line)
    if first.residency_plan is not None:
        residency_plans.append(first.residency_plan)
    if first.certificate is not None:
        relaxation.offer(first.certificate)
    rounded = relaxation.run(request.share(_FOR_PROGRAM))
    residency_plans += [] if rounded is None else [rounded]
    if first.residency_plan is not None:
        residency_plans += _lasting(problem, request, relaxation, first.residency_plan)
    alone = _residency_plans_of_one_bank(problem, request)
    residency_plans = [residency_plan for _, residency_plan in alone] + residency_plans
    found = _Best(problem, request)
    for number, residency_plan in enumerate(reversed(residency_plans)):
        request.report(f"banks of residency plan {number + 1} of {len(residency_plans)}", None)
        found.offer(residency_plan, _FOR_BANKS / len(residency_plans))
    for bank, residency_plan in alone:
        found.offer_in(bank, residency_plan)
    found.improve(relaxation.duals)
    return Result(
        residency_plan=found.residency_plan,
        certificate=certificate(problem, request.objective, relaxation.facts, relaxation.duals),
        notes=(SEVERAL_MAPPINGS,) if problem.several_mappings else (),
        cut_short=relaxation.cut_short,
    )


def bound(problem: Problem, request: Request) -> Result:
    """Return the bound alone, as the scheduler ``fluid`` has it of a uniform scratchpad."""
    line = fitting_timeline(problem)
    relaxation = Relaxation(problem, request, line)
    relaxation.run(request)
    return Result(
        residency_plan=None,
        certificate=certificate(problem, request.objective, relaxation.facts, relaxation.duals),
        cut_short=relaxation.cut_short,
    )


def _lasting(
    problem: Problem, request: Request, relaxation: Relaxation, usual: ResidencyPlan
) -> list[ResidencyPlan]:
    """Return plans with less that must last, where banks forget.

    Some keep little in banks that forget from one use to the next, as long as in the ``usual``
    plan; the last one fits the banks that do not, and so is legal whatever lies where.
    """
    machine, retention = problem.machine, Retention(problem.machine)
    if not retention.binds:
        return []
    line = timeline(problem, usual.steps)
    step_cycles = residency_plan_cost(machine, line, usual).step_time.astype(np.float64)
    residency_plans = [
        relaxation.lasting(request.share(_FOR_PAGES), Retention(machine, part), step_cycles)
        for part in _PARTS
    ]
    pages = retention.lasting_pages
    if pages:
        with suppress(InfeasibleError):
            residency_plans.append(_without_banks(problem, request, pages).residency_plan)
    return [residency_plan for residency_plan in residency_plans if residency_plan is not None]


def _without_banks(problem: Problem, request: Request, pages: int | None = None) -> Result:
    """Return a residency plan and dual values for one bank, with energies between the banks'.

    It has ``pages``, or as many as all banks.
    """
    objective = merge(request.objective, problem.machine.banks)
    pages = pages or problem.machine.spm_pages
    return _uniform(problem, request.share(_FOR_PAGES), objective, pages)


def _residency_plans_of_one_bank(
    problem: Problem, request: Request
) -> list[tuple[int, ResidencyPlan]]:
    """Return plans that have each bank alone, where it is large enough and forgets nothing."""
    limits = problem.machine.retention_cycles
    if len(limits) == 1 or request.remaining_s() <= 0:
        return []
    residency_plans = [
        (bank, _in_one_bank(problem, request, bank))
        for bank, limit in enumerate(limits)
        if limit is None
    ]
    return [
        (bank, residency_plan)
        for bank, residency_plan in residency_plans
        if residency_plan is not None
    ]


def _in_one_bank(problem: Problem, request: Request, bank: int) -> ResidencyPlan | None:
    """Return a plan that has one bank alone, with its energies; None if that is too small."""
    machine, objective = problem.machine, request.objective
    if objective.bank_read_byte:
        own = slice(bank, bank + 1)
        read, write = objective.bank_read_byte[own], objective.bank_write_byte[own]
        objective = replace(objective, bank_read_byte=read, bank_write_byte=write)
    objective = merge(objective, machine.banks[bank : bank + 1])
    part = request.share(_FOR_ONE_BANK)
    try:
        return _uniform(problem, part, objective, machine.bank_pages[bank]).residency_plan
    except InfeasibleError:
        return None


def _uniform(problem: Problem, request: Request, objective: Objective, pages: int) -> Result:
    """Return the result of the scheduler ``page`` for a uniform scratchpad, without enumeration."""
    machine = problem.machine
    whole = replace(machine, spm_bytes=pages * machine.page_bytes, banks=())
    return round_values(
        replace(problem, machine=whole),
        replace(
            request.part(bounds=False),
            objective=objective,
            start=None,
            others=(),
            duals=None,
        ),
    )


class _Best:
    """The cheapest plan so far, its banks given."""

    def __init__(self, problem: Problem, request: Request) -> None:
        self._problem = problem
        self._request = request
        self._value: Fraction | float = np.inf
        retention = Retention(problem.machine)
        self._retention = retention if retention.binds else None
        self.residency_plan: ResidencyPlan | None = None

    def offer(self, residency_plan: ResidencyPlan, share: float) -> None:
        """Give the pages of a plan their banks, in a share of the time limit; keep the cheapest."""
        problem, objective = self._problem, self._request.objective
        line = timeline(problem, residency_plan.steps)
        facts = BankCoefficients(problem, line, objective, relaxed=False)
        cost = residency_plan_cost(problem.machine, line, residency_plan)
        if self._request.remaining_s() > 0 or self.residency_plan is None:
            chosen = assign(
                facts, residency_plan, cost, self._request.share(share), self._retention
            )
            if chosen is not None:
                self._keep(residency_plan, chosen)
        if self._retention is None:  # else without a choice it may not be legal
            self._keep(residency_plan, first_fit(facts, residency_plan))

    def offer_in(self, bank: int, residency_plan: ResidencyPlan) -> None:
        """Keep a residency plan, all of it in one bank, if it is the cheapest."""
        line = timeline(self._problem, residency_plan.steps)
        facts = BankCoefficients(self._problem, line, self._request.objective, relaxed=False)
        self._keep(residency_plan, all_in(facts, residency_plan, bank))

    def improve(self, duals: BankMultipliers) -> None:
        """Search small problems step by step."""
        if self._retention is not None or not is_small(self._problem):
            return
        residency_plan = cheapest(self._problem, self._request, duals, float(self._value))
        if residency_plan is not None:
            self._offer_banked(residency_plan)

    def _keep(self, residency_plan: ResidencyPlan, chosen: Assignment) -> None:
        self._offer_banked(replace(residency_plan, banks=bank_rows(chosen)))

    def _offer_banked(self, residency_plan: ResidencyPlan) -> None:
        value = residency_plan_value(self._problem, residency_plan, self._request.objective)
        if self.residency_plan is None or value < self._value:
            self.residency_plan, self._value = residency_plan, value
            self._request.report_incumbent(value=value)


def merge(objective: Objective, banks: Sequence[Bank]) -> Objective:
    """Return the weights of a uniform scratchpad: of each bank's weights the mean by size."""
    if not objective.bank_read_byte:
        return objective
    read = _mean(objective.bank_read_byte, banks)
    write = _mean(objective.bank_write_byte, banks)
    return replace(
        objective,
        dram_in_byte=objective.dram_in_byte + write,
        dram_out_byte=objective.dram_out_byte + read,
        spm_read_byte=objective.spm_read_byte + read,
        spm_write_byte=objective.spm_write_byte + write,
        bank_read_byte=(),
        bank_write_byte=(),
    )


def _mean(weights: tuple[Fraction, ...], banks: Sequence[Bank]) -> Fraction:
    sizes = [bank.spm_bytes for bank in banks]
    total: Fraction = sum(
        (weight * size for weight, size in zip(weights, sizes, strict=True)), Fraction(0)
    )
    return total / sum(sizes)
