"""One problem while it is solved: the runs that other schedulers start from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from time import monotonic

from spmopt.core.errors import InfeasibleError, ScheduleError
from spmopt.core.order import other_order
from spmopt.core.problem import Problem
from spmopt.core.result import Result
from spmopt.core.scheduler import Request
from spmopt.schedulers.registry import Kind, SchedulerEntry, find, kind_of
from spmopt.solving.bounds import Bounds
from spmopt.solving.checked_calls import CheckedCalls

_Key = tuple[str, int, str]
"""Name, identity and granularity of a policy."""


class Case(CheckedCalls):
    """A problem, the request, and the results so far.

    Attributes
    ----------
    policies
        Results of policies, each of which runs once.
    listed
        The page-level result of the layer-by-layer problem.
    replayed
        Results of optimizers of steps, by name, valued by the replay.
    step_policies, steps
        Of an objective of the replay: results of policies with barriers between steps, and the
        last case with them that had all the time.
    failures
        Faults of schedulers of packages and users.
    """

    def __init__(self, problem: Problem, request: Request) -> None:
        super().__init__(problem, request)
        self.bounds = Bounds(self)
        self.policies: dict[_Key, Result] = {}
        self.listed: Result | None = None
        self.replayed: dict[str, Result] = {}
        self.step_policies: dict[_Key, Result] = {}
        self.steps: Case | None = None
        self.failures: list[ScheduleError] = []

    def layer_by_layer(self, request: Request, entry: SchedulerEntry) -> Case:
        """Return a case for the start of a fusion search; no policy runs again.

        It knows the starts of ``entry`` only: the result depends on no other scheduler that ran.
        """
        part = Case(self.problem, request)
        part.proved = self.proved
        starts = self.starts_of(entry)
        part.policies = {key: run for key, run in self.policies.items() if key[0] in starts}
        return part

    def with_barriers(self, request: Request) -> Case:
        """Return a case of the same problem, with barriers between steps, for a request."""
        part = Case(self.problem, request)
        part.policies = self.step_policies
        part.listed = None if self.steps is None else self.steps.listed
        return part

    def policy_run(self, entry: SchedulerEntry) -> Result:
        """Run a policy, unless it has run before."""
        key = _key(entry)
        if key not in self.policies:
            self.policies[key] = self.call(entry)
        return self.policies[key]

    def forget(self, entry: SchedulerEntry) -> None:
        """Let nothing start from a policy that is at fault."""
        self.policies.pop(_key(entry), None)

    def starts_of(self, entry: SchedulerEntry) -> list[str]:
        """Return the schedulers to start from that take this machine."""
        features = self.problem.machine.features
        return [name for name in entry.starts if find(name).takes_features(features)]

    def schedules_for(self, entry: SchedulerEntry, starts: Sequence[Result] = ()) -> list[Result]:
        """Return the schedules that an optimizer can start from, the best first.

        One that decides the order too also starts from schedules of optimizers.
        """
        if self.request.objective.replayed:
            # The replay compares schedules in any order, so that none is filtered by its order.
            known = list(self.policies.values())
            known += [each for each in self.replayed.values() if each.fused is None]
            known += [each for each in starts if kind_of(each.scheduler) is not Kind.POLICY]
        else:
            pages = "page" if entry.granularity == "contiguous" else entry.granularity
            # Whole-tensor schedules are legal starts at any granularity, page-level ones are not.
            able = (each for key, each in self.policies.items() if key[2] in ("tensor", pages))
            known = [each for each in able if each.order is None]
        valued = [(each.value, each) for each in known if each.value is not None]
        return [each for _, each in sorted(valued, key=lambda pair: pair[0])]

    def attempt(self, entry: SchedulerEntry) -> list[Result]:
        """Return one attempt of the first policy that an optimizer starts from; not verified."""
        free = self.request.objective.replayed  # its optimizer decides the order too
        for name in self.starts_of(entry)[:1]:
            self.request.report(f"{name}: one attempt", None)
            # No time: a policy then returns its first attempt, in place of a search over its
            # options.
            at_once = replace(self.request, time_limit_s=0.0, started=monotonic())
            try:
                found = find(name).load()(self.remainder.problem, at_once)
            except InfeasibleError:
                continue
            plan = found.residency_plan
            if plan is not None and (free or other_order(plan.steps.operation) is None):
                return [Result(residency_plan=plan)]
        return []


def _key(entry: SchedulerEntry) -> _Key:
    """Tell policies apart that bear one name, as all lambdas do."""
    # Targets given by text are unique by name; callables are unique by identity only.
    own = 0 if isinstance(entry.target, str) else id(entry.target)
    return entry.name, own, entry.granularity
