"""A picture that a notebook shows and a file keeps."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory

from spmopt.report.picture import Picture


@dataclass(frozen=True, eq=False)
class Drawn:
    """One picture of ``spmopt plot``, of one schedule or two."""

    name: str
    pictures: Sequence[Picture]

    def __str__(self) -> str:
        return f"{self.name} of {self.pictures[0].instance.name}, {self._made}"

    @property
    def _made(self) -> str:
        return " and ".join(each.result.scheduler for each in self.pictures)

    def save(self, path: str | Path) -> None:
        """Write it as .png, .svg or .pdf; raises :class:`InputError` for any other name."""
        # Only a picture needs matplotlib.
        from spmopt.report.plots.schedule import save_picture

        save_picture(self.name, self.pictures, Path(path))

    def _repr_png_(self) -> bytes:
        with TemporaryDirectory(prefix="spmopt-") as folder:
            path = Path(folder) / "picture.png"
            self.save(path)
            return path.read_bytes()

    def _repr_html_(self) -> str:
        data = b64encode(self._repr_png_()).decode()
        return f'<img src="data:image/png;base64,{data}" alt="{escape(str(self))}">'
