"""How operations use their operands, in any number of fusion tiles."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from spmopt.core.fusion.fused_groups import TileableOperation
from spmopt.core.operation import Operand


@dataclass(frozen=True, slots=True)
class Use:
    """How an operation uses a tensor.

    Attributes
    ----------
    reads, writes
        Of a sum: whether its first fusion tile reads it.
    live_after
        Whether the contents are needed later.
    shared
        Whether all fusion tiles share it.
    choices
        Fetches, and whether it is required resident, in each mapping that all fusion tiles choose
        among; none where these do not differ.
    """

    tensor: int
    reads: bool
    writes: bool
    live_after: bool
    shared: bool
    fetches: int
    required_resident: bool
    choices: tuple[tuple[int, bool], ...] = ()

    @property
    def figures(self) -> tuple[object, ...]:
        """All of it but the tensor."""
        return (
            *(self.reads, self.writes, self.live_after, self.shared),
            *(self.fetches, self.required_resident, self.choices),
        )


class OperandUses:
    """Uses of the operands of operations; equal operations share theirs, but for the tensors.

    Parameters
    ----------
    operations
        Equal ones share their mappings, which live as long as these.
    live_after
        Whether the contents of a tensor after an operation are needed.
    """

    def __init__(
        self, operations: Sequence[TileableOperation], live_after: Callable[[int, int], bool]
    ) -> None:
        self._operations, self._live_after = operations, live_after
        self._known: dict[tuple[int, int], tuple[Use, ...]] = {}
        self._forms: dict[int, object] = {}
        self._of_form: dict[object, tuple[Use, ...]] = {}

    def of(self, at: int, micro_batches: int) -> tuple[Use, ...]:
        """Return the uses of an operation in ``micro_batches``."""
        known = self._known.get((at, micro_batches))
        if known is not None:
            return known
        operation = self._operations[at]
        key = (id(operation.mappings[micro_batches]), micro_batches > 1, self.form(at))
        found = self._of_form.get(key)
        if found is None:
            found = self._of_form[key] = tuple(self.alone(at, micro_batches))
        tensors = operation.uses(0)
        if tensors != tuple([use.tensor for use in found]):
            found = tuple([replace(use, tensor=t) for use, t in zip(found, tensors, strict=True)])
        self._known[at, micro_batches] = found
        return found

    def form(self, at: int) -> object:
        """Return the same for operations that use their operands alike, in any mapping."""
        form = self._forms.get(at)
        if form is None:
            operation = self._operations[at]
            first, later = operation.uses(0), operation.uses(1)
            figures = [
                (t in operation.reads, t in operation.writes, self._live_after(t, at))
                for t in first
            ]
            cut = [t in operation.cut for t in first]
            form = self._forms[at] = (*figures, *cut, *map(first.index, later))
        return form

    def alone(self, at: int, micro_batches: int) -> Iterator[Use]:
        """Yield the uses of an operation, from nothing that others share."""
        operation = self._operations[at]
        each = operation.operands(micro_batches)
        first, later = each[0], each[-1]
        common = [own.operands for own in operation.common(micro_batches)]
        for place, (tensor, operand) in enumerate(first.items()):
            yield Use(
                tensor=tensor,
                reads=tensor in operation.reads,
                writes=tensor in operation.writes,
                live_after=self._live_after(tensor, at),
                # In one tile nothing is shared: all tensors are whole to it.
                shared=micro_batches > 1 and tensor not in operation.cut,
                # Tiles may differ in their mappings; the least of them bounds all.
                fetches=min(operand.fetches, later[tensor].fetches),
                required_resident=operand.required_resident and later[tensor].required_resident,
                choices=_choices([own[place] for own in common]),
            )


def _choices(operands: list[Operand]) -> tuple[tuple[int, bool], ...]:
    """Return the figures of an operand in some mappings, if these differ."""
    found = tuple((each.fetches, each.required_resident) for each in operands)
    return found if len(set(found)) > 1 else ()
