"""Kernels by the names of operators; packages and users add theirs."""

from __future__ import annotations

from collections.abc import Mapping

from spmopt.core.errors import InputError
from spmopt.core.graph import Node
from spmopt.core.plugins import Registry
from spmopt.execution.kernels import (
    attention,
    derivatives,
    forward,
    integers,
    layers,
    movement,
    quantized,
    recurrent,
    reductions,
    sampling,
    selecting,
    training,
    windows,
)
from spmopt.execution.kernels.call import NodeKernel
from spmopt.execution.kernels.onnx_reference import onnx_kernel
from spmopt.execution.kernels.products import product_kernel


def _kernel(name: str, found: object) -> NodeKernel:
    if not callable(found):
        raise InputError(f"kernel {name}: must be a function of a spmopt.execution.kernels.Call")
    return found


_MODULES = (
    *(attention, forward, derivatives, layers, movement, training, windows),
    *(integers, quantized, recurrent, reductions, sampling, selecting),
)
_OWN: Mapping[str, NodeKernel] = {
    name: kernel for module in _MODULES for name, kernel in module.KERNELS.items()
}
KERNELS: Registry[NodeKernel] = Registry(group="spmopt.kernels", make=_kernel, own=_OWN)
"""Kernels of the program, of packages (entry points ``spmopt.kernels``) and of users."""


def register_kernel(operator: str, kernel: NodeKernel) -> None:
    """Register the kernel of an operator.

    Parameters
    ----------
    operator
        As nodes of graphs have it: ``com.acme.Swirl``.
    kernel
        Function of a :class:`~.call.Call` that returns the results.

    Raises
    ------
    InputError
        The operator has another kernel, or this is no function.
    """
    KERNELS.register(operator, kernel)


def kernel_of(node: Node) -> NodeKernel | None:
    """Return the kernel of a node: the program's or a user's, else ONNX's reference, else None."""
    return KERNELS.find(node.operator) or product_kernel(node) or onnx_kernel(node)
