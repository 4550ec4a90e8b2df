"""What the importer knows of each name of a model: type, shape, and small contents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import external_data_helper, helper, numpy_helper

from spmopt.core.errors import InputError

Array = NDArray[Any]
Shape = tuple[int, ...]

# Shapes, axes and indices are read, and short rows of scales; anything longer is data.
_READ_INTEGERS = 1024
_READ_REALS = 16
_KNOWN = frozenset(onnx.TensorProto.DataType.values()) - {onnx.TensorProto.UNDEFINED}
_FLOATING = frozenset(
    getattr(onnx.TensorProto, name)
    for name in ("FLOAT", "FLOAT16", "BFLOAT16", "DOUBLE", "COMPLEX64", "COMPLEX128")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One name of the model.

    ``live``: depends on a network input. ``data``: the contents, for short constants that
    may say something about shapes.
    """

    element_type: int
    shape: Shape
    live: bool
    data: Array | None = None

    def __post_init__(self) -> None:
        if self.element_type not in _KNOWN or min(self.shape, default=0) < 0:
            raise InputError(
                f"a tensor of element type {self.element_type} and shape {list(self.shape)}: "
                "not known to ONNX; the file is damaged, or newer than the onnx package"
            )

    @property
    def elements(self) -> int:
        """Number of elements (1 for a scalar)."""
        return prod(self.shape)

    @property
    def element_bytes(self) -> int:
        """Bytes of one element, at least 1."""
        return max(1, int(helper.tensor_dtype_to_np_dtype(self.element_type).itemsize))

    @property
    def floating(self) -> bool:
        """Whether the elements are real numbers (a constant of integers is never trained)."""
        return self.element_type in _FLOATING

    @property
    def worth_reading(self) -> bool:
        """Whether the contents are short enough to say something about shapes."""
        return self.elements <= (_READ_REALS if self.floating else _READ_INTEGERS)


def constant_fact(tensor: onnx.TensorProto, folder: Path | None = None) -> Fact:
    """Return the fact of an initializer or of the value of a ``Constant`` node.

    Short constants may lie in an external file in ``folder``; weights stay unread.
    """
    shape = tuple(tensor.dims)
    fact = Fact(element_type=tensor.data_type, shape=shape, live=False)
    if not fact.worth_reading:
        return fact
    if tensor.data_location != onnx.TensorProto.EXTERNAL:
        return replace(fact, data=_contents(tensor))
    if folder is None:
        return fact
    return replace(fact, data=_external_contents(tensor, folder))


def _external_contents(tensor: onnx.TensorProto, folder: Path) -> Array | None:
    """Return the contents from the external file, or None where that cannot be read."""
    copy = onnx.TensorProto()
    copy.CopyFrom(tensor)
    try:
        external_data_helper.load_external_data_for_tensor(copy, str(folder))
    except (OSError, ValueError, onnx.checker.ValidationError):
        return None
    # Older versions of onnx leave the mark, and would look for the file again.
    copy.data_location = onnx.TensorProto.DEFAULT
    return _contents(copy)


def array_fact(data: Array, live: bool = False) -> Fact:
    """Return the fact of a value that was worked out."""
    element_type = helper.np_dtype_to_tensor_dtype(data.dtype)
    return Fact(element_type=element_type, shape=data.shape, live=live, data=data)


def _contents(tensor: onnx.TensorProto) -> Array:
    try:
        return np.asarray(numpy_helper.to_array(tensor))
    except (ValueError, TypeError) as error:
        raise InputError(
            f"initializer {tensor.name}: contents do not fill its shape {tuple(tensor.dims)}; "
            f"the file is damaged ({error})"
        ) from None


def node_attributes(node: onnx.NodeProto) -> Mapping[str, Any]:
    """Return the attributes of ``node`` as Python values; strings decoded."""
    found: dict[str, Any] = {}
    for attribute in node.attribute:
        value = helper.get_attribute_value(attribute)
        found[attribute.name] = value.decode() if isinstance(value, bytes) else value
    return found
