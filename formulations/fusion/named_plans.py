"""Fusion plans that the search of the bound names, with the costs of their programs.

They are tried the cheapest first. Schedules cost more than programs, and about as much more as
those of the same kind did: a plan that may be no better than the best by that is left alone.
"""

from __future__ import annotations

from formulations.fusion.chain import Chain
from formulations.fusion.chained_plans import STEP
from formulations.fusion.trials import FusionPlanTrials, in_stripes, steps_of
from formulations.fusion.work import STEP_S
from spmopt.core.fusion.fused_groups import FusionPlan
from spmopt.core.fusion.tileable_graph import TileableGraph
from spmopt.core.scheduler import Request


class NamedPlans(FusionPlanTrials):
    """Trials of fusion plans of which some are named.

    Attributes
    ----------
    named
        Those to try, with the costs and mappings of their programs.
    guess
        One to try before these: its programs are not solved yet.
    """

    def __init__(self, tileable: TileableGraph, request: Request, begun: float) -> None:
        super().__init__(tileable, request, begun)
        self.named: dict[FusionPlan, Chain] = {}
        self.guess: FusionPlan = ()
        self._began, self._above = False, 1.0

    def attempt_named(self, *, likely: bool = True) -> bool:
        """Try the cheapest fusion plan that the search of the bound names, if it may be the best.

        Return whether there was one. ``likely``: only one that probably is.
        """
        if self.guess:
            fusion_plan, self.guess = self.guess, ()
            if STEP_S * self.size_of(fusion_plan) <= self.end - self.clock:
                self.attempt(fusion_plan)
                return True
        while self.named:
            fusion_plan = min(self.named, key=self._expect)
            least = self._expect(fusion_plan) if likely else self.named[fusion_plan].least
            if self.best is not None and least >= self.best.value:
                return False
            found = self.named.pop(fusion_plan)
            # The first gains most; others that take long leave no time for better ones.
            left = (self.end - self.clock) / (2 if self._began else 1)
            if STEP_S * self.size_of(fusion_plan) > left:
                continue
            self.attempt(fusion_plan, mappings=dict(found.mappings))
            if self.latest is not None and self.latest.fusion_plan == fusion_plan:
                self._began = True
                if found.least > 0 and not in_stripes(fusion_plan):
                    above = float(self.latest.value) / found.least
                    self._above = min(self._above, above) if self._above > 1 else above
            return True
        return False

    def _expect(self, fusion_plan: FusionPlan) -> float:
        """Return a likely cost of a named plan: as much above its programs as the best so far.

        Programs of stripes know sums of all stripes alone: schedules are 0 to 13 % above them.
        """
        above = 1.0 if in_stripes(fusion_plan) else self._above
        # Many plans promise the same: those of few steps are scheduled sooner, and rounded less.
        steps = STEP * steps_of(fusion_plan) / len(self.tileable.operations)
        return self.named[fusion_plan].least * above * (1 + steps)

    @property
    def another_promises_more(self) -> bool:
        """Whether a named plan may be better than the best can be, however finely scheduled."""
        best = None if self.best is None else self.best.bound
        return best is not None and any(each.least < best for each in self.named.values())
