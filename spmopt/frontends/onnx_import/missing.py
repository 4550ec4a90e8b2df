"""Operators without a rule: all at once, their share of bytes, and lines to paste."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import onnx

from spmopt.core.elements import element_type
from spmopt.core.errors import InputError, MissingRuleError
from spmopt.frontends.onnx_import.by_rule import composite_of, rule_name, rule_of
from spmopt.frontends.onnx_import.facts import Fact
from spmopt.frontends.onnx_import.sequences import SEQUENCES
from spmopt.frontends.onnx_import.topology import describe, subgraphs

_COMPUTED = frozenset(("Constant", "Shape", "Size", *SEQUENCES))
_SHOWN = 8
"""Most operators that the line names; the options to paste name all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """One operator without a rule.

    ``share``: of all bytes that nodes read and write, those of its nodes; None where shapes are not
    known.
    """

    name: str
    nodes: int
    example: str
    share: float | None = None

    def __str__(self) -> str:
        # Two digits, without an exponent: 100, 4.1, 0.052.
        of_bytes = "" if self.share is None else f", {float(f'{self.share:.2g}'):g} % of bytes"
        return f"{self.name} ({self.nodes} {'node' if self.nodes == 1 else 'nodes'}{of_bytes})"

    @property
    def with_example(self) -> str:
        """Its name and share, and the first of its nodes."""
        return f"{self}, first {self.example}"


def without_rule(
    nodes: Sequence[onnx.NodeProto], facts: Mapping[str, Fact] | None
) -> list[Missing]:
    """Return the operators of ``nodes`` that have no rule, those of most bytes first.

    ``facts``: of all names; nodes that compute nothing then do not count.
    """
    found: dict[str, list[onnx.NodeProto]] = {}
    for node in nodes:
        if _is_known(node) or subgraphs(node):
            continue
        if facts is None or _is_live(node, facts):
            found.setdefault(rule_name(node), []).append(node)
    if not found:
        return []
    sizes = {name: sum(_bytes(node, facts) for node in of) for name, of in found.items()}
    whole = sum(_bytes(node, facts) for node in nodes if facts is None or _is_live(node, facts))
    return [
        Missing(
            name=name,
            nodes=len(of),
            example=describe(of[0]),
            share=100 * sizes[name] / whole if whole else None,
        )
        for name, of in sorted(found.items(), key=lambda each: (-sizes[each[0]], each[0]))
    ]


def missing_rules(found: Sequence[Missing], because: InputError | None = None) -> MissingRuleError:
    """Return the error that names all of them, and a file that would give them rules."""
    names = ", ".join(map(str, found[:_SHOWN]))
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    operators = "1 operator has" if len(found) == 1 else f"{len(found)} operators have"
    after = "" if because is None else f"; so shapes after them are not known: {because}"
    # Operators of ONNX Runtime's training graphs.
    if any(each.name.endswith("Grad") for each in found):
        after += "; export the forward pass alone, from which --training derives the backward pass"
    return MissingRuleError(
        f"{operators} no rule: {names}{more}{after}; give each a class in a file "
        f"(--operators rules.toml), as {_line(found[0].name)}",
        paste="\n".join(_line(each.name) for each in found),
    )


def _is_known(node: onnx.NodeProto) -> bool:
    # Operators such as Shape need no rule: the importer computes their results itself.
    if node.op_type in _COMPUTED or rule_of(node):
        return True
    return composite_of(node, [bool(name) for name in node.output]) is not None


def _line(name: str) -> str:
    """Return the line of a file of operators that takes one for point-wise."""
    plain = name.replace("_", "").replace("-", "")
    key = name if plain.isascii() and plain.isalnum() else f'"{name}"'
    return f'{key}.class = "pointwise"'


def _is_live(node: onnx.NodeProto, facts: Mapping[str, Fact]) -> bool:
    """Whether a node computes anything of data."""
    return any(facts[name].live for name in node.output if name in facts)


def _bytes(node: onnx.NodeProto, facts: Mapping[str, Fact] | None) -> int:
    """Return the bytes that a node reads and writes; 0 where shapes are not known."""
    if facts is None:
        return 0
    known = (facts[name] for name in {*node.input, *node.output} if name in facts)
    return sum(element_type(f.type_name).bytes_of(f.elements) for f in known if f.has_width)
