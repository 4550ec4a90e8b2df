"""The one entry: a file in, a forward graph out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import onnx

from spmopt.core.errors import InputError, MissingRuleError
from spmopt.core.graph import Graph
from spmopt.frontends.onnx_import.deduce import Facts, Written, deduce
from spmopt.frontends.onnx_import.doubts import Doubts
from spmopt.frontends.onnx_import.emit import Emitter
from spmopt.frontends.onnx_import.evaluation import refuse_training, warn_of_training
from spmopt.frontends.onnx_import.facts import initializer_contents
from spmopt.frontends.onnx_import.masks import take_causal
from spmopt.frontends.onnx_import.missing import missing_rules, without_rule
from spmopt.frontends.onnx_import.modelfile import OF_LIBRARIES, read_model
from spmopt.frontends.onnx_import.network import ModelParts, batch_of_file, take_apart
from spmopt.frontends.onnx_import.sequences import SEQUENCES
from spmopt.frontends.onnx_import.sizes import batch_of, input_facts
from spmopt.frontends.onnx_import.unrolling import CONTROL

_EXPANDED = {**CONTROL, **SEQUENCES}
"""What the walk over nodes takes apart, by operator."""


def load_onnx(
    path: str | Path,
    *,
    batch: int | None = None,
    training: bool = False,
    assume_pointwise: bool = False,
    warn: Callable[[str], None] = warnings.warn,
    sizes: Mapping[str, int] | None = None,
) -> Graph:
    """Return the forward graph of an ONNX file; weights are never read, but for causal masks.

    Parameters
    ----------
    path
        The file. External data need not be there.
    batch
        Batch size in place of the file's, also where constants bake that.
    training
        Warn where a training step that is derived from the graph lacks something.
    assume_pointwise
        Take all operators without a rule for point-wise, with a warning.
    warn
        Receives warnings; by default Python's own.
    sizes
        Sizes of other symbolic dimensions by name, for example ``{"sequence": 128}``, and contents
        of inputs that are one whole number.

    Raises
    ------
    InputError
        The file cannot be used: one line with the remedy.
    """
    model = read_model(path)
    graph = graph_of_model(
        model,
        str(path),
        folder=Path(path).parent,
        file=Path(path),
        batch=batch,
        training=training,
        assume_pointwise=assume_pointwise,
        warn=warn,
        sizes=sizes,
    )
    lacks = warn_of_training(model) if training else None
    if lacks is not None:
        warn(f"{path}: {lacks}")
    return graph


def graph_of_model(
    model: onnx.ModelProto,
    source: str,
    *,
    folder: Path | None = None,
    file: Path | None = None,
    batch: int | None = None,
    training: bool = False,
    assume_pointwise: bool = False,
    warn: Callable[[str], None] = warnings.warn,
    sizes: Mapping[str, int] | None = None,
) -> Graph:
    """Return the forward graph of a model without local functions.

    Parameters are those of :func:`load_onnx`; ``source`` is the name of the model in messages,
    ``folder`` has its external data, if any, and ``file`` large initializers that it lacks.
    """
    if batch is not None and batch < 1:
        raise InputError(f"batch must be at least 1, is {batch}")
    doubts = Doubts()
    try:
        parts = take_apart(model, folder)
        if training:
            # Before any shapes: the cheapest check comes first.
            refuse_training(parts.nodes)
        inputs, written, note = _input_sizes(parts, batch, sizes or {})
        network, facts = _deduce(parts, inputs, written, doubts, assume_pointwise)
        missing = without_rule(network.nodes, facts)
        if missing and not assume_pointwise:
            raise missing_rules(missing)
        network = take_causal(network, facts, initializer_contents(model.graph, folder, file))
        graph = Emitter(network=network, facts=facts, assume_pointwise=assume_pointwise).graph()
    except MissingRuleError as error:
        raise MissingRuleError(f"{source}: {_line(error)}", paste=error.paste) from error
    except InputError as error:
        raise InputError(f"{source}: {_line(error)}") from error
    # Files are not trusted: whatever a library raises of one is the file's fault.
    except OF_LIBRARIES as error:
        raise InputError(
            f"{source}: damaged, or unlike any known file "
            f"({type(error).__name__}: {_line(error)}); export it again, or report it"
        ) from error
    if note:
        warn(f"{source}: {note}")
    doubts.tell(lambda text: warn(f"{source}: {text}"))
    if missing:
        warn(
            f"--assume-pointwise: {', '.join(each.with_example for each in missing)} "
            "without a rule, assumed to be point-wise; say so of each in a file instead "
            "(--operators rules.toml): "
            f"{missing_rules(missing).paste.splitlines()[0]}"
        )
    return graph


def _line(error: Exception) -> str:
    return " ".join(str(error).split())


def _input_sizes(
    network: ModelParts, batch: int | None, sizes: Mapping[str, int]
) -> tuple[Facts, Written | None, str]:
    """Return facts of the inputs, those at the file's batch where that is another, and a note."""
    batch, note = batch_of(network.inputs, batch, sizes)
    # Both are needed: constants of the file are compared at its own batch size.
    inputs, baked = input_facts(network.inputs, batch, sizes), batch_of_file(network.inputs)
    if not isinstance(baked, int) or batch is None or batch == baked:
        return inputs, None, note
    at_baked = input_facts(network.inputs, None, sizes)
    return inputs, Written(facts=at_baked, batches=(baked, batch)), note


def _deduce(
    network: ModelParts,
    inputs: Facts,
    written: Written | None,
    doubts: Doubts,
    assume_pointwise: bool,
) -> tuple[ModelParts, Facts]:
    """Return the model and its facts, or name operators without a rule where they are the cause."""
    try:
        return _facts(network, inputs, written, doubts)
    except InputError as error:
        # An operator without a rule leaves shapes open; it is the cause, not the shape.
        missing = without_rule(network.nodes, None)
        if missing and not assume_pointwise:
            raise missing_rules(missing, error) from error
        raise


def _facts(
    network: ModelParts, inputs: Facts, written: Written | None, doubts: Doubts
) -> tuple[ModelParts, Facts]:
    if written is None:
        return deduce(network, inputs, doubts, _EXPANDED)
    # The first walk, at the file's batch, shows the sizes that the file states.
    _, facts = deduce(network, written.facts, doubts, _EXPANDED)
    doubts.final = True
    try:
        return deduce(network, inputs, doubts, _EXPANDED, replace(written, facts=facts))
    except InputError as error:
        baked, batch = written.batches
        raise InputError(
            f"at batch {batch} instead of the file's {baked}: {error}; export with an open "
            "batch dimension, or keep the file's"
        ) from error
