"""The nine models that the onnx package ships."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from spmopt.core.errors import InputError

_PREFIX = "light_"


def shipped() -> dict[str, Path]:
    """Files by name; found without importing the package.

    Raises
    ------
    InputError
        The package is not installed, or came without its test data.
    """
    spec = find_spec("onnx")
    if spec is None or spec.origin is None:
        raise InputError("the package onnx is not installed; its models are used")
    folder = Path(spec.origin).parent / "backend" / "test" / "data" / "light"
    found = {path.stem.removeprefix(_PREFIX): path for path in sorted(folder.glob("*.onnx"))}
    if not found:
        raise InputError(f"{folder}: no models; install the package onnx with its test data")
    return found
