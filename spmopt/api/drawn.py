"""A picture that a notebook shows and a file keeps."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory


@dataclass(frozen=True, eq=False, repr=False)
class Drawn:
    """One picture; ``write`` makes a file of it, of the format that its name ends in."""

    title: str
    write: Callable[[Path], None]

    def __str__(self) -> str:
        return self.title

    def __repr__(self) -> str:
        return f"<{self.title}>"

    def save(self, path: str | Path) -> None:
        """Write it as .png, .svg or .pdf; raises :class:`InputError` for any other name."""
        self.write(Path(path))

    def _repr_png_(self) -> bytes:
        with TemporaryDirectory(prefix="spmopt-") as folder:
            path = Path(folder) / "picture.png"
            self.save(path)
            return path.read_bytes()

    def _repr_html_(self) -> str:
        data = b64encode(self._repr_png_()).decode()
        return f'<img src="data:image/png;base64,{data}" alt="{escape(self.title)}">'
