"""Programs in another element type than their own, and those that are trained as exported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree

from spmopt.core.elements import element_type
from spmopt.core.errors import InputError
from spmopt.frontends.torch_import.capture import examples, export

_COMPUTED: Mapping[str, torch.dtype] = {
    "fp64": torch.float64,
    "fp32": torch.float32,
    "bf16": torch.bfloat16,
    "fp16": torch.float16,
}
"""Types in which torch computes all of a network."""
_NORMALIZATION = 5
_DROPOUT = 2
"""Where the argument stands that says whether a network is trained."""


def in_type(program: ExportedProgram, name: str) -> ExportedProgram:
    """Return a program of which parameters, buffers and inputs with floats are of another type.

    It is exported again, so results are of the types that torch gives them then: statistics of
    normalizations, for one, are kept wider.

    Raises
    ------
    InputError
        There is no such type, torch does not compute in it, or not in all of the program.
    """
    element_type(name)
    if name not in _COMPUTED:
        raise InputError(
            f"dtype {name}: torch traces no training step in it; name one of {', '.join(_COMPUTED)}"
        )
    wanted = _COMPUTED[name]
    arguments, keywords = pytree.tree_map_only(
        torch.Tensor, lambda each: _cast(each, wanted), examples(program)
    )
    try:
        return export(program.module(check_guards=False).to(wanted), arguments, keywords)
    except InputError as error:
        raise InputError(
            f"dtype {name}: {error} (the program fixes types itself; export the module in that "
            "type, or under torch.autocast)"
        ) from error


def _cast(tensor: Any, wanted: torch.dtype) -> Any:
    return tensor.to(wanted) if tensor.is_floating_point() else tensor


def missed_in_training(program: ExportedProgram) -> str | None:
    """Return what the training step of a program of evaluation mode lacks; None if nothing."""
    aten = torch.ops.aten
    frozen = dropped = 0
    for node in program.graph.nodes:
        if node.target is aten.batch_norm.default:
            frozen += not node.args[_NORMALIZATION]
        elif node.target is aten.dropout.default:
            dropped += not node.args[_DROPOUT]
        else:
            frozen += node.target is aten._native_batch_norm_legit_no_training.default
    lacks = [
        *([f"{frozen} normalizations run on stored statistics"] if frozen else []),
        *([f"{dropped} dropouts do nothing"] if dropped else []),
    ]
    if not lacks:
        return None
    return (
        f"{' and '.join(lacks)}: it was exported for evaluation; for a training step, export it "
        "after module.train()"
    )
