"""Result files, read and verified."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from spmopt.api.arguments import check
from spmopt.api.callbacks import QUIET, Callbacks
from spmopt.api.shown import Shown
from spmopt.api.solutions import Solution
from spmopt.core.errors import InfeasibleError, InputError, ScheduleError

if TYPE_CHECKING:
    from spmopt.audit import Audit
    from spmopt.reporting.tables import Part


@check
def read(path: str | Path, *, callbacks: Callbacks = QUIET) -> Solution:
    """Read and verify a result file.

    Parameters
    ----------
    path
        File that :meth:`Solution.save` wrote.
    callbacks
        Receive progress.

    Returns
    -------
    Solution
        All that the file claims is true.

    Raises
    ------
    InputError
        It cannot be read.
    ScheduleError
        Its schedule breaks a rule, or something that it claims is not true.
    """
    found = verify(path, callbacks=callbacks)
    if found.violations:
        raise ScheduleError(f"{path}: not verified: {found.violations[0]}")
    return found.solution


@dataclass(frozen=True, eq=False, repr=False)
class Verification(Shown):
    """Findings of the verifier.

    Attributes
    ----------
    solution
        As it was given.
    audit
        Recomputed figures, and violations.
    """

    solution: Solution
    audit: Audit

    @property
    def violations(self) -> Sequence[object]:
        """Rules broken and claims that are not true; empty when all is well."""
        return self.audit.violations

    def parts(self) -> Iterator[Part]:
        """Yield the verified claims, or the violations."""
        from spmopt.reporting.tables import Line
        from spmopt.reporting.verification import verification_lines

        head, *lines = verification_lines(self.solution.problem, self.solution.result, self.audit)
        yield Line(text=head)
        yield from (Line(text=line, indent=12) for line in lines)

    def record(self) -> Mapping[str, object]:
        """Return the recomputed figures, as ``spmopt verify --json``."""
        from spmopt.reporting.verification import verification_record

        return verification_record(self.solution.problem, self.solution.result, self.audit)


@check
def verify(
    result: str | Path | Solution,
    *,
    repeat: bool = False,
    time_limit: float = 60.0,
    callbacks: Callbacks = QUIET,
) -> Verification:
    """Recompute everything that a result claims, without any solver.

    Parameters
    ----------
    result
        Result file, or solution.
    repeat
        Solve again what only a solver claims: a bound on a class of schedules, as whole pages.
    time_limit
        Seconds for that.
    callbacks
        Receive progress.

    Returns
    -------
    Verification
        Violations and recomputed figures.

    Raises
    ------
    InputError
        The file cannot be read.
    """
    from spmopt.audit import audit
    from spmopt.core.scheduler import Request

    if not isinstance(result, Solution):
        result = find_unverified(result, callbacks)
    callbacks.progress("verifying", None)
    limits = Request(time_limit_s=time_limit) if repeat else None
    return Verification(result, audit(result.problem, result.result, limits))


def find_unverified(path: str | Path, callbacks: Callbacks = QUIET) -> Solution:
    """Read a result file; nothing that it claims is checked."""
    from spmopt.audit import restore
    from spmopt.io.files import read_result

    callbacks.progress(f"reading {path}", None)
    stored = read_result(Path(path))
    try:
        return Solution(**vars(restore(stored)))
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def require_feasible(solution: Solution) -> None:
    """Raise :class:`InfeasibleError`, with its reasons, where no legal schedule exists."""
    from spmopt.core.mappings import unfit
    from spmopt.core.result import Status

    if solution.result.status is Status.INFEASIBLE:
        raise InfeasibleError(unfit(solution.problem) or "; ".join(solution.result.notes))
