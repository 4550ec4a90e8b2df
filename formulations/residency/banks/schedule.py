"""Scheduler ``banks``: residency in pages of a scratchpad of several banks, with its bound."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction

import numpy as np

from formulations.residency.banks.assign import Assignment, assign
from formulations.residency.banks.facts import BankCoefficients
from formulations.residency.banks.first_fit import all_in, first_fit
from formulations.residency.banks.labels import cheapest, few
from formulations.residency.banks.layout import bank_rows
from formulations.residency.banks.prices import BankMultipliers, certificate
from formulations.residency.banks.relaxation import Relaxation
from formulations.residency.banks.retention import Retention
from formulations.residency.banks.value import plan_value
from formulations.residency.page import rounded
from spmopt.assemble.cost import plan_cost
from spmopt.core.errors import InfeasibleError, InputError
from spmopt.core.instance import Instance
from spmopt.core.machine import Bank
from spmopt.core.modes import SEVERAL_MODES
from spmopt.core.objective import Objective
from spmopt.core.result import Outcome
from spmopt.core.schedule import Plan
from spmopt.core.scheduler import Request
from spmopt.core.timeline import fitting_timeline, timeline

_FOR_PAGES = 0.3
_FOR_PROGRAM = 0.5
_FOR_ONE_BANK = 0.05
_FOR_BANKS = 0.5
_PARTS = (1.0, 0.5, 0.25)
"""Shares of the time for a plan that knows no banks, for the program that does, for a plan of each
bank alone, and for the banks of all plans; parts of the time that banks keep contents, which plans
of their own wait at most."""
_NO_BANKS = (
    "scheduler banks: the machine has no banks; give some by --bank, or use the scheduler page"
)


def schedule(instance: Instance, request: Request) -> Outcome:
    """Decide which pages stay, in which bank, and when they move, by least cost; with a bound.

    The bound is that of the program in bytes (:mod:`formulations.residency.banks.relaxation`). Of
    several plans (its own rounded to pages, that of the scheduler ``page`` for one bank of the
    same size, that for each bank alone, those to start from) each gets its banks from an integer
    program; the cheapest is taken. Small instances are searched step by step beyond that.

    Raises
    ------
    InputError
        The machine has no banks.
    InfeasibleError
        An operation's stationary operands and scratch do not fit the scratchpad.
    """
    if not instance.machine.banks:
        raise InputError(_NO_BANKS)
    line = fitting_timeline(instance)
    plans = [plan for plan in (request.start, *request.others) if plan is not None][:2]
    first = _without_banks(instance, request)
    relaxation = Relaxation(instance, request, line)
    if first.plan is not None:
        plans.append(first.plan)
    if first.certificate is not None:
        relaxation.offer(first.certificate)
    rounded = relaxation.run(request.share(_FOR_PROGRAM))
    plans += [] if rounded is None else [rounded]
    if first.plan is not None:
        plans += _lasting(instance, request, relaxation, first.plan)
    alone = _plans_of_one_bank(instance, request)
    plans = [plan for _, plan in alone] + plans
    found = _Best(instance, request)
    for number, plan in enumerate(reversed(plans)):
        request.report(f"banks of plan {number + 1} of {len(plans)}", None)
        found.offer(plan, _FOR_BANKS / len(plans))
    for bank, plan in alone:
        found.offer_in(bank, plan)
    found.improve(relaxation.prices)
    return Outcome(
        plan=found.plan,
        certificate=certificate(instance, request.objective, relaxation.facts, relaxation.prices),
        notes=(SEVERAL_MODES,) if instance.several_modes else (),
        cut_short=relaxation.cut_short,
    )


def bounded(instance: Instance, request: Request) -> Outcome:
    """Return the bound alone, as the scheduler ``fluid`` has it of a uniform scratchpad."""
    line = fitting_timeline(instance)
    relaxation = Relaxation(instance, request, line)
    relaxation.run(request)
    return Outcome(
        plan=None,
        certificate=certificate(instance, request.objective, relaxation.facts, relaxation.prices),
        cut_short=relaxation.cut_short,
    )


def _lasting(
    instance: Instance, request: Request, relaxation: Relaxation, usual: Plan
) -> list[Plan]:
    """Return plans with less that must last, where banks forget.

    Some keep little in banks that forget from one use to the next, as long as in the ``usual``
    plan; the last one fits the banks that do not, and so is legal whatever lies where.
    """
    machine, retention = instance.machine, Retention(instance.machine)
    if not retention.binds:
        return []
    line = timeline(instance, usual.steps)
    step_cycles = plan_cost(machine, line, usual).step_time.astype(np.float64)
    plans = [
        relaxation.lasting(request.share(_FOR_PAGES), Retention(machine, part), step_cycles)
        for part in _PARTS
    ]
    pages = retention.lasting_pages
    if pages:
        with suppress(InfeasibleError):
            plans.append(_without_banks(instance, request, pages).plan)
    return [plan for plan in plans if plan is not None]


def _without_banks(instance: Instance, request: Request, pages: int | None = None) -> Outcome:
    """Return a plan and prices for one bank, with energies between the banks'.

    It has ``pages``, or as many as all banks.
    """
    objective = merged(request.objective, instance.machine.banks)
    pages = pages or instance.machine.spm_pages
    return _uniform(instance, request.share(_FOR_PAGES), objective, pages)


def _plans_of_one_bank(instance: Instance, request: Request) -> list[tuple[int, Plan]]:
    """Return plans that have each bank alone, where it is large enough and forgets nothing."""
    limits = instance.machine.retention_cycles
    if len(limits) == 1 or request.remaining_s() <= 0:
        return []
    plans = [
        (bank, _in_one_bank(instance, request, bank))
        for bank, limit in enumerate(limits)
        if limit is None
    ]
    return [(bank, plan) for bank, plan in plans if plan is not None]


def _in_one_bank(instance: Instance, request: Request, bank: int) -> Plan | None:
    """Return a plan that has one bank alone, with its energies; None if that is too small."""
    machine, objective = instance.machine, request.objective
    if objective.bank_read_byte:
        own = slice(bank, bank + 1)
        read, write = objective.bank_read_byte[own], objective.bank_write_byte[own]
        objective = replace(objective, bank_read_byte=read, bank_write_byte=write)
    objective = merged(objective, machine.banks[bank : bank + 1])
    part = request.share(_FOR_ONE_BANK)
    try:
        return _uniform(instance, part, objective, machine.bank_pages[bank]).plan
    except InfeasibleError:
        return None


def _uniform(instance: Instance, request: Request, objective: Objective, pages: int) -> Outcome:
    """Return what the scheduler ``page`` finds for a uniform scratchpad, without enumeration."""
    machine = instance.machine
    whole = replace(machine, spm_bytes=pages * machine.page_bytes, banks=())
    return rounded(
        replace(instance, machine=whole),
        replace(
            request.part(bounds=False),
            objective=objective,
            start=None,
            others=(),
            prices=None,
        ),
    )


class _Best:
    """The cheapest plan so far, its banks given."""

    def __init__(self, instance: Instance, request: Request) -> None:
        self._instance = instance
        self._request = request
        self._value: Fraction | float = np.inf
        retention = Retention(instance.machine)
        self._retention = retention if retention.binds else None
        self.plan: Plan | None = None

    def offer(self, plan: Plan, share: float) -> None:
        """Give the pages of a plan their banks, in a share of the time limit; keep the cheapest."""
        instance, objective = self._instance, self._request.objective
        line = timeline(instance, plan.steps)
        facts = BankCoefficients(instance, line, objective, relaxed=False)
        cost = plan_cost(instance.machine, line, plan)
        if self._request.remaining_s() > 0 or self.plan is None:
            chosen = assign(facts, plan, cost, self._request.share(share), self._retention)
            if chosen is not None:
                self._keep(plan, chosen)
        if self._retention is None:  # else without a choice it may not be legal
            self._keep(plan, first_fit(facts, plan))

    def offer_in(self, bank: int, plan: Plan) -> None:
        """Keep a plan, all of it in one bank, if it is the cheapest."""
        line = timeline(self._instance, plan.steps)
        facts = BankCoefficients(self._instance, line, self._request.objective, relaxed=False)
        self._keep(plan, all_in(facts, plan, bank))

    def improve(self, prices: BankMultipliers) -> None:
        """Search small instances step by step."""
        if self._retention is not None or not few(self._instance):
            return
        plan = cheapest(self._instance, self._request, prices, float(self._value))
        if plan is not None:
            self._offer_banked(plan)

    def _keep(self, plan: Plan, chosen: Assignment) -> None:
        self._offer_banked(replace(plan, banks=bank_rows(chosen)))

    def _offer_banked(self, plan: Plan) -> None:
        value = plan_value(self._instance, plan, self._request.objective)
        if self.plan is None or value < self._value:
            self.plan, self._value = plan, value
            self._request.report_incumbent(value=value)


def merged(objective: Objective, banks: Sequence[Bank]) -> Objective:
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
