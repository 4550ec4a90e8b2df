"""How torch is asked for a program: exported, decomposed, and with its backward pass."""

from __future__ import annotations

import logging
import warnings
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import torch
from torch._functorch._aot_autograd import descriptors
from torch._functorch.aot_autograd import aot_export_joint_with_descriptors
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind
from torch.nn.attention import SDPBackend, sdpa_kernel

from spmopt.core.border import exists, is_file, is_folder
from spmopt.core.errors import InputError
from spmopt.core.instance import TensorKind
from spmopt.frontends.torch_import.archive import require_harmless, tensors_only
from spmopt.frontends.torch_import.program import CASTS, Program, operator_of

_KINDS = {
    InputKind.PARAMETER: TensorKind.WEIGHT,
    InputKind.BUFFER: TensorKind.STATE,
    InputKind.CONSTANT_TENSOR: TensorKind.STATE,
    InputKind.USER_INPUT: TensorKind.INPUT,
}

_PLAIN = {
    "Weights only load failed": "holds Python objects beside tensors, which torch would unpickle; "
    "export with arguments that are tensors, tuples, lists and plain dictionaries",
    "We ran into an error": "torch cannot read it: damaged, or written by another version of "
    "torch; write it again with torch.export.save",
}
"""What messages of torch mean, by how they begin."""


def read_program(path: str | Path) -> ExportedProgram:
    """Return the program of a file that ``torch.export.save`` wrote.

    Raises
    ------
    InputError
        There is no such file, torch does not read it, or it would run code.
    """
    file = Path(path)
    if not is_file(file):
        what = "is no regular file" if exists(file) and not is_folder(file) else "no such file"
        raise InputError(f"{what}; give a program that torch.export.save wrote")
    if not zipfile.is_zipfile(file):
        raise InputError(
            "is no program of torch.export, or cut short; write it with torch.export.save"
        )
    require_harmless(file)
    with _quietly("torch cannot read it"), tensors_only():
        return torch.export.load(file)


def export(
    module: torch.nn.Module, inputs: Sequence[Any], keywords: Mapping[str, Any]
) -> ExportedProgram:
    """Export a module for example inputs.

    Raises
    ------
    InputError
        torch cannot.
    """
    with _quietly("torch.export fails"):
        return torch.export.export(module, tuple(inputs), dict(keywords))


def prepared(program: ExportedProgram) -> ExportedProgram:
    """Return the program with the mean over images as such: torch makes it of raw strides."""
    aten = torch.ops.aten
    for node in program.graph.nodes:
        if node.target is aten.adaptive_avg_pool2d.default and list(node.args[1]) == [1, 1]:
            node.target, node.args = aten.mean.dim, (node.args[0], [-1, -2], True)
    program.graph_module.recompile()
    return program


def forward(program: ExportedProgram, name: str, keep: Sequence[str]) -> Program:
    """Return the program taken apart to the operators ``keep``.

    Raises
    ------
    InputError
        torch cannot.
    """
    with _quietly("torch cannot take it apart"):
        found = program.run_decompositions(_decompositions(keep))
    signature = found.graph_signature
    specs = {each.arg.name: each for each in signature.input_specs if hasattr(each.arg, "name")}
    nodes = {node.name: node for node in found.graph.nodes}
    return Program(
        name=name,
        nodes=_calls(found.graph),
        sources={
            node: (_KINDS[spec.kind], spec.target or node.name)
            for node in found.graph.nodes
            if node.op == "placeholder"
            and (spec := specs.get(node.name)) is not None
            and spec.kind in _KINDS
        },
        outputs=tuple(
            nodes[each.arg.name]
            for each in signature.output_specs
            if each.kind in (OutputKind.USER_OUTPUT, OutputKind.USER_INPUT_MUTATION)
            or (each.kind is OutputKind.BUFFER_MUTATION and not _is_statistic(nodes[each.arg.name]))
            if getattr(each.arg, "name", None) in nodes
        ),
    )


