"""Facts of each name of a model: type, shape, and small contents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from google.protobuf.message import DecodeError
from numpy.typing import NDArray
from onnx import external_data_helper, helper, numpy_helper

from spmopt.core.elements import ELEMENT_TYPES, ElementKind, element_type
from spmopt.core.errors import InputError
from spmopt.frontends.onnx_import.wire import initializer

Array = NDArray[Any]
Shape = tuple[int, ...]

# Shapes, axes and indices are read, and short rows of scales; anything longer is data.
_READ_INTEGERS = 1024
_READ_REALS = 16
# Bounds for damaged files: products of sizes stay below 2^63, axes within numpy's limit.
_MOST_AXES, _MOST_ELEMENTS = 32, 1 << 48
_KNOWN = frozenset(onnx.TensorProto.DataType.values()) - {onnx.TensorProto.UNDEFINED}
_OURS = {
    **{"FLOAT": "fp32", "FLOAT16": "fp16", "BFLOAT16": "bf16", "DOUBLE": "fp64", "BOOL": "bool"},
    # FN and FNUZ differ in special values, not in width.
    **dict.fromkeys(("FLOAT8E4M3FN", "FLOAT8E4M3FNUZ"), "fp8_e4m3"),
    **dict.fromkeys(("FLOAT8E5M2", "FLOAT8E5M2FNUZ"), "fp8_e5m2"),
    **{"FLOAT8E8M0": "fp8_e8m0", "FLOAT4E2M1": "fp4_e2m1"},
}
_NAMES: dict[int, str] = {
    number: name
    for theirs, number in onnx.TensorProto.DataType.items()
    for name in [_OURS.get(theirs, theirs.lower())]
    if name in ELEMENT_TYPES
}
"""Names of element types by the numbers of ONNX."""
NUMBERS: dict[str, int] = {name: number for number, name in reversed(_NAMES.items())}
"""The least number of each name."""


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
        if len(self.shape) > _MOST_AXES or self.elements > _MOST_ELEMENTS:
            raise InputError(
                f"a tensor of {len(self.shape)} axes and {self.elements} elements is larger than "
                "any machine; the file is damaged, export it again"
            )

    @property
    def elements(self) -> int:
        """Number of elements (1 for a scalar)."""
        return prod(self.shape)

    @property
    def type_name(self) -> str:
        """Name of the element type, of :mod:`spmopt.core.elements`.

        Raises
        ------
        InputError
            Elements of text: they have no width.
        """
        return type_name(self.element_type)

    @property
    def floating(self) -> bool:
        """Whether the elements are real numbers (a constant of integers is never trained)."""
        name = _NAMES.get(self.element_type, "")
        return name != "" and element_type(name).kind in (ElementKind.FLOAT, ElementKind.COMPLEX)

    @property
    def has_width(self) -> bool:
        """Whether elements have a width: they are numbers, no text."""
        return self.element_type in _NAMES

    @property
    def worth_reading(self) -> bool:
        """Whether the contents are short enough to say something about shapes."""
        return self.elements <= (_READ_REALS if self.floating else _READ_INTEGERS)


def type_name(number: int) -> str:
    """Return the name of an element type of ONNX.

    Raises
    ------
    InputError
        A type whose elements have no fixed width, or that is not known.
    """
    if number not in _NAMES:
        given = onnx.TensorProto.DataType.values()
        shown = onnx.TensorProto.DataType.Name(number) if number in given else number
        raise InputError(f"element type {shown} of ONNX is not supported; only numbers are")
    return _NAMES[number]


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


def initializer_contents(
    graph: onnx.GraphProto, folder: Path | None, file: Path | None
) -> Callable[[str], Array | None]:
    """Return a callable that reads an initializer by name; None of one that cannot be read.

    ``file``: where large ones are, which the graph was read without.
    """
    tensors = {tensor.name: tensor for tensor in graph.initializer}

    def read(name: str) -> Array | None:
        tensor = tensors.get(name)
        try:
            if tensor is None:
                return None
            if tensor.data_location == onnx.TensorProto.EXTERNAL:
                return None if folder is None else _external_contents(tensor, folder)
            message = None if file is None else initializer(file, name)
            return _contents(tensor if message is None else onnx.TensorProto.FromString(message))
        except (InputError, OSError, ValueError, DecodeError):
            return None

    return read


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


def array_fact(data: Array) -> Fact:
    """Return the fact of a value that was worked out."""
    element_type = helper.np_dtype_to_tensor_dtype(data.dtype)
    return Fact(element_type=element_type, shape=data.shape, live=False, data=data)


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
