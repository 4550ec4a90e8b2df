"""Layers that several networks share, on top of the graph builder."""

from __future__ import annotations

from math import prod

from spmopt.graph.build import GraphBuilder
from spmopt.graph.ir import Graph


class Layers:
    """A graph under construction; every method adds one layer and returns its result.

    ``name`` is the layer's: its weights are ``name.weight`` and ``name.bias``.
    """

    def __init__(self, name: str) -> None:
        self.builder = GraphBuilder(name)

    def image(self, batch: int, size: int) -> int:
        """Network input: ``batch`` square RGB images, channels first."""
        return self.builder.input("image", (batch, 3, size, size))

    def conv(
        self,
        name: str,
        x: int,
        channels: int,
        kernel: int,
        *,
        stride: int = 1,
        pad: int = 0,
        groups: int = 1,
        bias: bool = False,
    ) -> int:
        """Convolution with a square kernel and ``channels`` filters."""
        taps = self.builder.shape(x)[1] // groups
        operands = [x, self.builder.weight(f"{name}.weight", (channels, taps, kernel, kernel))]
        if bias:
            operands.append(self.builder.weight(f"{name}.bias", (channels,)))
        return self.builder.add(
            "Conv",
            operands,
            name=name,
            kernel_shape=(kernel, kernel),
            strides=(stride, stride),
            pads=(pad,) * 4,
            group=groups,
        )

    def batch_norm(self, name: str, x: int) -> int:
        """Batch normalization over the channels; the running statistics are not trained."""
        channels = (self.builder.shape(x)[1],)
        operands = [
            x,
            self.builder.weight(f"{name}.weight", channels),
            self.builder.weight(f"{name}.bias", channels),
            self.builder.state(f"{name}.mean", channels),
            self.builder.state(f"{name}.variance", channels),
        ]
        return self.builder.add("BatchNormalization", operands, name=name)

    def layer_norm(self, name: str, x: int) -> int:
        """Layer normalization over the last axis."""
        features = self.builder.shape(x)[-1:]
        operands = [
            x,
            self.builder.weight(f"{name}.weight", features),
            self.builder.weight(f"{name}.bias", features),
        ]
        return self.builder.add("LayerNormalization", operands, name=name, axis=-1)

    def root_mean_square_norm(self, name: str, x: int) -> int:
        """Division by the root mean square over the last axis, and a scale."""
        scale = self.builder.weight(f"{name}.weight", self.builder.shape(x)[-1:])
        return self.builder.add("RMSNormalization", [x, scale], name=name, axis=-1)

    def join(self, name: str, *parts: int) -> int:
        """Channels (or columns) of several tensors side by side."""
        return self.builder.add("Concat", parts, name=name, axis=1)

    def pointwise(self, operator: str, name: str, *operands: int) -> int:
        """Element-wise operator without attributes: ``Relu``, ``Add``, ``Dropout``, ..."""
        return self.builder.add(operator, operands, name=name)

    def relu(self, name: str, x: int) -> int:
        """Rectifier."""
        return self.pointwise("Relu", name, x)

    def max_pool(
        self, name: str, x: int, kernel: int, stride: int, *, pad: int = 0, ceil: bool = False
    ) -> int:
        """Max pooling with a square window; ``ceil``: a window may overhang the end."""
        return self.builder.add(
            "MaxPool",
            [x],
            name=name,
            kernel_shape=(kernel, kernel),
            strides=(stride, stride),
            pads=(pad,) * 4,
            ceil_mode=int(ceil),
        )

    def global_pool(self, name: str, x: int) -> int:
        """Average over all positions, as a matrix (batch, channels)."""
        pooled = self.builder.add("GlobalAveragePool", [x], name=name)
        return self.flatten(pooled)

    def flatten(self, x: int) -> int:
        """All but the first axis joined; moves no data."""
        batch, *rest = self.builder.shape(x)
        return self.builder.add("Reshape", [x], shape=(batch, prod(rest)))

    def reshape(self, x: int, *shape: int) -> int:
        """Same elements under another shape; moves no data."""
        return self.builder.add("Reshape", [x], shape=shape)

    def linear(self, name: str, x: int, features: int, *, bias: bool = True) -> int:
        """Fully connected layer on a matrix (rows, inputs)."""
        inputs = self.builder.shape(x)[-1]
        operands = [x, self.builder.weight(f"{name}.weight", (inputs, features))]
        if bias:
            operands.append(self.builder.weight(f"{name}.bias", (features,)))
        return self.builder.add("Gemm", operands, name=name)

    def finish(self, *outputs: int) -> Graph:
        """Return the finished graph."""
        return self.builder.finish(outputs)
