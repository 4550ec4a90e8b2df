"""What shows itself: as text where it is printed, as a table where a notebook asks for HTML."""

from __future__ import annotations

import builtins
from abc import ABC, abstractmethod
from collections.abc import Iterator

from spmopt.report.tables import Part, as_html, plain_text


class Shown(ABC):
    """Base of what the functions of :mod:`spmopt.api` return.

    ``print`` gives the text of the command line; Jupyter, VS Code and others that ask for
    ``_repr_html_`` get the same figures as tables, without any script.
    """

    @abstractmethod
    def parts(self) -> Iterator[Part]:
        """What is shown, from top to bottom."""

    def __str__(self) -> str:
        return plain_text(self.parts())

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return as_html(self.parts())


def show(thing: object) -> None:
    """Show a result, a picture or a text: rich in a notebook, printed elsewhere."""
    # IPython puts its own among Python's builtins.
    display = getattr(builtins, "display", print)
    (print if isinstance(thing, str) else display)(thing)
