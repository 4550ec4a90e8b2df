"""From the words of the command line to an instance and a request."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from math import isfinite
from pathlib import Path

from spmopt.cli.options import Changes, Search, Source
from spmopt.core.errors import InputError
from spmopt.core.instance import Instance
from spmopt.core.machine import Machine
from spmopt.core.objective import objective_named
from spmopt.core.scheduler import Request
from spmopt.hardware.machines import load_machine, override
from spmopt.hardware.scratchpad import disagreement, sources_of
from spmopt.hardware.settings import Setting

Report = Callable[[str, float | None], None]
Warn = Callable[[str], None]

DEFAULT_MACHINE = "rtx2080ti"
_OPTIONS = ("name_or_path", "batch", "training", "optimizer", "assume_pointwise", "warn")
_FIXED = ("throughput", "clock", "array.rows", "array.columns", "array.dataflow", "banks")


def load_instance(source: Source, report: Report, warn: Warn) -> Instance:
    """Read or build the instance that ``source`` describes.

    Raises
    ------
    InputError
        A network, file, machine or option that cannot be used.
    """
    if source.network.lower().endswith((".json", ".onnx")) and Path(source.network).is_dir():
        raise InputError(f"{source.network}: is a folder; name a file in it")
    require_training(source.optimizer, source.training)
    if source.network.lower().endswith(".json"):
        stored = _stored_instance(source)
        _warn_of_sources(stored.machine, warn)
        return stored
    machine = load_machine(source.machine or DEFAULT_MACHINE, overrides(source.changes))
    machine = _with_banks(machine, source)
    _warn_of_sources(machine, warn)
    # The operators take a moment to load; a wrong machine should not wait for them.
    from spmopt.frontends.networks import load_network
    from spmopt.graph.lower import lower

    report(f"building {source.network}", None)
    graph = load_network(
        source.network,
        batch=source.batch,
        training=source.training,
        optimizer=source.optimizer,
        assume_pointwise=source.assume_pointwise,
        warn=warn,
        **parameters(source.param or ()),
    )
    report("lowering", None)
    instance = lower(graph, machine, lowering=source.lowering or "tiled")
    return replace(instance, name=_title(source), source=source.network)


def require_training(optimizer: str | None, training: bool) -> None:
    """Raise :class:`InputError` for an optimiser that is none, or that has nothing to do."""
    if optimizer is None or training:
        return
    from spmopt.graph.training import require_optimizer

    require_optimizer(optimizer)
    raise InputError(f"--optimizer {optimizer}: is for training; add --training")


def make_request(
    search: Search, instance: Instance, report: Report, stop: Callable[[], bool]
) -> Request:
    """Return the request that ``search`` describes; raises :class:`InputError`."""
    require_limits(search.time_limit, search.tolerance, threads=search.threads)
    return Request(
        objective=objective_named(search.objective, instance.machine),
        tolerance=search.tolerance,
        time_limit_s=search.time_limit,
        threads=search.threads,
        stop=stop,
        report=report,
    )


def require_limits(time_limit: float, tolerance: float, **counts: int | None) -> None:
    """Raise :class:`InputError` for a limit or a count of an option that makes no sense."""
    for name, value in (("--time-limit", time_limit), ("--tolerance", tolerance)):
        if not isfinite(value) or value < 0:
            raise InputError(f"{name} {value}: must be a number, 0 or more")
    for name, count in counts.items():
        if count is not None and count < 1:
            raise InputError(f"--{name} {count}: must be at least 1")


def _warn_of_sources(machine: Machine, warn: Warn) -> None:
    """Say where banks are of technologies that are not to be compared."""
    mixed = disagreement(sources_of(machine))
    if mixed is not None:
        warn(mixed)


def _stored_instance(source: Source) -> Instance:
    """Read an instance; its cycles and sizes are fixed, the rest of its machine is not."""
    from spmopt.io.files import read_instance

    given = {
        "--training": source.training,
        "--batch": source.batch is not None,
        "--optimizer": source.optimizer is not None,
        "--param": bool(source.param),
        "--assume-pointwise": source.assume_pointwise,
        "--lowering": source.lowering is not None,
        "--machine": source.machine is not None,
    }
    for option in (option for option, is_given in given.items() if is_given):
        raise InputError(f"{option}: {source.network} is lowered already; name a network instead")
    changed = overrides(source.changes)
    for key in _FIXED:
        if key in changed:
            raise InputError(
                f"{key}: {source.network} is lowered already, its cycles are fixed; "
                "name a network instead"
            )
    instance = read_instance(Path(source.network))
    memory = instance.machine.memory
    if memory is not None and memory.banks is not None:
        for key in ("spm", "technology", "bank"):
            if key in changed or (key == "bank" and source.bank):
                raise InputError(
                    f"{key}: {source.network} is lowered already, its cycles are those of "
                    f"{memory.banks} banks of {memory.technology}; name a network instead"
                )
    return replace(instance, machine=_with_banks(override(instance.machine, changed), source))


def _with_banks(machine: Machine, source: Source) -> Machine:
    """Read the values of ``--bank``, and put them in the scratchpad's place."""
    if not source.bank:
        return machine
    for key in ("spm", "technology", "banks"):
        if getattr(source.changes, key) is not None:
            raise InputError(f"--{key} and --bank: banks make up the scratchpad; give one of them")
    from spmopt.hardware.scratchpad import with_banks
    from spmopt.hardware.settings import read_banks

    return with_banks(machine, read_banks(source.bank, "--bank"))


def has_banks(source: Source) -> bool:
    """Whether an option, or the machine of a network, names banks; raises :class:`InputError`."""
    if source.bank or source.network.lower().endswith(".json"):
        return bool(source.bank)
    machine = load_machine(source.machine or DEFAULT_MACHINE, overrides(source.changes))
    return bool(machine.banks)


def overrides(changes: Changes) -> dict[str, Setting]:
    """Settings by their keys in a machine file; raises :class:`InputError`."""
    settings: dict[str, Setting] = dict(pair(text, "--set") for text in changes.set or ())
    given = {f.name: getattr(changes, f.name) for f in fields(changes) if f.name != "set"}
    return settings | {key: value for key, value in given.items() if value is not None}


def parameters(texts: Sequence[str]) -> dict[str, int]:
    """Read the values of ``--param``; raises :class:`InputError`."""
    found = {}
    for text in texts:
        name, value = pair(text, "--param")
        if name in _OPTIONS:
            raise InputError(f"--param {text}: {name} is an option of its own, see --help")
        if not value.isascii() or not value.removeprefix("-").isdigit() or len(value) > 18:
            raise InputError(f"--param {text}: {value!r} is not a whole number")
        found[name] = int(value)
    return found


def pair(text: str, option: str) -> tuple[str, str]:
    """Read NAME=VALUE; raises :class:`InputError`."""
    name, equals, value = (part.strip() for part in text.partition("="))
    if not (name and equals and value):
        raise InputError(f"{option} {text!r}: write {option} NAME=VALUE")
    return name, value


def _title(source: Source) -> str:
    """Network and options in words; a file goes by its name, whatever it calls itself."""
    from spmopt.frontends import zoo

    name = Path(source.network).name
    parts = [f"{name} training" if source.training else name]
    batch = source.batch
    if batch is None and source.network in zoo.names():
        batch = zoo.entry(source.network).batch
    if batch is not None:
        parts.append(f"batch {batch}")
    if source.optimizer is not None:
        parts.append(source.optimizer)
    return ", ".join([*parts, *(text.replace(" ", "") for text in source.param or ())])
