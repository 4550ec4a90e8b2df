"""Optimal, verified schedules for software-managed scratchpad memories of DNN accelerators.

::

    import spmopt

    workload = spmopt.load("resnet18", training=True, batch=4)
    machine = spmopt.machine("rtx2080ti", spm="8MB")
    problem = spmopt.lower(workload, machine)
    solution = spmopt.solve(problem, "page")
    table = spmopt.compare(problem, ["belady", "page"])
    table.to_frame()

All public names stand here; each is loaded when it is first used.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES: dict[str, str] = {}


def _homes() -> dict[str, str]:
    """Read from the stub, which type checkers read too, where each name is from."""
    if not _HOMES:
        import ast
        from pathlib import Path

        tree = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
        for node in tree.body:
            if isinstance(node, ast.ImportFrom):
                _HOMES.update({alias.name: str(node.module) for alias in node.names})
    return _HOMES


def __getattr__(name: str) -> Any:
    if name not in _homes():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _homes()[name]
    # A package of this one is no attribute before it is imported.
    own = home == __name__
    value = import_module(f"{home}.{name}") if own else getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({"__version__", *_homes()})
