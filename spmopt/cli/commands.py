"""The commands: module, panel and summary of each."""

from __future__ import annotations

from cyclopts import Group

HELP_ALL = "--help-all"
HELP_FLAGS = ("--help", "-h", HELP_ALL)
SCHEDULES = Group("Schedules", sort_key=1)
INPUTS = Group("Inputs", sort_key=2)
PARTS = Group("Buffers and layers", sort_key=3)
MANY = Group("Many schedules", sort_key=4)
"""Panels of the list of commands, which needs no options."""
COMMANDS = {
    "solve": ("schedule", SCHEDULES, "Schedule a network, verify the schedule, certify its bound."),
    "bound": ("schedule", SCHEDULES, "Certify a lower bound layer by layer, without a schedule."),
    "compare": ("schedule", SCHEDULES, "Compare schedulers with the best certified bound."),
    "verify": ("analyses", SCHEDULES, "Recompute every claim of a result file, without a solver."),
    "explain": ("analyses", SCHEDULES, "Explain the stalls of a schedule, and their remedies."),
    "ablate": ("ablation", SCHEDULES, "Show the saving of each decision, one after the other."),
    "run": ("run", SCHEDULES, "Execute a verified schedule on real numbers."),
    "emit": ("emit", SCHEDULES, "Write DMA and compute commands for the back end of a compiler."),
    "trace": ("views", SCHEDULES, "Write a schedule, or two, as a trace for ui.perfetto.dev."),
    "plot": ("views", SCHEDULES, "Draw a schedule, two, a sweep or a search: .png, .svg, .pdf."),
    "report": (
        "views",
        SCHEDULES,
        "Make an offline page (HTML) of schedules, a sweep or a search.",
    ),
    "inspect": ("inspect", INPUTS, "Show inputs, operators, layers and peak of a network."),
    "networks": ("lists", INPUTS, "List the networks that are built in."),
    "schedulers": ("lists", INPUTS, "List the schedulers and their options."),
    "machines": ("lists", INPUTS, "List machines."),
    "technologies": ("lists", INPUTS, "List memory technologies, or their figures at a capacity."),
    "problem": ("schedule", INPUTS, "Write the problem of a network as JSON."),
    "export": ("views", INPUTS, "Write the integer program of a problem as MPS or LP."),
    "allocate": ("parts", PARTS, "Assign offsets to buffers with known lifetimes."),
    "tiles": ("parts", PARTS, "Compare orders of a layer's gradients in tiles."),
    "sweep": ("sweep", MANY, "Run schedulers over ranges of machines and batch sizes."),
    "tune": ("tune", MANY, "Search machines for networks; show the Pareto front."),
}
"""Module, panel and summary of each command."""
