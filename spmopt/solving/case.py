"""One problem while it is solved: the runs that other schedulers start from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Self

from spmopt.core.errors import InfeasibleError
from spmopt.core.order import other_order
from spmopt.core.problem import Problem
from spmopt.core.schedule import ResidencyPlan
from spmopt.core.scheduler import Request
from spmopt.schedulers.registry import Kind, SchedulerEntry, find
from spmopt.solving.bounds import Bounds
from spmopt.solving.checked_calls import CheckedCalls
from spmopt.solving.params import SolveParams
from spmopt.solving.records import Run, VerifiedSchedule

_Key = tuple[str, int]


@dataclass(kw_only=True)
class Case:
    """A problem, the request, and the runs so far.

    Attributes
    ----------
    policies
        Runs of policies, each of which runs once.
    listed
        The page-level run of the layer-by-layer problem.
    replayed
        Runs of optimizers of steps, by name, valued by the replay.
    step_policies, steps
        Of an objective of the replay: runs of policies with barriers between steps, and the last
        case with them that had all the time.
    """

    calls: CheckedCalls
    bounds: Bounds
    policies: dict[_Key, Run] = field(default_factory=dict)
    listed: Run | None = None
    replayed: dict[str, Run] = field(default_factory=dict)
    step_policies: dict[_Key, Run] = field(default_factory=dict)
    steps: Case | None = None

    @classmethod
    def of(cls, problem: Problem, request: Request, params: SolveParams) -> Self:
        """Return a case without runs."""
        calls = CheckedCalls(problem, request, params)
        return cls(calls=calls, bounds=Bounds(calls))

    @property
    def problem(self) -> Problem:
        """The problem itself."""
        return self.calls.problem

    @property
    def request(self) -> Request:
        """Objective, limits and callbacks."""
        return self.calls.request

    def layer_by_layer(self, request: Request, entry: SchedulerEntry) -> Case:
        """Return a case for the start of a fusion search; no policy runs again.

        It knows the starts of ``entry`` only: the result depends on no other scheduler that ran.
        """
        part = Case.of(self.problem, request, self.calls.params)
        starts = self.starts_of(entry)
        part.policies = {key: run for key, run in self.policies.items() if key[0] in starts}
        return part

    def with_barriers(self, request: Request) -> Case:
        """Return a case of the same problem, with barriers between steps, for a request."""
        part = Case.of(self.problem, request, self.calls.params)
        part.policies = self.step_policies
        part.listed = None if self.steps is None else self.steps.listed
        return part

    def policy_run(self, entry: SchedulerEntry) -> Run:
        """Run a policy, unless it has run before."""
        key = _key(entry)
        if key not in self.policies:
            self.policies[key] = self.calls.call(entry)
        return self.policies[key]

    def forget(self, entry: SchedulerEntry) -> None:
        """Let nothing start from a policy that is at fault."""
        self.policies.pop(_key(entry), None)

    def starts_of(self, entry: SchedulerEntry) -> list[str]:
        """Return the schedulers to start from that take this machine."""
        features = self.problem.machine.features
        return [name for name in entry.starts if find(name).takes_features(features)]

    def schedules_for(
        self, entry: SchedulerEntry, starts: Sequence[Run] = ()
    ) -> list[VerifiedSchedule]:
        """Return the schedules that an optimizer can start from, the best first.

        One that decides the order too starts from those of optimizers as well.
        """
        runs = list(self.policies.values())
        if self.request.objective.replayed:
            runs += [run for run in self.replayed.values() if run.fusion is None]
            runs += [run for run in starts if run.entry.kind is not Kind.POLICY]
        else:
            pages = "page" if entry.granularity == "contiguous" else entry.granularity
            kept = "whole", pages
            runs = [run for run in runs if run.entry.granularity in kept and run.order is None]
        legal = [run.legal for run in runs if run.legal is not None]
        return sorted(legal, key=lambda schedule: schedule.value)

    def attempt(self, entry: SchedulerEntry) -> list[ResidencyPlan]:
        """Return one attempt of the first policy that an optimizer starts from; not verified."""
        free = self.request.objective.replayed  # its optimizer decides the order too
        for name in self.starts_of(entry)[:1]:
            self.request.report(f"{name}: one attempt", None)
            run_parallel = replace(self.request, time_limit_s=0.0, started=monotonic())
            try:
                residency_plan = (
                    find(name).load()(self.calls.remainder.problem, run_parallel).residency_plan
                )
            except InfeasibleError:
                continue
            if residency_plan is not None and (
                free or other_order(residency_plan.steps.operation) is None
            ):
                return [residency_plan]
        return []


def _key(entry: SchedulerEntry) -> _Key:
    """Tell policies apart that bear one name, as all lambdas do."""
    return entry.name, 0 if isinstance(entry.target, str) else id(entry.target)
