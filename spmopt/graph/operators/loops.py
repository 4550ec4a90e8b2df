"""Computation of an operator, as affine statements over loops: its reads, its work, and its cuts.

A statement says which elements it combines, in a text that Python's own parser takes::

    y0[n, g@o, *y] += x0[n, g@c, *(strides*y + dilations*r - pads)] * x1[g@o, c, *r]; g < group

``x0`` is input 0 and ``y0`` result 0, any other name a value inside the operator. A letter,
perhaps with a number, is a loop, any other name an attribute. ``=`` writes each element once,
``+=`` and ``max=`` combine over the loops that the target lacks; ``*`` stands for any function of
the inputs, and absent inputs (an optional bias) fall away. ``g@c`` runs through ``c`` for each
``g``; ``:`` is a whole axis, whose elements depend on data; ``*e`` is ``e`` for each of the
remaining axes, ``...`` axes that broadcast. Loops run as far as the axes that they index alone, or
as ``g < group`` says. Of a tensor that is not mentioned all is read. ``e // 2`` is the quotient
rounded down.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from spmopt.core.errors import InputError
from spmopt.core.loops import Access, Index, LoopNest, Statement
from spmopt.graph.operators.attributes import text
from spmopt.graph.operators.spec import Attributes, Shape, Shapes

_ASSIGNMENT = re.compile(r"^(.*?\])\s*(\+=|max=|=)(?!=)\s*(.*)$", re.DOTALL)
_LOOP = re.compile(r"[A-Za-z]\d*")
_OPERAND = re.compile(r"[xy]\d+")
_PADS = "pads"
_DEFAULTS: Mapping[str, int] = {"strides": 1, "dilations": 1, _PADS: 0, "group": 1}
"""Attributes of windows where a node has none."""


def loop_nest(source: str, inputs: Shapes, outputs: Shapes, attributes: Attributes) -> LoopNest:
    """Return the statements of ``source`` for tensors of these shapes.

    Raises
    ------
    InputError
        It is no such text, or does not suit the shapes.
    """
    shapes = {f"x{k}": shape for k, shape in enumerate(inputs)}
    shapes |= {f"y{k}": shape for k, shape in enumerate(outputs)}
    return _Reader(source, shapes, attributes).nest()


@dataclass(frozen=True, slots=True)
class _Mention:
    """A tensor and its indices as they are written."""

    tensor: str
    parts: tuple[ast.expr, ...]

    @property
    def plain(self) -> int:
        """Indices that are of one axis each."""
        return sum(not (isinstance(part, ast.Starred) or _is_dots(part)) for part in self.parts)


_Assignment = tuple[_Mention, str, tuple[_Mention, ...]]
_Written = tuple[ast.expr | str | None, int]
"""Index of an axis: an expression, a loop of ``...`` or all of it; and its place among ``*``."""


def _is_dots(part: ast.expr) -> bool:
    return isinstance(part, ast.Constant) and part.value is Ellipsis


def _mention(node: ast.expr) -> _Mention:
    if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name):
        raise SyntaxError("a tensor is a name with indices")
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else (node.slice,)
    return _Mention(tensor=node.value.id, parts=tuple(parts))


@cache
def _parse(source: str) -> tuple[tuple[_Assignment, ...], Mapping[str, str]]:
    """Return the assignments of a text, and the attributes that limit loops."""
    assignments, limits = list[_Assignment](), {}
    try:
        for part in filter(None, (part.strip() for part in source.split(";"))):
            match = _ASSIGNMENT.match(part)
            if match is None:
                loop, less, bound = part.partition("<")
                if not less or not loop.strip().isidentifier():
                    raise SyntaxError(f"{part!r} is neither an assignment nor a limit")
                limits[loop.strip()] = bound.strip()
                continue
            target, value = (ast.parse(match[k].strip(), mode="eval").body for k in (1, 3))
            reads = [_mention(node) for node in ast.walk(value) if isinstance(node, ast.Subscript)]
            assignments.append((_mention(target), match[2], tuple(reads)))
    except SyntaxError as error:
        raise InputError(f"computes {source!r}: {error.msg}") from None
    return tuple(assignments), limits


class _Reader:
    """Makes a loop nest of a text, for some shapes."""

    def __init__(self, source: str, shapes: Mapping[str, Shape], attributes: Attributes) -> None:
        self.source, self.shapes, self.attributes = source, shapes, attributes
        self.padding = text(attributes, "auto_pad", "NOTSET")
        assignments, self.limits = _parse(source)
        self.assignments = [
            (target, combiner, [read for read in reads if self._is_there(read)])
            for target, combiner, reads in assignments
            if self._is_there(target)
        ]
        self.assignments = [each for each in self.assignments if each[2]]
        self.extents: dict[str, int] = {}
        mentions = [m for target, _, reads in self.assignments for m in (target, *reads)]
        known = [m for m in mentions if m.tensor in shapes]
        several = [m for m in known if m.plain < len(m.parts)]
        self.wide = max((len(shapes[m.tensor]) - m.plain for m in several), default=0)
        written = [(axes, shapes[m.tensor]) for m in known for axes in (self._write(m),)]
        for axes, shape in written:
            if len(axes) != len(shape):
                raise self._error(f"{len(axes)} indices for a tensor of shape {shape}")
        self._solve([pair for axes, shape in written for pair in zip(axes, shape, strict=True)])

    def nest(self) -> LoopNest:
        """Read all statements."""
        statements = tuple(
            Statement(
                target=self._access(target),
                combiner=combiner,
                reads=tuple(map(self._access, reads)),
            )
            for target, combiner, reads in self.assignments
        )
        for each in statements:
            if not each.combines and each.loops - each.target.loops:
                raise self._error(f"{each.target.tensor} is combined over loops; write += or max=")
        return LoopNest(extents=self.extents, statements=statements)

    def _is_there(self, mention: _Mention) -> bool:
        return mention.tensor in self.shapes or _OPERAND.fullmatch(mention.tensor) is None

    def _error(self, what: str) -> InputError:
        return InputError(f"computes {self.source!r}: {what}")

    def _write(self, mention: _Mention) -> list[_Written]:
        """Write an index for each axis."""
        shape = self.shapes.get(mention.tensor)
        more = self.wide if shape is None else len(shape) - mention.plain
        axes: list[_Written] = []
        for part in mention.parts:
            if _is_dots(part):
                axes += [(f"...{self.wide - more + k}", 0) for k in range(more)]
            elif isinstance(part, ast.Starred):
                axes += [(part.value, k) for k in range(more)]
            else:
                axes.append((None if isinstance(part, ast.Slice) else part, -1))
        return axes

    def _solve(self, pairs: Sequence[tuple[_Written, int]]) -> None:
        """Find how far each loop runs."""
        for loop, bound in self.limits.items():
            value = self.attributes.get(bound, _DEFAULTS.get(bound))
            if isinstance(value, tuple):
                self.extents |= {f"{loop}.{axis}": int(each) for axis, each in enumerate(value)}
            elif isinstance(value, int):
                self.extents[loop] = value
            else:
                raise self._error(f"attribute {bound} is no number")
        for (part, _), size in pairs:
            if isinstance(part, str):
                self.extents[part] = max(size, self.extents.get(part, 1))
        for (part, axis), size in pairs:
            if isinstance(part, ast.Name) and _LOOP.fullmatch(part.id):
                self._runs(_loop(part.id, axis), size)
        for (part, axis), size in pairs:
            if isinstance(part, ast.BinOp) and isinstance(part.op, ast.MatMult):
                outer, inner = (self._name(side, axis) for side in (part.left, part.right))
                if outer in self.extents:
                    self._runs(inner, size // self.extents[outer])

    def _runs(self, loop: str, size: int) -> None:
        if self.extents.setdefault(loop, size) != size:
            raise self._error(f"{loop} runs to {size} and to {self.extents[loop]}")

    def _name(self, part: ast.expr, axis: int) -> str:
        if not isinstance(part, ast.Name) or not _LOOP.fullmatch(part.id):
            raise self._error("on both sides of @ stand loops")
        return _loop(part.id, axis)

    def _access(self, mention: _Mention) -> Access:
        shape = self.shapes.get(mention.tensor)
        axes = list[Index | None]()
        for place, (part, axis) in enumerate(self._write(mention)):
            if part is None:
                axes.append(None)
            elif isinstance(part, str):
                repeated = shape is not None and shape[place] < self.extents[part]
                if repeated and shape is not None and shape[place] != 1:
                    raise self._error(f"shape {shape} does not broadcast")
                axes.append(Index() if repeated else Index(terms=((part, 1),)))
            else:
                dividend, divisor = _divide(part)
                terms = self._affine(dividend, axis)
                offset = terms.pop("", 0)
                if shape is not None and _is_padded(part):
                    offset -= self._same_pads(terms, shape[place])
                axes.append(Index(tuple(sorted(terms.items())), offset, divisor))
        return Access(tensor=mention.tensor, axes=tuple(axes))

    def _affine(self, part: ast.expr, axis: int) -> dict[str, int]:
        """Return the coefficient of each loop, and the offset by the name of none."""
        match part:
            case ast.Constant(value=int(value)):
                return {"": value}
            case ast.Name(id=name) if _LOOP.fullmatch(name):
                loop = _loop(name, axis)
                if loop not in self.extents:
                    raise self._error(f"nothing says how far {name} runs")
                return {loop: 1}
            case ast.Name(id=name):
                return {"": self._attribute(name, axis)}
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return _times(self._affine(operand, axis), -1)
            case ast.BinOp(left=left, op=ast.MatMult(), right=right):
                inner = self._name(right, axis)
                return {self._name(left, axis): self.extents[inner], inner: 1}
            case ast.BinOp(left=left, op=operator, right=right):
                found = _combine(operator, self._affine(left, axis), self._affine(right, axis))
                if found is not None:
                    return found
        raise self._error(f"{ast.unparse(part)} is no affine index")

    def _same_pads(self, terms: Mapping[str, int], size: int) -> int:
        """Return the padding of ``auto_pad`` before an axis of ``size`` that windows slide over."""
        if self.padding not in ("SAME_UPPER", "SAME_LOWER"):
            return 0
        span = 1 + sum(each * (self.extents[loop] - 1) for loop, each in terms.items())
        total = max(span - size, 0)
        return total // 2 if self.padding == "SAME_UPPER" else -(-total // 2)

    def _attribute(self, name: str, axis: int) -> int:
        value = self.attributes.get(name, _DEFAULTS.get(name))
        if name == _PADS and self.padding != "NOTSET":
            value = 0
        if isinstance(value, tuple):
            value = value[axis] if 0 <= axis < len(value) else None
        if not isinstance(value, int):
            raise self._error(f"attribute {name} is no number of this axis")
        return value


@cache
def _is_padded(part: ast.expr) -> bool:
    return _PADS in {getattr(each, "id", "") for each in ast.walk(part)}


def _loop(name: str, axis: int) -> str:
    return name if axis < 0 else f"{name}.{axis}"


def _divide(part: ast.expr) -> tuple[ast.expr, int]:
    """Return the dividend and the divisor: 1 where nothing is."""
    match part:
        case ast.BinOp(left=left, op=ast.FloorDiv(), right=ast.Constant(value=int(divisor))):
            if divisor > 0:
                return left, divisor
    return part, 1


def _times(terms: Mapping[str, int], factor: int) -> dict[str, int]:
    return {loop: factor * each for loop, each in terms.items()}


def _combine(
    operator: ast.operator, one: Mapping[str, int], other: Mapping[str, int]
) -> dict[str, int] | None:
    """Add, subtract or multiply affine terms; None where the result is not affine."""
    if isinstance(operator, ast.Add | ast.Sub):
        other = other if isinstance(operator, ast.Add) else _times(other, -1)
        return {loop: one.get(loop, 0) + other.get(loop, 0) for loop in {**one, **other}}
    if isinstance(operator, ast.Mult):
        for factor, terms in ((one, other), (other, one)):
            if factor.keys() <= {""}:
                return _times(terms, factor.get("", 0))
    return None
