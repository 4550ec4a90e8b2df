"""The nine models that the onnx package ships."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from spmopt.core.errors import InputError, require_package

_PREFIX = "light_"


def ship() -> dict[str, Path]:
    """Return the files by name; found without importing the package.

    Raises
    ------
    InputError
        The package is not installed, or came without its test data.
    """
    require_package("onnx", "the models of the package onnx:")
    spec = find_spec("onnx")
    assert spec is not None
    assert spec.origin is not None
    folder = Path(spec.origin).parent / "backend" / "test" / "data" / "light"
    found = {path.stem.removeprefix(_PREFIX): path for path in sorted(folder.glob("*.onnx"))}
    if not found:
        raise InputError(f"{folder}: no models; install the package onnx with its test data")
    return found
