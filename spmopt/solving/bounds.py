"""The best certified bound of each order, of a fusion plan, and over the fusion space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial

from spmopt.core.order import order_key, reorder
from spmopt.core.result import INTERRUPTED, OUT_OF_TIME, Certificate, Result
from spmopt.core.table import Ints
from spmopt.schedulers.registry import BOUNDER, find
from spmopt.solving.checked_calls import CheckedCalls
from spmopt.solving.records import Bound
from spmopt.verifier import bound


class Bounds:
    """Bounds on schedules of one problem, from certificates of results and the relaxation."""

    def __init__(self, calls: CheckedCalls) -> None:
        self._calls = calls
        self._of_steps: dict[str, Certificate] = {}  # to begin those of the replay from

    def keep_duals(self, result: Result | None) -> None:
        """Keep dual values of steps that a scheduler has found."""
        if result is not None and result.certificate is not None:
            self._of_steps[result.scheduler] = result.certificate

    def best_bounds(self, results: Sequence[Result]) -> dict[bytes | None, Bound]:
        """Evaluate every certificate exactly; the best one of each order.

        The relaxation is asked for one of each order that has schedules but no certificate.
        """
        proofs: dict[bytes | None, list[Result]] = {}
        for each in results:
            # Certificates of fused problems have other steps and do not apply here.
            if each.certificate is not None and each.fused is None:
                proofs.setdefault(order_key(each.certificate.order), []).append(each)
        for each in results:
            key = each.order_key
            if each.verified and each.fused is None and key not in proofs:
                proofs[key] = [self._relax(each.order, self._of_steps.get(each.scheduler))]
        best = {key: self._best(found) for key, found in proofs.items()}
        return {key: bound for key, bound in best.items() if bound is not None}

    def bound_of_fusion_plan(self, result: Result) -> Bound | None:
        """Evaluate the certificate of a result for the problem of its fusion plan."""
        if result.fused is None:
            return None
        if self._calls.request.objective.replayed:
            request = self._calls.request.part(bounds=False)
            on = Bounds(CheckedCalls(result.fused, request))
            return on._best([on._relax(None, self._of_steps.get(result.scheduler))])
        problem, certificate = result.fused, result.certificate
        if certificate is None:
            return None
        value = self._calls.value_of_proof(lambda: bound(problem, certificate))
        if value is None:
            return None
        notes = (self._early_end(),) if result.cut_short else ()
        return Bound(value=value, certificate=certificate, notes=notes)

    def bound_of_fusion_plans(self, results: Sequence[Result]) -> Fraction | None:
        """Return the best exact bound of the results over all fusion plans."""
        fused = [each for each in results if each.fused is not None]
        if not fused:
            return None
        # It takes long to load.
        from spmopt.core.fusion.tileable_graph import source_graph
        from spmopt.verifier.fusion_bound import fusion_bound

        found = list[Fraction]()
        for problem, certificate in ((each.fused, each.fusion_certificate) for each in fused):
            if problem is not None and certificate is not None:
                self._calls.request.report("checking the bound over the fusion space", None)
                evaluate = partial(fusion_bound, source_graph(problem), certificate)
                value = self._calls.value_of_proof(evaluate)
                found += [] if value is None else [value]
        return max(found, default=None)

    def _relax(self, order: Ints | None, duals: Certificate | None = None) -> Result:
        if order is None:
            return self._calls.call(find(BOUNDER), duals=duals)
        request = self._calls.request.part(bounds=False)  # news are of the listed order
        on = CheckedCalls(reorder(self._calls.problem, order), request)
        found = on.call(find(BOUNDER))
        # The verifier must reorder the problem in the same way to evaluate these duals.
        proof = found.certificate and replace(found.certificate, order=order)
        return replace(found, certificate=proof)

    def _best(self, proofs: Sequence[Result]) -> Bound | None:
        """The best one; a search that was finished leaves little to be raised by the others."""
        proofs = [each for each in proofs if each.certificate is not None]
        evaluated = [self._calls.evaluate(each.certificate) for each in proofs if each.certificate]
        best = max(filter(None, evaluated), key=lambda each: each.value, default=None)
        if best is None or not all(each.cut_short for each in proofs):
            return best
        return replace(best, notes=(self._early_end(),))

    def _early_end(self) -> str:
        return INTERRUPTED if self._calls.request.stop() else OUT_OF_TIME
