"""Graphs from ONNX files. The only package that imports ``onnx``."""

from __future__ import annotations

from spmopt.frontends.onnx_import.load import graph_of_model, load_onnx

__all__ = ["graph_of_model", "load_onnx"]
