"""Graphs from programs of torch. The only package that imports ``torch`` for networks."""

from __future__ import annotations

from spmopt.frontends.torch_import.load import graph_of_module, load_torch

__all__ = ["graph_of_module", "load_torch"]
