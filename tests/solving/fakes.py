"""Schedulers that do as they are told, in place of the solvers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
import pytest

from spmopt.core.objective import Objective
from spmopt.core.problem import Problem
from spmopt.core.result import Certificate, Result
from spmopt.core.scheduler import Request, Scheduler
from spmopt.schedulers import registry
from spmopt.schedulers.registry import SchedulerEntry
from tests.checked import need

Answer = Callable[[Problem, Request], Result]


def free(problem: Problem, objective: Objective) -> Certificate:
    """Dual values of zero: they prove the cost of computation alone."""
    zero = np.zeros(len(problem.operations), np.int64)
    return Certificate(objective=objective, bits=40, spm=zero, dram_in=zero, dram_out=zero)


@dataclass
class Fakes:
    """Registered schedulers by name, and the requests that they got."""

    answers: dict[str, Answer] = field(default_factory=dict)
    requests: dict[str, list[Request]] = field(default_factory=dict)

    def load(self, name: str) -> Scheduler:
        def scheduler(problem: Problem, request: Request) -> Result:
            self.requests.setdefault(name, []).append(request)
            return self.answers[name](problem, request)

        return scheduler


@dataclass(frozen=True, slots=True, kw_only=True)
class FakeEntry(SchedulerEntry):
    fakes: Fakes

    def load(self) -> Scheduler:
        return self.fakes.load(self.name)


_NAMES = {"lp_bound": "lp-bound", "whole": "residency:granularity=tensor"}


def install(monkeypatch: pytest.MonkeyPatch, **answers: Answer) -> Fakes:
    """Replace registered schedulers by ``answers``; those not given stay as they are.

    Keywords cannot hold ``:`` or ``-``: ``lp_bound`` and ``whole`` are names for them.
    """
    answers = {_NAMES.get(name, name): answer for name, answer in answers.items()}
    fakes = Fakes(answers=dict(answers))
    entries = dict(registry.SCHEDULERS)
    for name in answers:
        entry = entries[name]
        entries[name] = FakeEntry(
            fakes=fakes,
            **{slot: getattr(entry, slot) for slot in SchedulerEntry.__slots__ if slot != "alone"},
        )
    monkeypatch.setattr(registry, "SCHEDULERS", replace(registry.SCHEDULERS, own=entries))
    return fakes


def bounds_only(problem: Problem, request: Request) -> Result:
    """A relaxation that proves the cost of computation."""
    return Result(residency_plan=None, certificate=free(problem, request.objective))


def keeps_start(problem: Problem, request: Request) -> Result:
    """An optimizer that returns its start."""
    return Result(residency_plan=request.start, certificate=free(problem, request.objective))


def exact(result: Result) -> Fraction:
    return need(result.value)
