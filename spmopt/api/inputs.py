"""Networks and machines: the inputs of a problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spmopt.api.arguments import check
from spmopt.api.callbacks import QUIET, Callbacks
from spmopt.core.errors import ArgumentError, InputError, require_package
from spmopt.core.validation import is_folder

if TYPE_CHECKING:
    from torch.nn import Module

    from spmopt.core.graph import Graph
    from spmopt.core.machine import Machine
    from spmopt.core.problem import Problem
    from spmopt.hardware.settings import Setting

DEFAULT_MACHINE = "rtx2080ti"
NETWORK_OPTIONS = (
    *("training", "batch", "optimizer", "dtype", "parameters", "assume_pointwise", "operators"),
)
"""Options of :func:`load`."""
SETTINGS = (
    *("spm", "bandwidth", "throughput", "clock", "page", "dma_setup", "duplex"),
    *("technology", "banks"),
)
"""Settings that :func:`machine` has parameters of their own for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A network to schedule: a graph, or a problem that is lowered already.

    Attributes
    ----------
    title
        Name in tables: network, batch size and other options.
    source
        Name or path that it was loaded by.
    graph
        Forward or training graph; None where ``problem`` is given.
    problem
        A lowered problem, whose cycles and sizes are fixed.
    """

    title: str
    source: str
    graph: Graph | None = None
    problem: Problem | None = None

    def __repr__(self) -> str:
        return f"<Workload {self.title}>"


def is_stored(source: object) -> bool:
    """Return whether ``source`` names a JSON file."""
    return str(source).lower().endswith(".json")


@check
def load(
    source: str | Path | Graph | Problem,
    *,
    training: bool = False,
    batch: int | None = None,
    optimizer: str | None = None,
    dtype: str | None = None,
    parameters: Mapping[str, int] | None = None,
    assume_pointwise: bool = False,
    operators: str | Path | None = None,
    callbacks: Callbacks = QUIET,
) -> Workload:
    """Load a network, or a problem that was lowered before.

    Parameters
    ----------
    source
        Network name ('spmopt networks' lists them), ONNX file, torch program (.pt2), problem as
        JSON file, graph or problem.
    training
        Derive the graph of one training iteration.
    batch
        Batch size; default: the network's own.
    optimizer
        Optimizer of the training iteration: sgd, momentum or adam; default: none.
    dtype
        Element type of weights and activations, e.g. bf16 or int8; default: the file's, else fp32.
    parameters
        Parameter of the network, e.g. steps=50, or size of an open dimension of an ONNX file; may
        be repeated.
    assume_pointwise
        Treat all unknown operators of an ONNX file as point-wise.
    operators
        TOML file with a rule or a class for each unknown operator, e.g. a line
        MyOperator.class = "pointwise".
    callbacks
        Receive progress and warnings.

    Returns
    -------
    Workload
        To be lowered by :func:`lower`.

    Raises
    ------
    InputError
        The network or file cannot be used, or an option does not apply to it.
    """
    options: dict[str, Any] = dict(locals())
    from spmopt.core.problem import Problem

    # By identity: 0 is a batch size, though none that can be used.
    given = [
        name
        for name in NETWORK_OPTIONS
        if options[name] is not None and options[name] is not False and options[name] != {}
    ]
    if isinstance(source, Problem) or is_stored(source):
        return _store(source, given)
    require_training(optimizer, training)
    # Both are keyword arguments of load_network: one would silently replace the other.
    for name in (name for name in parameters or {} if name in ("name_or_path", "warn", *options)):
        raise ArgumentError("parameters", f": {name} is an option of its own; leave it out here")
    from spmopt.core.graph import Graph

    if isinstance(source, Graph):
        return _of_graph(source, training, optimizer, dtype, given)
    from spmopt.frontends import zoo
    from spmopt.frontends.networks import FILES, load_network

    path = Path(source)
    if path.suffix.lower() in FILES and is_folder(path):
        raise InputError(f"{source}: is a folder; name a file in it")
    callbacks.progress(f"building {source}", None)
    named = {name: options[name] for name in NETWORK_OPTIONS if name != "parameters"}
    graph = load_network(source, warn=callbacks.warn, **named, **options["parameters"] or {})
    parts = [f"{path.name} training" if training else path.name]
    # Titles state the batch size, given or not: figures without it mislead.
    if batch is None and str(source) in zoo.names():
        batch = zoo.entry(str(source)).batch
    parts += [] if batch is None else [f"batch {batch}"]
    parts += [text for text in (dtype, optimizer) if text is not None]
    parts += [f"{name}={value}" for name, value in (parameters or {}).items()]
    return Workload(title=", ".join(parts), source=str(source), graph=graph)


def from_torch(
    module: Module,
    example_inputs: Sequence[object],
    *,
    keywords: Mapping[str, object] | None = None,
    training: bool = False,
    optimizer: str | None = None,
) -> Workload:
    """Load a network from a module of torch, by its ONNX exporter; weights are never read.

    Parameters
    ----------
    module
        A ``torch.nn.Module``, in the mapping in which it is to run (``module.eval()``); one on the
        device ``meta`` takes no memory.
    example_inputs
        Its arguments: tensors of the shapes and types that are scheduled.
    keywords
        Arguments by name.
    training
        Derive the graph of one training iteration. It begins at losses that the module computes;
        without losses at all results, whose gradients come from labels.
    optimizer
        Optimizer of the training iteration: sgd, momentum or adam; default: none.

    Returns
    -------
    Workload
        To be lowered by :func:`lower`.

    Raises
    ------
    InputError
        torch is not installed or cannot export the module, or an operator has no rule.
    """
    # The exporter of torch imports onnxscript late, with an error that is hard to read.
    for package in ("torch", "onnxscript"):
        require_package(package, "from_torch")
    require_training(optimizer, training)
    from spmopt.frontends.torch_import import graph_of_module
    from spmopt.graph.training import training_graph

    graph = graph_of_module(module, example_inputs, keywords=keywords, training=training)
    if training:
        graph = training_graph(graph, optimizer=optimizer)
    parts = [f"{graph.name} training" if training else graph.name, optimizer or ""]
    return Workload(title=", ".join(filter(None, parts)), source=graph.name, graph=graph)


def _of_graph(
    graph: Graph, training: bool, optimizer: str | None, dtype: str | None, given: Sequence[str]
) -> Workload:
    from spmopt.graph.elements import with_element_type
    from spmopt.graph.training import training_graph

    for name in (name for name in given if name not in ("training", "optimizer", "dtype")):
        raise ArgumentError(name, f": {graph.name} is built already; build it so")
    if dtype is not None:
        graph = with_element_type(graph, dtype)
    if training:
        graph = training_graph(graph, optimizer=optimizer)
    return Workload(title=graph.name, source=graph.name, graph=graph)


def _store(source: object, given: Sequence[str]) -> Workload:
    from spmopt.core.problem import Problem
    from spmopt.io.files import read_problem

    shown = source.name if isinstance(source, Problem) else str(source)
    for name in given:
        raise already_lowered(name, shown)
    if not isinstance(source, Problem):
        path = Path(str(source))
        if is_folder(path):
            raise InputError(f"{path}: is a folder; name a file in it")
        source = read_problem(path)
    return Workload(title=source.name, source=shown, problem=source)


def already_lowered(option: str, source: str, why: str = "") -> InputError:
    """Return the error for an option, or a key of one, that a lowered problem cannot follow."""
    parameter, blank, key = option.partition(" ")
    problem = f"{blank}{key}: {source} is lowered already{why}; name a network instead"
    return ArgumentError(parameter, problem)


def require_training(optimizer: str | None, training: bool) -> None:
    """Raise :class:`InputError` for an optimizer that is none, or that has nothing to do."""
    if optimizer is None or training:
        return
    from spmopt.graph.training import require_optimizer

    require_optimizer(optimizer)
    raise ArgumentError("optimizer", f" {optimizer}: is for training; ask for training, too")


@check
def machine(
    base: str | Path | Machine = DEFAULT_MACHINE,
    *,
    spm: str | int | None = None,
    bandwidth: str | int | None = None,
    throughput: str | int | None = None,
    clock: str | int | None = None,
    page: str | int | None = None,
    dma_setup: str | int | None = None,
    duplex: bool | None = None,
    technology: str | None = None,
    banks: str | int | None = None,
    bank: Sequence[str] = (),
    settings: Mapping[str, Setting] | None = None,
    callbacks: Callbacks = QUIET,
) -> Machine:
    """Load a machine, and change some of its settings.

    Quantities are texts with a unit, or whole numbers in base units (bytes, bytes per second,
    operations per second, hertz).

    Parameters
    ----------
    base
        Machine: name ('spmopt machines' lists them), or TOML or YAML file.
    spm
        Scratchpad size, e.g. 24MB or 24MiB.
    bandwidth
        DRAM bandwidth, e.g. 616GB/s.
    throughput
        Compute rate, e.g. 13.45TFLOP/s.
    clock
        Clock frequency, e.g. 1545MHz.
    page
        Page size of the scratchpad, e.g. 4KiB: the default from 512 KiB on, below that less.
    dma_setup
        Start-up time of a DMA command, in cycles.
    duplex
        Full bandwidth for DRAM reads and for DRAM writes.
    technology
        Memory technology of the scratchpad: name ('spmopt technologies' lists them) or TOML file.
    banks
        Number of parallel banks of the scratchpad's technology; default: unlimited.
    bank
        Bank of the scratchpad with its own technology, e.g. 2MB:nvsim-sram; may be repeated.
        Streams pass through the first bank. With a number of ports, e.g. 4MB:nvsim-stt:64, accesses
        take time.
    settings
        Any setting of a machine file, e.g. energy.mac_pj=1.5; may be repeated.
    callbacks
        Receive warnings.

    Returns
    -------
    Machine
        The changed machine; the given one is not touched.

    Raises
    ------
    InputError
        An unknown machine or setting, or a value that cannot be used.
    """
    options = dict(locals())
    from spmopt.core.machine import Machine

    given = {key: options[key] for key in SETTINGS}
    changes = {**(settings or {}), **{k: value for k, value in given.items() if value is not None}}
    if isinstance(base, Machine) and not (changes or bank or base.memory or base.banks):
        return base  # the same, and without technologies whose sources could disagree
    from spmopt.hardware.machines import list_left_out, load_machine, override
    from spmopt.hardware.scratchpad import disagreement, sources_of
    from spmopt.hardware.settings import BANK, require_units, split_banks

    # Here, not in override: records state bytes without a unit, users must not.
    require_units(split_banks(str(changes.get(BANK, ""))), BANK)
    if isinstance(base, Machine):
        found = override(base, changes)
    else:
        found = load_machine(str(base), changes)
    chosen = found.page_bytes if "page" in changes else None
    found = _with_banks(found, bank, given)
    if chosen is not None and found.page_bytes != chosen:
        found = replace(found, page_bytes=chosen)
    # A machine in memory has no file whose fields could be lost.
    unread = None if isinstance(base, Machine) else list_left_out(str(base))
    for warning in (disagreement(sources_of(found)), unread):
        if warning is not None:
            callbacks.warn(warning)
    return found


def _with_banks(machine: Machine, bank: Sequence[str], given: Mapping[str, object]) -> Machine:
    """Replace the scratchpad by the parts that ``bank`` describes."""
    if not bank:
        return machine
    for key in ("spm", "technology", "banks"):
        if given[key] is not None:
            raise InputError(f"{key} and bank: banks make up the scratchpad; give one of them")
    from spmopt.hardware.scratchpad import with_banks
    from spmopt.hardware.settings import read_banks, require_units

    require_units(bank, "bank")
    return with_banks(machine, read_banks(bank, "bank"))
