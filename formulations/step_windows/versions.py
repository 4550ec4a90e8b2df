"""Contents that a tensor has one after the other; all orders keep which operation reads which."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from spmopt.core.window import StepWindow


@dataclass(frozen=True, slots=True)
class Version:
    """Contents that a window's operations need.

    ``writer``: the operation that writes them, -1 if they were there before. ``readers``, and
    whether the contents ``survive``: something after the window needs them.
    """

    writer: int
    readers: tuple[int, ...]
    survives: bool


def versions(window: StepWindow, tensor: int) -> Iterator[Version]:
    """Yield the contents of a tensor that are of use. All mappings touch the same tensors."""
    record = window.tensors[tensor]
    writer, readers, needed = -1, list[int](), record.live
    # Dependences order every write against all uses, so that the listed order tells the versions.
    for operation, mappings in enumerate(window.operations[: window.steps]):
        for use in mappings[0].operands:
            if use.tensor != tensor:
                continue
            if use.reads:
                readers.append(operation)
            if use.writes:
                if needed and readers:
                    yield Version(writer, tuple(readers), survives=False)
                writer, readers, needed = operation, [], True
    if needed and (readers or record.due is not None):
        yield Version(writer, tuple(readers), survives=record.due is not None)
