"""The program: its commands, each in a module that is imported when it is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cyclopts import App, Parameter
from cyclopts.help import DefaultFormatter

from spmopt import __version__
from spmopt.cli.commands import COMMANDS, HELP_ALL, HELP_FLAGS

if TYPE_CHECKING:
    from cyclopts.help import HelpPanel
    from rich.console import Console, ConsoleOptions

_RARE = frozenset(
    (
        *("--optimizer", "--param", "--assume-pointwise", "--operators"),
        *("--page", "--dma-setup", "--duplex", "--technology", "--banks", "--bank", "--set"),
        *("--mapper", "--fold", "--costs", "--threads", "--params", "--backend", "--seed"),
        *("--timeout", "--keep-schedules", "--schedule-for", "--prune"),
        *("--tile", "--partition", "--element-bytes"),
        *("--products-of-activations", "--all-input-gradients", "--im2col", "--add-early"),
        *("--data", "--clock"),
    )
)
"""Options that only ``--help-all`` shows."""


class _Help(DefaultFormatter):
    """Help without rare options, unless all are asked for."""

    def __init__(self, every: bool) -> None:
        super().__init__()
        self._every = every

    def __call__(self, console: Console, options: ConsoleOptions, panel: HelpPanel) -> None:
        """Print one panel."""
        entries = [
            # An empty default would be shown in brackets; None hides it.
            each.copy(default=each.default or None)
            for each in panel.entries
            if self._every or not _RARE.intersection(each.names)
        ]
        if entries:
            super().__call__(console, options, panel.copy(entries=entries))


def _default(value: object) -> str:
    """Return a default as it is written; empty for flags and optional values."""
    if isinstance(value, tuple):
        return ",".join(value)
    return "" if value is None or isinstance(value, bool) else f"{value}"


def application(words: list[str]) -> App:
    """Build the program; the module of a command is imported once ``words`` name it."""
    from spmopt.cli.terminal.output import results

    # Decided before parsing: the formatter is needed to build the program.
    every = HELP_ALL in words
    app = App(
        name="spmopt",
        help="Optimal, verified schedules for the scratchpad of a DNN accelerator.",
        help_format="markdown",
        help_flags=HELP_FLAGS,
        help_epilogue="" if every or not words else f"{HELP_ALL} shows all options.",
        help_formatter=_Help(every),
        version=f"spmopt {__version__}",
        version_flags=("--version", "-V"),
        default_parameter=Parameter(negative=(), show_default=_default, allow_repeating=True),
        console=results(),
    )
    for name, (module, group, summary) in COMMANDS.items():
        # The page of a command has all of its docstring, the list of commands the summary.
        own = words[:1] == [name]
        path = f"spmopt.cli.{module}:{name}"
        app.command(path, name=name, group=group, help=None if own else summary)
    # To register it for a command, which does not show it, would only take time.
    if words[:1] not in [[name] for name in COMMANDS]:
        app.register_install_completion_command(help="Install completion of commands in the shell.")
    return app
