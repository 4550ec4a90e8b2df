"""Element types of tensors: their names, widths, and the widths of their sums."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from spmopt.core.errors import unknown


class ElementKind(StrEnum):
    """Kinds of elements; only floating-point numbers are trained."""

    FLOAT = "floating point"
    INTEGER = "integer"
    BOOLEAN = "truth value"
    COMPLEX = "complex"


@dataclass(frozen=True, slots=True)
class ElementType:
    """One type; elements narrower than a byte are packed."""

    name: str
    bits: int
    kind: ElementKind

    def bytes_of(self, elements: int) -> int:
        """Return the bytes of so many elements, rounded up."""
        # Packed: two int4 share a byte, and the last byte may be half empty.
        return -(-elements * self.bits // 8)


_BITS = {
    ElementKind.FLOAT: {
        **{"fp64": 64, "fp32": 32, "fp16": 16, "bf16": 16},
        **{"fp8_e4m3": 8, "fp8_e5m2": 8, "fp8_e8m0": 8, "fp4_e2m1": 4},
    },
    ElementKind.INTEGER: {
        f"{sign}int{bits}": bits for bits in (64, 32, 16, 8, 4, 2) for sign in ("", "u")
    },
    ElementKind.BOOLEAN: {"bool": 8},
    ElementKind.COMPLEX: {"complex128": 128, "complex64": 64},
}
ELEMENT_TYPES = {
    name: ElementType(name, bits, kind)
    for kind, types in _BITS.items()
    for name, bits in types.items()
}
"""All element types by name."""
_SUMS = {ElementKind.FLOAT: "fp32", ElementKind.INTEGER: "int32"}


def element_type(name: str) -> ElementType:
    """Return the element type called ``name``.

    Raises
    ------
    InputError
        There is none of that name.
    """
    found = ELEMENT_TYPES.get(name)
    if found is None:
        raise unknown("element type", name, ELEMENT_TYPES)
    return found


def sum_type(name: str) -> str:
    """Return the type in which sums and statistics of elements of a type are kept: 32 bits or more.

    So do the matrix units of all machines that take narrower operands, and the frameworks: fp32
    for floating point, int32 for integers.
    """
    found = element_type(name)
    return _SUMS.get(found.kind, name) if found.bits < 32 else name
