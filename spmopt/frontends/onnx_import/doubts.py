"""Faults of a file that the importer tolerates, each reported in one line with a count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

_REFUSED = "are refused by ONNX; their shapes are those that the file states, or of the rule"


@dataclass(kw_only=True)
class Doubts:
    """Nodes by their fault.

    Attributes
    ----------
    counts, examples
        By the words that complete "3 nodes"; an example is the first of them.
    refused
        First results of nodes that ONNX refuses.
    final
        At another batch size than the file's no further node may be refused: there it is the size
        that does not suit the file.
    """

    counts: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)
    final: bool = False

    def note(self, what: str, example: str) -> None:
        """Count a node."""
        # The second walk, at another batch size, meets the same nodes again.
        if not self.final:
            self.counts[what] += 1
            self.examples.setdefault(what, example)

    def may_refuse(self, result: str) -> bool:
        """Return whether a node that ONNX refuses can have another shape than by ONNX."""
        return not self.final or result in self.refused

    def refuse(self, result: str, example: str) -> None:
        """Count a node that ONNX refuses."""
        self.refused.add(result)
        self.note(_REFUSED, example)

    def tell(self, warn: Callable[[str], None]) -> None:
        """Give the warnings."""
        for what, count in self.counts.items():
            nodes = "1 node" if count == 1 else f"{count} nodes"
            verb = what if count > 1 else what.replace("are ", "is ", 1).replace("have ", "has ", 1)
            warn(f"{nodes} {verb} ({self.examples[what]})")
