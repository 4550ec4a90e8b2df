"""Lines of an explanation, and quantities that no line ends within."""

from __future__ import annotations

from dataclasses import dataclass

from spmopt.report import quantities
from spmopt.report.fit import folded

SMALL = 1e-3
"""Parts are told to this."""
_SOLID = "\N{NO-BREAK SPACE}"


@dataclass(frozen=True, slots=True)
class Line:
    """A line, and how far what is folded of it is indented; ``fixed``: not to be folded."""

    text: str
    indent: int = 0
    fixed: bool = False

    def fit(self, width: int | None) -> list[str]:
        """Lines of at most ``width`` characters; None for no limit."""
        lines = folded(self.text, None if self.fixed else width, self.indent)
        return [line.replace(_SOLID, " ") for line in lines]


def si(value: float, unit: str, *, fill: bool = False) -> str:
    """A quantity that no line ends within."""
    return quantities.si(value, unit, fill=fill).replace(" ", _SOLID)


def share(part: float) -> str:
    """A part that no line ends within; what would round to nothing is not called that."""
    text = f"< {100 * SMALL:g} %" if 0 < part < SMALL / 2 else quantities.share(part)
    return text.replace(" ", _SOLID)
