"""The one entry: a file in, a forward graph out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from pathlib import Path

from spmopt.core.errors import InputError
from spmopt.core.graph import Graph
from spmopt.frontends.onnx_import.deduce import Written, deduce
from spmopt.frontends.onnx_import.emit import Emitter
from spmopt.frontends.onnx_import.facts import Fact
from spmopt.frontends.onnx_import.modelfile import read_model
from spmopt.frontends.onnx_import.network import (
    ModelParts,
    input_shapes,
    take_apart,
    written_batch,
)


def load_onnx(
    path: str | Path,
    *,
    batch: int | None = None,
    assume_pointwise: bool = False,
    warn: Callable[[str], None] = warnings.warn,
    sizes: Mapping[str, int] | None = None,
) -> Graph:
    """Return the forward graph of an ONNX file; weights are never read.

    Parameters
    ----------
    path
        The file. External data need not be there.
    batch
        Batch size in place of the file's, also where constants bake that.
    assume_pointwise
        Take operators without a rule for point-wise, with a warning each.
    warn
        Receives warnings; by default Python's own.
    sizes
        Sizes of other symbolic dimensions by name, for example ``{"sequence": 128}``.

    Raises
    ------
    InputError
        The file cannot be used: one line that says what to do.
    """
    if batch is not None and batch < 1:
        raise InputError(f"batch must be at least 1, is {batch}")
    model = read_model(path)
    try:
        network = take_apart(model, Path(path).parent)
        facts = _facts(network, batch, sizes or {})
        return Emitter(
            network=network, facts=facts, assume_pointwise=assume_pointwise, warn=warn
        ).graph()
    except InputError as error:
        raise InputError(f"{path}: {' '.join(str(error).split())}") from error


def _facts(network: ModelParts, batch: int | None, sizes: Mapping[str, int]) -> dict[str, Fact]:
    shapes = input_shapes(network.inputs, batch, sizes)
    baked = written_batch(network.inputs)
    if not isinstance(baked, int) or batch is None or batch == baked:
        return deduce(network, shapes)
    facts = deduce(network, input_shapes(network.inputs, None, sizes))
    try:
        return deduce(network, shapes, Written(facts=facts, batches=(baked, batch)))
    except InputError as error:
        raise InputError(
            f"at batch {batch} instead of the file's {baked}: {error}; export with an open "
            "batch dimension, or keep the file's"
        ) from error
