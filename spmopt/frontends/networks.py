"""One entry for every network: a name of the zoo, an ONNX file or a program of torch."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from spmopt.core.errors import InputError, require_package
from spmopt.core.filetypes import kind_of_file
from spmopt.core.graph import Graph
from spmopt.frontends import zoo
from spmopt.graph.elements import with_element_type
from spmopt.graph.operators import register_operators
from spmopt.graph.training import training_graph

FILES = (".onnx", ".pt2")
"""How files that hold a network end."""


def warn_on_stderr(message: str) -> None:
    """Print a warning where it does not disturb results."""
    print(f"warning: {message}", file=sys.stderr)


def load_network(
    name_or_path: str | Path,
    *,
    batch: int | None = None,
    training: bool = False,
    optimizer: str | None = None,
    dtype: str | None = None,
    assume_pointwise: bool = False,
    operators: str | Path | None = None,
    warn: Callable[[str], None] = warn_on_stderr,
    **parameters: int,
) -> Graph:
    """Return the forward or training graph of a network.

    Parameters
    ----------
    name_or_path
        A name of the zoo, or a path that ends in ``.onnx`` or ``.pt2``.
    batch
        Batch size; by default that of the zoo's entry or of the file.
    training
        Derive the graph of one training step.
    optimizer
        Its optimizer: ``sgd``, ``momentum`` or ``adam``; none by default.
    dtype
        Element type of all floating-point tensors; by default fp32, or those of the file.
    assume_pointwise
        Take all operators of a file that have no rule for point-wise, with a warning.
    operators
        TOML file of rules of operators, or classes.
    warn
        Receives warnings.
    parameters
        Parameters of the zoo's entry (``steps=20``), or sizes of symbolic dimensions of the file
        (``sequence=128``), or of dynamic ones of a program of torch.

    Raises
    ------
    InputError
        The network is unknown, or cannot be built or imported as asked: one line.
    """
    if optimizer is not None and not training:
        raise InputError(f"optimizer {optimizer} is for training; add training=True")
    # Before the import: rules of a user decide how nodes are taken apart.
    if operators is not None:
        register_operators(operators, warn=warn)
    ending = Path(name_or_path).suffix.lower()
    if ending in FILES:
        graph = _importer(ending, name_or_path)(
            name_or_path,
            batch=batch,
            training=training,
            assume_pointwise=assume_pointwise,
            warn=warn,
            sizes=parameters,
        )
    else:
        require_network(str(name_or_path))
        graph = zoo.network(str(name_or_path), batch=batch, **parameters)
    if dtype is not None:
        # Before the training graph, whose master weights depend on the width of the weights.
        graph = with_element_type(graph, dtype)
    return training_graph(graph, optimizer=optimizer) if training else graph


def _importer(ending: str, name: str | Path) -> Callable[..., Graph]:
    """Return the importer of a kind of file, whose libraries take seconds to load."""
    if ending == ".pt2":
        require_package("torch", f"{name}: a program of torch")
        require_package("onnxscript", f"{name}: a program of torch")
        from spmopt.frontends.torch_import import load_torch

        return load_torch
    require_package("onnx", f"{name}: an ONNX file")
    from spmopt.frontends.onnx_import import load_onnx

    return load_onnx


def require_network(name: str) -> None:
    """Raise :class:`InputError` unless a network has this name; say so if it is a file."""
    try:
        zoo.entry(name)
    except InputError as error:
        # A path without a known ending is a more likely mistake than a name.
        kind = kind_of_file(Path(name))
        if kind:
            raise InputError(
                f"{name}: {kind}; where a network is asked for, give its name, an ONNX file "
                "(.onnx), a program of torch (.pt2) or a stored problem (.json)"
            ) from None
        raise InputError(
            f"{error} (a file must end in .onnx or .pt2, a stored problem in .json)"
        ) from None
