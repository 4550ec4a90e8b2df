# %% [markdown]
# # My ONNX model
#
# A model file, a machine, a schedule with its bound. This page makes a tiny model with the package `onnx`;
# the path of a file of your own takes its place.

# %%
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import spmopt

folder = Path(tempfile.mkdtemp())
shapes = {"w1": (16, 3, 3, 3), "w2": (32, 16, 3, 3), "w3": (32, 32, 3, 3)}
weights = [numpy_helper.from_array(np.zeros(s, np.float32), n) for n, s in shapes.items()]
nodes, source = [], "image"
for number, weight in enumerate(shapes, 1):
    nodes.append(helper.make_node("Conv", [source, weight], [f"c{number}"], pads=[1, 1, 1, 1]))
    nodes.append(helper.make_node("Relu", [f"c{number}"], [f"r{number}"]))
    source = f"r{number}"
image = helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 3, 64, 64])
result = helper.make_tensor_value_info(source, TensorProto.FLOAT, ["batch", 32, 64, 64])
graph = helper.make_graph(nodes, "tiny", [image], [result], weights)
onnx.save(
    helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), folder / "tiny.onnx"
)

# %% [markdown]
# The dimension `batch` is open in the file: `batch=` fixes it. `dtype="int8"` overrides the element types.

# %%
network = spmopt.load(folder / "tiny.onnx", batch=1, dtype="int8")
network

# %% [markdown]
# A machine is a name, a TOML file, or settings on top of one.

# %%
machine = spmopt.machine("ethos-u65", spm="64KiB", bandwidth="1GB/s")
problem = spmopt.lower(network, machine)
len(problem.operations), sum(tensor.size_bytes for tensor in problem.tensors)

# %% [markdown]
# `fusion` decides fusion plan and residency together. `residency` keeps the problem layer by layer.

# %%
table = spmopt.compare(problem, ["belady", "residency", "fusion"], time_limit=2)
table

# %%
best = table.best
best.status, best.makespan_s, best.gap

# %% [markdown]
# The checker recomputes schedule, figures and bound from the file alone, without a solver.

# %%
best.save(folder / "tiny.json")
spmopt.verify(folder / "tiny.json")

# %% [markdown]
# `explain` names the largest stalls, and the worth of more scratchpad or bandwidth.

# %%
spmopt.explain(best, top=2)
