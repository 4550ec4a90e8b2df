"""Results of the functions: records that print, show themselves in notebooks, become frames."""

from __future__ import annotations

import builtins
from abc import ABC, abstractmethod
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from spmopt.core.errors import InputError, package_hint

if TYPE_CHECKING:
    from pandas import DataFrame

    from spmopt.reporting.tables import Part


class Shown(ABC):
    """Base of results.

    ``print`` gives the text of the command line; Jupyter, VS Code and others that ask for
    ``_repr_html_`` get the same figures as tables, without scripts.
    """

    @abstractmethod
    def parts(self) -> Iterator[Part]:
        """Yield the parts to show, from top to bottom."""

    @abstractmethod
    def record(self) -> Mapping[str, object]:
        """Return all figures as one JSON object."""

    def rows(self) -> Sequence[Mapping[str, object]]:
        """Return the figures as flat rows."""
        return [self.record()]

    def to_frame(self) -> DataFrame:
        """Return :meth:`rows` as a data frame of pandas.

        Raises
        ------
        InputError
            pandas is not installed.
        """
        try:
            from pandas import DataFrame
        except ImportError:
            raise InputError(f"to_frame {package_hint('pandas')}") from None
        return DataFrame.from_records([dict(row) for row in self.rows()])

    def __str__(self) -> str:
        from spmopt.reporting.tables import plain_text

        return plain_text(self.parts())

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        from spmopt.reporting.tables import as_html

        return as_html(self.parts())


@dataclass(frozen=True, eq=False, repr=False)
class Titled:
    """Base of contents of files.

    Attributes
    ----------
    title
        One line on the content.
    record
        The content, as a JSON object.
    """

    title: str
    record: Mapping[str, object]

    def __repr__(self) -> str:
        return f"<{self.title}>"

    def __str__(self) -> str:
        return self.title


@dataclass(frozen=True, eq=False, repr=False)
class Drawing(Titled):
    """A picture that a notebook shows and a file keeps.

    Attributes
    ----------
    write
        Writes the picture to a file, in the format of its suffix.
    """

    write: Callable[[Path], None]

    def save(self, path: str | Path) -> None:
        """Write a .png, .svg or .pdf file; raises :class:`InputError` for any other name."""
        self.write(Path(path))

    def _repr_png_(self) -> bytes:
        with TemporaryDirectory(prefix="spmopt-") as folder:
            path = Path(folder) / "picture.png"
            self.save(path)
            return path.read_bytes()

    def _repr_html_(self) -> str:
        # Inline, so that a saved notebook needs no other file.
        data = b64encode(self._repr_png_()).decode()
        return f'<img src="data:image/png;base64,{data}" alt="{escape(self.title)}">'


@dataclass(frozen=True, eq=False, repr=False)
class Document(Titled):
    """A text to be written to a file: a page, a trace, a program.

    Attributes
    ----------
    text
        Content of the file.
    require_name
        Raises :class:`InputError` for a file whose name says that it holds something else.
    """

    text: str
    require_name: Callable[[Path], None] = lambda _: None

    def save(self, path: str | Path) -> None:
        """Write the file, compressed if its name ends in .gz; raises :class:`InputError`."""
        from spmopt.io.document import write_packed, write_text

        path = Path(path)
        self.require_name(path)
        if path.suffix.lower() == ".gz":
            write_packed(path, self.text)
        else:
            write_text(path, self.text)


def show(thing: object) -> None:
    """Show a result, a picture or a text: rich in a notebook, printed elsewhere."""
    # IPython puts its own among Python's builtins.
    display = getattr(builtins, "display", print)
    (print if isinstance(thing, str) else display)(thing)
