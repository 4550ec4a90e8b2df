"""Options of commands: records whose fields are parameters of one function of :mod:`spmopt.api`.

Each record takes its help from the docstring of the function that its values are given to:
``load(source, **vars(LoadOptions()))``. cyclopts reads options from fields, types and docstrings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, dataclass_transform

from cyclopts import Group, Parameter

from spmopt.api import inputs, mapper, scheduling
from spmopt.core.errors import InputError
from spmopt.core.validation import is_file

if TYPE_CHECKING:  # they would load numpy, and help should not
    from cyclopts import Token

    from spmopt.api.callbacks import Callbacks
    from spmopt.core.machine import Machine
    from spmopt.core.problem import Problem

HELP_ALL = "--help-all"
HELP_FLAGS = ("--help", "-h", HELP_ALL)
SCHEDULES = Group("Schedules", sort_key=1)
INPUTS = Group("Inputs", sort_key=2)
PARTS = Group("Buffers and layers", sort_key=3)
MANY = Group("Many schedules", sort_key=4)
"""Panels of the list of commands."""
_SEARCH = Group("Search", sort_key=1)
_NETWORK = Group("Network", sort_key=2)
_MACHINE = Group("Machine", sort_key=3)
_MAPPER = Group("Mapper", sort_key=4)
"""Panels of the options of one command."""
T = TypeVar("T")


@dataclass_transform(frozen_default=True, kw_only_default=True)
def option_record(
    function: Callable[..., Any] | None = None, group: Group | None = None
) -> Callable[[type[T]], type[T]]:
    """Return a decorator of records whose fields are options, without a prefix, in a panel.

    Parameters
    ----------
    function
        Function whose docstring has the help of the fields; default: that of the record.
    group
        Panel of the help; default: that of the parameters of the command.
    """

    def decorate(record: type[T]) -> type[T]:
        if function is not None:
            # cyclopts reads the help of fields from the docstring of their class.
            record.__doc__ = function.__doc__
        own = Parameter(name="*") if group is None else Parameter(name="*", group=group)
        return own(dataclass(frozen=True, kw_only=True)(record))

    return decorate


def names(kind: object, tokens: Sequence[Token]) -> tuple[str, ...]:
    """Read names with commas or blanks between."""
    del kind
    # Blanks too: a quoted list from a shell variable often has them.
    return tuple(name for token in tokens for name in token.value.replace(",", " ").split())


def settings(kind: object, tokens: Sequence[Token]) -> dict[str, str]:
    """Read values NAME=VALUE."""
    del kind
    return dict(map(_setting, tokens))


def counts(kind: object, tokens: Sequence[Token]) -> dict[str, int]:
    """Read values NAME=N."""
    found = settings(kind, tokens)
    for name, value in found.items():
        # Python refuses to convert very long digits with an error that names no option.
        if not value.removeprefix("-").isdecimal() or len(value) > _DIGITS:
            raise InputError(f"{tokens[0].keyword} {name}={value}: {value!r} is not a whole number")
    return {name: int(value) for name, value in found.items()}


_DIGITS = 18


def _setting(token: Token) -> tuple[str, str]:
    name, _, value = (part.strip() for part in token.value.partition("="))
    if not (name and value):
        option = token.keyword
        raise InputError(f"{option} {token.value!r}: write {option} NAME=VALUE")
    return name, value


Names = Annotated[tuple[str, ...], Parameter(converter=names, n_tokens=1, metavar="NAMES")]
Settings = Annotated[
    Mapping[str, str],
    Parameter(
        name="--set",
        converter=settings,
        n_tokens=-1,  # one a time, any number of times
        accepts_keys=False,
        metavar="KEY=VALUE",
    ),
]
Counts = Annotated[
    Mapping[str, int],
    Parameter(
        name="--param",
        converter=counts,
        n_tokens=-1,  # one a time, any number of times
        accepts_keys=False,
        metavar="NAME=N",
    ),
]
Objectives = Annotated[Names, Parameter(name="--objective")]
Target = Annotated[Path, Parameter(name=("--output", "-o"), allow_leading_hyphen=True)]
"""File or folder to write, which the docstring of a command describes."""
Output = Annotated[Target, Parameter(help="File to write; an existing one is replaced.")]
Network = Annotated[
    str,
    Parameter(
        help="Name ('spmopt networks' lists them), ONNX file, torch program (.pt2), or JSON."
    ),
]
Networks = Annotated[
    tuple[str, ...],
    Parameter(help="Names, ONNX files, torch programs (.pt2), or problems as JSON."),
]
Result = Annotated[Path, Parameter(help="Result file, written by 'spmopt solve -o'.")]
Jobs = Annotated[int | None, Parameter(help="Number of processes; default: all processors.")]


@option_record()
class Printing:
    """Form of the output.

    Parameters
    ----------
    json
        Print JSON.
    quiet
        Suppress all output except errors.
    """

    json: bool = False
    quiet: Annotated[bool, Parameter(name=("--quiet", "-q"))] = False

    def __post_init__(self) -> None:
        # Neither should win silently: scripts would get no output or unwanted output.
        if self.json and self.quiet:
            raise InputError("--quiet prints nothing, --json prints JSON: give one of them")


@option_record(inputs.load, _NETWORK)
class TrainingOptions:
    """Options of ``inputs.load``."""

    training: bool = False
    optimizer: str | None = None
    dtype: str | None = None
    parameters: Counts | None = None
    assume_pointwise: bool = False
    operators: str | None = None


@option_record(inputs.load, _NETWORK)
class LoadOptions(TrainingOptions):
    """Options of ``inputs.load``."""

    batch: int | None = None


@option_record(inputs.machine, _MACHINE)
class MachineSettings:
    """Options of ``inputs.machine``."""

    spm: str | None = None
    bandwidth: str | None = None
    throughput: str | None = None
    clock: str | None = None
    page: str | None = None
    dma_setup: str | None = None
    duplex: Annotated[bool | None, Parameter(negative="--no-duplex")] = None
    technology: str | None = None
    banks: str | None = None
    settings: Settings | None = None


@option_record(inputs.machine, _MACHINE)
class MachineOptions(MachineSettings):
    """Options of ``inputs.machine``."""

    base: Annotated[str | None, Parameter(name="--machine")] = None
    bank: Annotated[tuple[str, ...], Parameter(metavar="SIZE:TECHNOLOGY[:PORTS]")] = ()

    def machine(self, default: str | Machine, callbacks: Callbacks) -> Machine:
        """Return the machine that the options describe."""
        # vars(self) names parameters of inputs.machine, so that a new option needs no code here.
        changes = {**vars(self), "base": self.base or default}
        return inputs.machine(**changes, callbacks=callbacks)


@option_record(mapper.lower, _MAPPER)
class MapperOptions:
    """Options of ``mapper.lower``."""

    mapper: str | None = None
    fold: Annotated[bool, Parameter(negative="--no-fold")] = True


@option_record(mapper.lower, _MAPPER)
class CostOptions(MapperOptions):
    """Options of ``mapper.lower``."""

    costs: Annotated[str | None, Parameter(metavar="FILE")] = None


@option_record(mapper.lower, _MAPPER)
class LowerOptions(CostOptions):
    """Options of ``mapper.lower``."""

    order: str = "listed"


@option_record(scheduling.solve, _SEARCH)
class Limits:
    """Options of ``scheduling.solve``."""

    time_limit: float = 60.0
    tolerance: float = 1e-4
    threads: int = 2


@option_record(scheduling.solve, _SEARCH)
class AimOptions(Limits):
    """Options of ``scheduling.solve``."""

    objective: str = "time"
    timing: str = "step"

    def aim(self) -> str:
        """Return the name of the objective for the timing."""
        from spmopt.core.objective import with_timing

        return str(with_timing(self.objective, self.timing))


@option_record(scheduling.solve, _SEARCH)
class SearchOptions(AimOptions):
    """Options of ``scheduling.solve``."""

    fusion: str | None = None
    fusion_plan: Annotated[str | None, Parameter(metavar="FILE")] = None
    params: Annotated[str | None, Parameter(metavar="FILE")] = None


@option_record()
class ListedProblemOptions:
    """A network on a machine, in the order of the network."""

    load: LoadOptions = LoadOptions()
    on: MachineOptions = MachineOptions()
    lower: CostOptions = CostOptions()

    def build(self, network: str, callbacks: Callbacks) -> Problem:
        """Load and lower the network; a wrong machine does not wait for a large network."""
        if inputs.is_stored(network):
            return self._lower_again(network, callbacks)
        machine = self.on.machine(inputs.DEFAULT_MACHINE, callbacks)
        workload = inputs.load(network, **vars(self.load), callbacks=callbacks)
        return mapper.lower(workload, machine, **vars(self.lower), callbacks=callbacks)

    def _lower_again(self, network: str, callbacks: Callbacks) -> Problem:
        """Return a stored problem on the machine, as far as its cycles stay the same."""
        from dataclasses import replace

        workload = inputs.load(network, **vars(self.load), callbacks=callbacks)
        if self.on.base is not None:
            raise inputs.already_lowered("base", network)
        assert workload.problem is not None
        doubts = list[str]()
        # A machine that the problem cannot follow is an error; warnings about it come after.
        machine = self.on.machine(workload.problem.machine, replace(callbacks, warn=doubts.append))
        lowered = mapper.lower(workload, machine, **vars(self.lower), callbacks=callbacks)
        for doubt in doubts:
            callbacks.warn(doubt)
        return lowered

    def non_defaults(self) -> list[str]:
        """Return the options that are not at their default."""
        return [name for part in (self.load, self.on, self.lower) for name in give(part)]


@option_record()
class ProblemOptions(ListedProblemOptions):
    """A network on a machine, in any order."""

    lower: LowerOptions = LowerOptions()


_OTHERWISE = {
    "base": "machine",
    "settings": "set",
    "parameters": "param",
    "objectives": "objective",
}
"""Options that are not called as the parameter that they are given to."""


def flag(parameter: str) -> str:
    """Return a parameter as an option is written."""
    return "--" + _OTHERWISE.get(parameter, parameter).replace("_", "-")


def give(options: Any) -> list[str]:
    """Return the options of a record that are not at their default, as they are written."""
    return [
        flag(each.name) for each in fields(options) if getattr(options, each.name) != each.default
    ]


def choices(lead: str, phrases: Mapping[str, str]) -> str:
    """Return the help of an option: ``lead``, and a line for each value with its meaning."""
    return "\n".join((f"{lead}\n", *(f"* {name}: {phrase}" for name, phrase in phrases.items())))


def require_output(path: Path, read: Sequence[object] = (), option: str = "--output") -> None:
    """Fail before the work unless ``path`` can be written, and is none of the files ``read``."""
    from spmopt.io.document import require_writable

    for name in read:
        file = Path(str(name or ""))
        # samefile, not equal names: links and relative paths may name one file.
        if is_file(path) and is_file(file) and path.samefile(file):
            raise InputError(f"{option} {path}: would replace the file that is read; name another")
    require_writable(path)
