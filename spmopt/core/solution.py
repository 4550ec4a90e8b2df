"""The solution of a problem: its result, and the programs that made it; the content of a file."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from spmopt import __version__

if TYPE_CHECKING:  # they would load numpy, and help should not
    from spmopt.core.fusion.stored import StoredFusion
    from spmopt.core.problem import Problem
    from spmopt.core.result import Result


@dataclass(frozen=True, eq=False, repr=False)
class Solution:
    """A result together with its problem, which a verifier needs and nothing else.

    Attributes
    ----------
    problem
        Scheduled problem; of a fused result that of its fusion plan.
    result
        Schedule, exact totals, bound and certificate.
    versions
        Programs that made it.
    path
        File that it was read from.
    fusion
        Fusion plan as a file has it: its tileable graph is made again by
        :func:`spmopt.audit.restore`, and then it is part of the result.
    """

    problem: Problem
    result: Result
    versions: Mapping[str, str] = field(default_factory=dict)
    path: Path | None = None
    fusion: StoredFusion | None = None

    @classmethod
    def of(cls, problem: Problem, result: Result) -> Self:
        """Return the solution of a result that this program has made.

        A bound over the fusion space is proved by the certificate of the fusion plan: without one
        it is left out.
        """
        versions = {"spmopt": __version__, "python": platform.python_version()}
        if result.instead is not None:
            problem, result = result.instead, replace(result, instead=None)
        if result.fused is None:
            # Its certificate needs the tileable graph, which such a file does not hold.
            return cls(problem, replace(result, fusion_bound=None), versions)
        return cls(result.fused, result, versions)

    @property
    def is_fused(self) -> bool:
        """Whether its schedule is of a fusion plan."""
        return self.fusion is not None or self.result.fused is not None
