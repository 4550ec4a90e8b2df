"""Searches of dual values at boundaries, run to some end."""

from __future__ import annotations

from collections.abc import Callable, Generator
from itertools import chain

from formulations.fusion.agreement import Agreement
from formulations.fusion.chain import Chain


def raise_bound(
    search: Agreement, stop: Callable[[], bool], tell: Callable[[float], None] = lambda _: None
) -> None:
    """Raise the bound until ``stop``, asked after each step; ``tell`` of each bound."""
    for best in chain(search.search_plans(), search.steps()):
        tell(best)
        if stop():
            break


def run_to_its_end(steps: Generator[float, None, Chain]) -> Chain:
    """Return the result of a search in steps."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: Chain = end.value
            return found