def joint(program: ExportedProgram, name: str, keep: Sequence[str]) -> Program:
    """Return the forward and backward pass as AOTAutograd traces them, taken apart.

    Of the forward pass only losses, which are single numbers, are results; where there are none the
    backward pass begins at all outputs.

    Raises
    ------
    InputError
        torch cannot, or there is nothing to train.
    """
    module = program.module(check_guards=False)
    if not any(each.requires_grad for each in module.parameters()):
        raise InputError("no parameter requires a gradient; there is nothing to train")
    arguments, keywords = examples(program)
    with _quietly("AOTAutograd fails"), ExitStack() as stack:
        found = aot_export_joint_with_descriptors(
            stack, module, arguments, keywords, decompositions=dict(_decompositions(keep))
        )
        graph = found.graph_module.graph
    sources: dict[torch.fx.Node, tuple[TensorKind, str]] = {}
    tangents: dict[Any, torch.fx.Node] = {}
    parameters: dict[Any, torch.fx.Node] = {}
    for node in graph.find_nodes(op="placeholder"):
        about = node.meta["desc"]
        if isinstance(about, descriptors.ParamAOTInput):
            sources[node] = TensorKind.WEIGHT, about.target
            parameters[about] = node
        elif isinstance(about, descriptors.BufferAOTInput):
            sources[node] = TensorKind.STATE, about.target
        elif isinstance(about, descriptors.TangentAOTInput):
            sources[node] = TensorKind.STATE, node.name
            tangents[about.output] = node
        else:
            sources[node] = TensorKind.INPUT, node.name
    (last,) = graph.find_nodes(op="output")
    results = list(zip(last.args[0], last.meta["desc"], strict=True))
    plain = {
        about: node
        for node, about in results
        if node is not None and isinstance(about, descriptors.PlainAOTOutput)
    }
    losses = [node for node in plain.values() if not node.meta["val"].shape]
    return Program(
        name=name,
        nodes=_calls(graph),
        sources=sources,
        outputs=(
            *losses,
            *(
                node
                for node, about in results
                if isinstance(about, descriptors.InputMutationAOTOutput) and not _is_statistic(node)
            ),
        ),
        tangents={node: plain[about] for about, node in tangents.items() if about in plain},
        gradients={
            parameters[about.grad_of]: node
            for node, about in results
            if node is not None
            and isinstance(about, descriptors.GradAOTOutput)
            and about.grad_of in parameters
        },
    )


def _calls(graph: torch.fx.Graph) -> tuple[torch.fx.Node, ...]:
    """Return all but the results; constants in the module are described as other tensors are."""
    for node in graph.find_nodes(op="get_attr"):
        node.meta.setdefault("val", getattr(graph.owning_module, str(node.target), None))
    return tuple(node for node in graph.nodes if node.op != "output")


def _is_statistic(node: torch.fx.Node) -> bool:
    """Return whether a new state is a count or a running average, which no operation reads.

    A running average is computed in fp32 and converted where the network is of a narrower type.
    """
    while operator_of(node) in CASTS:
        node = node.args[0]
    return not node.meta["val"].shape or "batch_norm" in str(node.args[0])


def _decompositions(keep: Sequence[str]) -> Any:
    """Return torch's own table, without what is to stay."""
    table = torch.export.default_decompositions()
    kept = set(keep)
    for operator in list(table.items()):
        space, _, rest = str(operator[0]).partition(".")
        if space == "aten" and rest.partition(".")[0] in kept:
            table.pop(operator[0])
    return table


def examples(program: ExportedProgram) -> tuple[Any, Any]:
    """Return the arguments that a program was exported with.

    Raises
    ------
    InputError
        It holds none.
    """
    if program.example_inputs is None:
        raise InputError("holds no example inputs; export it again")
    arguments, keywords = program.example_inputs
    return arguments, keywords


@contextmanager
def _quietly(what: str) -> Iterator[None]:
    """Let torch work on one path of its own code, without warnings, its errors in one line.

    Attention is products and a softmax; recurrent networks are steps of products.
    """
    with (
        warnings.catch_warnings(action="ignore"),
        sdpa_kernel(SDPBackend.MATH),
        torch.backends.mkldnn.flags(enabled=False),
    ):
        level = logging.root.manager.disable
        logging.disable(logging.WARNING)  # torch logs errors before it raises them
        try:
            yield
        except (InputError, KeyboardInterrupt, MemoryError):
            raise
        except Exception as error:
            first = next(
                filter(None, map(str.strip, str(error).splitlines())), type(error).__name__
            )
            found = next((plain for start, plain in _PLAIN.items() if first.startswith(start)), "")
            raise InputError(found or f"{what}: {first}") from error
        finally:
            logging.disable(level)
