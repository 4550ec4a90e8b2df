"""How hard, and by whom, a space is searched."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How a study is searched.

    Attributes
    ----------
    trials
        Of the study in all, those of other processes and of before included.
    sampler, seed
        Who proposes.
    workers, address
        Processes beside this one, which meanwhile asks, proves and writes; none: all in turn, here.
        Or a Dask scheduler in their place.
    wait_for_workers
        Of the Dask scheduler, before anything begins.
    timeout_s
        Seconds after which no more trials are begun; None: without end.
    prune
        Whether machines are excluded by proof.
    """

    trials: int
    sampler: str = "tpe"
    seed: int = 0
    workers: int = 0
    address: str | None = None
    wait_for_workers: int = 0
    timeout_s: float | None = None
    prune: bool = True
