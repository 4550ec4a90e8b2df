"""What is said of a study in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from spmopt.report.quantities import share
from spmopt.search.shown import Tally
from spmopt.search.varies import Varies


def varies_lines(found: Mapping[str, Varies]) -> Iterator[str]:
    """What each objective varies with, and what that rests on."""
    for name, each in found.items():
        if each.parts:
            said = ", ".join(f"{key} {share(part)}" for key, part in each.parts.items())
            rests = "" if each.trials is None else f" (by the {each.trials} machines solved)"
            yield f"{name} varies with {said}{rests}."


def counts_text(counted: Tally) -> str:
    """How many trials came to what."""
    words = {
        "solved": "solved",
        "as_before": "as before",
        "pruned": "excluded by proof",
        "impossible": "impossible",
        "failed": "failed",
        "running": "running elsewhere",
    }
    numbers = {text: getattr(counted, name) for name, text in words.items()}
    said = [f"{number} {text}" for text, number in numbers.items() if number]
    total = sum(numbers.values())
    trials = f"{total} trial" if total == 1 else f"{total} trials"
    return f"{trials}: {', '.join(said)}" if said else trials
