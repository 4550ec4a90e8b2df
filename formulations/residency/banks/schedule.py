"""Scheduler ``banks``: residency in pages of a scratchpad of several banks, with its bound."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate, pairwise

import numpy as np

from formulations.residency.banks.duals import BankMultipliers, certificate
from formulations.residency.banks.facts import BankCoefficients
from formulations.residency.banks.labels import label, optimum
from formulations.residency.banks.relaxation import Relaxed, relax
from formulations.residency.banks.retention import Retention
from formulations.residency.banks.value import residency_plan_value
from formulations.residency.page import round_values
from spmopt.assemble.addresses import place
from spmopt.core.errors import InfeasibleError, InputError
from spmopt.core.machine import Bank
from spmopt.core.mappings import SEVERAL_MAPPINGS
from spmopt.core.objective import Objective
from spmopt.core.problem import Problem
from spmopt.core.result import Certificate, Result
from spmopt.core.schedule import BankRows, ResidencyPlan
from spmopt.core.scheduler import Request
from spmopt.core.timeline import fitting_timeline, relax_timeline, timeline

_NO_BANKS = (
    "scheduler banks: the machine has no banks; give some by --bank, or use the scheduler residency"
)


def schedule(problem: Problem, request: Request) -> Result:
    """Decide which pages remain, in which bank, and when they move, by least cost; with a bound.

    The bound is that of the linear relaxation. Of several plans (its own rounded to pages, that of
    the scheduler ``residency`` for one bank of the same size, those to start from) each gets its
    banks from an integer program; the cheapest is taken. Small problems are solved as one integer
    program beyond that.

    Raises
    ------
    InputError
        The machine has no banks.
    InfeasibleError
        An operation's required-resident operands and scratch do not fit the scratchpad.
    """
    if not problem.machine.banks:
        raise InputError(_NO_BANKS)
    retention = Retention(problem.machine)
    for_program, for_pages, _ = request.params.residency.bank_fractions
    facts, relaxed = _relax(problem, request.share(for_program))
    uniform = _uniform(problem, request.share(for_pages), problem.machine.spm_pages)
    plans = [*(relaxed.residency_plans if relaxed else ()), uniform.residency_plan]
    if retention.binds and retention.lasting_pages:
        # Legal whatever lies where.
        with suppress(InfeasibleError):
            lasting = _uniform(problem, request.share(for_pages), retention.lasting_pages)
            plans.append(lasting.residency_plan)
    plans += [request.start, *request.others][:2]
    best: ResidencyPlan | None = None
    value: Fraction | float = np.inf
    known = [plan for plan in plans if plan is not None]
    for plan in _label_plans(problem, request, known, lasting=not retention.binds):
        now = residency_plan_value(problem, plan, request.objective)
        if now < value:
            best, value = plan, now
            request.report_incumbent(value=value)
    duals = relaxed.duals if relaxed else _without_banks(facts, uniform.certificate)
    return Result(
        residency_plan=best,
        certificate=certificate(problem, request.objective, facts, duals),
        notes=(SEVERAL_MAPPINGS,) if problem.several_mappings else (),
        cut_short=request.remaining_s() <= 0,
    )


def bound(problem: Problem, request: Request) -> Result:
    """Return the bound alone, as the scheduler ``lp-bound`` has it of a uniform scratchpad."""
    facts, relaxed = _relax(problem, request)
    if relaxed is None:
        # Too large: the duals of one bank of all pages, which the scheduler has.
        return replace(schedule(problem, request), residency_plan=None)
    proof = certificate(problem, request.objective, facts, relaxed.duals)
    return Result(residency_plan=None, certificate=proof, cut_short=request.remaining_s() <= 0)


def _relax(problem: Problem, request: Request) -> tuple[BankCoefficients, Relaxed | None]:
    # Raises InfeasibleError, which no linear program would explain.
    line = fitting_timeline(problem)
    facts = BankCoefficients(problem, relax_timeline(problem), request.objective, relaxed=True)
    return facts, relax(problem, request, facts, line)


def _without_banks(facts: BankCoefficients, proof: Certificate | None) -> BankMultipliers:
    """Return dual values that know no banks: the same in each of them."""
    nothing = np.zeros((facts.bank_count, facts.line.steps))
    if proof is None:
        return BankMultipliers(hold=nothing, load=nothing[0], store=nothing[0], port=nothing)
    spm, load, store = (
        np.ldexp(each.astype(np.float64), -proof.bits)
        for each in (proof.spm, proof.dram_in, proof.dram_out)
    )
    return BankMultipliers.legal(facts, hold=nothing + spm, load=load, store=store, port=nothing)


def _uniform(problem: Problem, request: Request, pages: int) -> Result:
    """Return the result of the scheduler ``residency`` for one bank of some pages.

    Its energies are between those of the banks.
    """
    machine = problem.machine
    whole = replace(machine, spm_bytes=pages * machine.page_bytes, banks=())
    return round_values(
        replace(problem, machine=whole),
        replace(
            request.part(bounds=False),
            objective=merge(request.objective, machine.banks),
            start=None,
            others=(),
            duals=None,
        ),
    )


def _label_plans(
    problem: Problem, request: Request, plans: Sequence[ResidencyPlan], *, lasting: bool
) -> Iterator[ResidencyPlan]:
    """Yield plans with their banks, and the best one of a small problem.

    ``lasting``: banks forget nothing.
    """
    for number, plan in enumerate(plans):
        request.report(f"banks of residency plan {number + 1} of {len(plans)}", None)
        found = None
        if request.remaining_s() > 0:
            share = request.params.residency.bank_fractions[-1] / len(plans)
            found = label(problem, request.share(share), plan)
        if found is None and lasting:  # else it may not be legal
            found = replace(plan, banks=first_fit(problem, plan))
        if found is not None:
            yield found
    if lasting and request.remaining_s() > 0:
        found = optimum(problem, request, fitting_timeline(problem))
        if found is not None:
            yield found


def first_fit(problem: Problem, plan: ResidencyPlan) -> BankRows:
    """Return the banks of a plan's pages where one scratchpad of all banks has room for them.

    Pages stay where they begin, so that pages free as they come are free until they leave.
    """
    edges = [0, *accumulate(problem.machine.bank_pages)]
    # Addresses that run over the end of a bank are cut there.
    placed = place(problem.machine, timeline(problem, plan.steps), plan.residency)
    rows = []
    for tensor, page, pages, address, begin, end in placed.rows():
        for bank, (low, high) in enumerate(pairwise(edges)):
            first, last = max(address, low), min(address + pages, high)
            if first < last:
                rows.append((tensor, page + first - address, last - first, bank, begin, end))
    return BankRows.of_rows(rows)


def merge(objective: Objective, banks: Sequence[Bank]) -> Objective:
    """Return the weights of a uniform scratchpad: of each bank's weights the mean by size."""
    if not objective.bank_read_byte:
        return objective
    sizes = [bank.spm_bytes for bank in banks]
    read, write = (
        sum((w * size for w, size in zip(weights, sizes, strict=True)), Fraction(0)) / sum(sizes)
        for weights in (objective.bank_read_byte, objective.bank_write_byte)
    )
    return replace(
        objective,
        dram_in_byte=objective.dram_in_byte + write,
        dram_out_byte=objective.dram_out_byte + read,
        spm_read_byte=objective.spm_read_byte + read,
        spm_write_byte=objective.spm_write_byte + write,
        bank_read_byte=(),
        bank_write_byte=(),
    )
