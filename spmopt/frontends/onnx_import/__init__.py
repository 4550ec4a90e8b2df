"""Graphs from ONNX files. The only package that imports ``onnx``."""

from __future__ import annotations

from spmopt.frontends.onnx_import.load import load_onnx

__all__ = ["load_onnx"]
