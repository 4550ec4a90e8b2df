"""Kernels of operators on arrays: forward by ONNX's reference, the rest in numpy."""

from spmopt.execution.kernels.call import Call
from spmopt.execution.kernels.registry import KERNELS, kernel_of, register_kernel

__all__ = ["KERNELS", "Call", "kernel_of", "register_kernel"]
