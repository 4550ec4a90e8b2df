"""Hostile inputs by what they are: each recipe writes files and returns a command line."""

from __future__ import annotations

from tests.fuzz import bases
from tests.fuzz.case import Random, Recipe
from tests.fuzz.recipes import schedules
from tests.fuzz.recipes.causes import CAUSES, SELDOM
from tests.fuzz.recipes.documents import graph, problem, result
from tests.fuzz.recipes.models import (
    constants,
    damaged_model,
    expanding_model,
    functions,
    long_chain,
    strange_model,
)
from tests.fuzz.recipes.outputs import addresses, names, studies
from tests.fuzz.recipes.places import locked, no_file
from tests.fuzz.recipes.rows import buffers, costs, drawn_rows, sweep_rows, topology
from tests.fuzz.recipes.schedules import changed_schedule, extreme, fused
from tests.fuzz.recipes.tables import fusion_plan, machine, operators, project, space, technology
from tests.fuzz.recipes.texts import json_nest, long_json, long_toml, toml_nest, yaml_machine
from tests.fuzz.recipes.words import command_line, ranges, swept

RECIPES: dict[Recipe, float] = {
    **{problem: 60, result: 60, graph: 30, changed_schedule: 200, extreme: 50, fused: 1},
    **{machine: 100, technology: 60, space: 5, project: 1, operators: 20, fusion_plan: 2},
    **{json_nest: 20, toml_nest: 60, yaml_machine: 30, long_json: 0.2, long_toml: 0.3},
    **{sweep_rows: 60, drawn_rows: 0.3, buffers: 60, topology: 40, costs: 30},
    **{damaged_model: 60, strange_model: 50, functions: 10, constants: 15, expanding_model: 0.2},
    **{long_chain: 0.02},
    **{command_line: 90, ranges: 90, swept: 0.1, no_file: 60, locked: 0.5},
    **{names: 5, studies: 0.5, addresses: 10},
}
"""Recipes, and how often each is drawn; what takes long is drawn seldom."""
_CAUSES, _SELDOM = 0.01, 0.02
"""Share of causes of old, and of those that take seconds among them."""
ALL = {recipe.__name__: recipe for recipe in RECIPES} | CAUSES


def drawn(seed: int, number: int) -> tuple[str, Recipe, Random]:
    """Return name and recipe of a case, and its random numbers."""
    rng = Random(f"{seed}/{number}")
    if rng.random() < _CAUSES:
        some = SELDOM if rng.random() < _SELDOM else CAUSES.keys() - SELDOM
        name = rng.choice(sorted(some))
        return name, CAUSES[name], rng
    recipe = rng.choices(list(RECIPES), list(RECIPES.values()))[0]
    return recipe.__name__, recipe, rng


def warm() -> None:
    """Make all that recipes start from, which also imports most of the program."""
    bases.warm()
    schedules.warm()
