"""The best certified bound of each order, of a fusion plan, and over the fusion space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial

from spmopt.core.order import reorder
from spmopt.core.result import INTERRUPTED, OUT_OF_TIME, Certificate
from spmopt.core.table import Ints
from spmopt.schedulers.registry import BOUNDER, find
from spmopt.solving.checked_calls import CheckedCalls
from spmopt.solving.records import Bound, Key, Proof, Run, order_key, proofs_of
from spmopt.verifier import bound
from spmopt.verifier.fusion_bound import fusion_bound


class Bounds:
    """Bounds on schedules of one problem, by what runs prove and what the relaxation does."""

    def __init__(self, calls: CheckedCalls) -> None:
        self._calls = calls
        self._of_steps: dict[str, Certificate] = {}  # to begin those of the replay from

    def keep_duals(self, run: Run | None) -> None:
        """Keep dual values of steps that a run has found."""
        if run is not None and run.outcome is not None and run.outcome.certificate is not None:
            self._of_steps[run.entry.name] = run.outcome.certificate

    def best_bounds(self, runs: Sequence[Run]) -> dict[Key, Bound]:
        """Evaluate every certificate exactly; the best one of each order.

        The relaxation is asked for one of each order that has schedules but no certificate.
        """
        proofs: dict[Key, list[Proof]] = {}
        for proof in proofs_of(runs):
            proofs.setdefault(order_key(proof[0].order), []).append(proof)
        for run in runs:
            known = run.fusion is not None or order_key(run.order) in proofs
            if run.legal is not None and not known:
                proofs[order_key(run.order)] = self._relax(
                    run.order, self._of_steps.get(run.entry.name)
                )
        best = {key: self._best(found) for key, found in proofs.items()}
        return {key: bound for key, bound in best.items() if bound is not None}

    def bound_of_fusion_plan(self, run: Run) -> Bound | None:
        """Evaluate what a run proves of the problem of its fusion plan."""
        if run.fusion is None or run.outcome is None:
            return None
        if self._calls.request.objective.replayed:
            request = self._calls.request.part(bounds=False)
            on = Bounds(CheckedCalls(run.fusion.problem, request, self._calls.params))
            return on._best(on._relax(None, self._of_steps.get(run.entry.name)))
        problem, certificate = run.fusion.problem, run.outcome.certificate
        if certificate is None:
            return None
        value = self._calls.proved(lambda: bound(problem, certificate))
        if value is None:
            return None
        cut_short = (INTERRUPTED if self._calls.request.stop() else OUT_OF_TIME,)
        notes = cut_short if run.outcome.cut_short else ()
        return Bound(value=value, certificate=certificate, notes=notes)

    def bound_of_fusion_plans(self, runs: Sequence[Run]) -> Fraction | None:
        """Evaluate what runs prove of all fusion plans, exactly; the best of it."""
        found = list[Fraction]()
        for fusion in (run.fusion for run in runs if run.fusion is not None):
            if fusion.certificate is not None:
                self._calls.request.report("checking the bound over the fusion space", None)
                evaluate = partial(fusion_bound, fusion.tileable, fusion.certificate)
                value = self._calls.proved(evaluate)
                found += [] if value is None else [value]
        return max(found, default=None)

    def _relax(self, order: Ints | None, duals: Certificate | None = None) -> list[Proof]:
        if order is None:
            return proofs_of([self._calls.call(find(BOUNDER), duals=duals)])
        request = self._calls.request.part(bounds=False)  # news are of the listed order
        problem = reorder(self._calls.problem, order)
        on = CheckedCalls(problem, request, self._calls.params)
        found = proofs_of([on.call(find(BOUNDER))])
        return [(replace(certificate, order=order), cut_short) for certificate, cut_short in found]

    def _best(self, proofs: Sequence[Proof]) -> Bound | None:
        """The best one; a search that was finished leaves little to be raised by the others."""
        evaluated = [self._calls.evaluate(certificate) for certificate, _ in proofs]
        found = [each for each in evaluated if each is not None]
        if not found:
            return None
        best = max(found, key=lambda each: each.value)
        if not all(cut_short for _, cut_short in proofs):
            return best
        return replace(best, notes=(INTERRUPTED if self._calls.request.stop() else OUT_OF_TIME,))
