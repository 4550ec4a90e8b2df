"""Kernels in C, called step by step on arrays of numpy."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from spmopt.execution.emission import binary
from spmopt.execution.emission.reference.steps import Step, Steps, Use, View
from spmopt.execution.graph_kernel import GraphKernel
from spmopt.execution.kernels.call import Array
from spmopt.execution.memory import Bytes

HERE = Path(binary.__file__).parent
_Doubles = ctypes.POINTER(ctypes.c_double)


class _Call(ctypes.Structure):
    _fields_ = (
        ("results", ctypes.POINTER(_Doubles)),
        ("operands", ctypes.POINTER(_Doubles)),
        ("integers", ctypes.POINTER(ctypes.c_int64)),
        ("numbers", _Doubles),
    )


_Kernel = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Call))


class _Named(ctypes.Structure):
    _fields_ = (("name", ctypes.c_char_p), ("kernel", _Kernel))


@cache
def compiled() -> dict[str, Any]:
    """The kernels by name, of one compilation."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "kernels.so"
        options = ("-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared")
        line = ["cc", *options, str(HERE / "kernels.c"), "-lm", "-o", str(file)]
        subprocess.run(line, check=True)
        library = ctypes.CDLL(str(file))
    table = (_Named * 1000).in_dll(library, "spmopt_kernels")
    found: dict[str, Any] = {}
    for each in table:
        if each.name is None:
            return found
        found[each.name.decode()] = each.kernel
    raise AssertionError("no end")


def computed(
    steps: Steps, operands: Sequence[Bytes], kernel: GraphKernel, index: int
) -> list[Bytes]:
    """What steps make of the bytes that an operation reads."""
    operation = kernel.instance.operations[index]
    buffers = list[Array]()
    for each in steps.buffers:
        buffers.append(np.zeros(each.array.size))
        if each.use is Use.READ:
            dtype = kernel.dtypes[operation.reads[each.place]]
            assert dtype is not None
            buffers[-1][:] = operands[each.place].view(dtype)
    for step in steps.steps:
        _run(step, buffers)
    results = [np.empty(0, np.uint8)] * len(operation.writes)
    with np.errstate(all="ignore"):
        for each, buffer in zip(steps.buffers, buffers, strict=True):
            if each.use is Use.WRITE:
                dtype = kernel.dtypes[operation.writes[each.place]]
                assert dtype is not None
                results[each.place] = buffer.astype(dtype).view(np.uint8)
    return results


def _run(step: Step, buffers: Sequence[Array]) -> None:
    views = [_seen(each, buffers) for each in (*step.results, *step.operands)]
    dense = [np.ascontiguousarray(each) for each in views]
    pointers = [each.ctypes.data_as(_Doubles) for each in dense]
    count = len(step.results)
    integers, numbers = (np.array(each) for each in (step.integers or (0,), step.numbers or (0.0,)))
    call = _Call(
        (_Doubles * count)(*pointers[:count]),
        (_Doubles * len(step.operands))(*pointers[count:]),
        integers.astype(np.int64).ctypes.data_as(ctypes.POINTER(ctypes.c_int64)),
        numbers.astype(np.float64).ctypes.data_as(_Doubles),
    )
    compiled()[step.kernel](ctypes.byref(call))
    for view, array in zip(views[:count], dense, strict=False):
        if not np.shares_memory(view, array):
            view[...] = array


def _seen(view: View, buffers: Sequence[Array]) -> Array:
    part = buffers[view.buffer][view.offset :]
    return as_strided(part, view.shape or (1,), [8 * s for s in view.strides] or (8,))
