"""Layers that several networks share, on top of the graph builder."""

from __future__ import annotations

from math import prod

from spmopt.core.graph import Attribute
from spmopt.graph.build import GraphBuilder
from spmopt.graph.operators.spec import Shape


class NetworkBuilder(GraphBuilder):
    """A graph under construction; every method adds one layer and returns its result.

    ``name`` is the layer's: its weights are ``name.weight`` and ``name.bias``.
    """

    def layer(self, operator: str, name: str, *operands: int, **attributes: Attribute) -> int:
        """Add any operator of one result."""
        return self.add(operator, operands, name=name, **attributes)

    def look_up(self, name: str, rows: int, width: int, table: int) -> int:
        """Return ``rows`` rows of a table of ``table`` rows that is not read as a whole."""
        return self.layer("Lookup", name, self.weight(f"{name}.rows", (rows, width)), table=table)

    def image(self, batch: int, size: int) -> int:
        """Add the network input: ``batch`` square RGB images, channels first."""
        return self.input("image", (batch, 3, size, size))

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
        """Add a convolution with a square kernel and ``channels`` filters."""
        taps = self.shape(x)[1] // groups
        operands = [x, self.weight(f"{name}.weight", (channels, taps, kernel, kernel))]
        if bias:
            operands.append(self.weight(f"{name}.bias", (channels,)))
        window = _window(kernel, stride, pad)
        return self.layer("Conv", name, *operands, **window, group=groups)

    def conv_norm(
        self, name: str, x: int, channels: int, kernel: int, *, stride: int = 1, groups: int = 1
    ) -> int:
        """Add a padded convolution ``name.conv`` and a batch normalization ``name.norm``."""
        pad = (kernel - 1) // 2
        y = self.conv(f"{name}.conv", x, channels, kernel, stride=stride, pad=pad, groups=groups)
        return self.batch_norm(f"{name}.norm", y)

    def conv_norm_act(
        self, name: str, x: int, channels: int, kernel: int, activation: str, *, stride: int = 1
    ) -> int:
        """Add :meth:`conv_norm` and an activation ``name.<activation>``."""
        y = self.conv_norm(name, x, channels, kernel, stride=stride)
        return self.layer(activation, f"{name}.{activation.lower()}", y)

    def batch_norm(self, name: str, x: int) -> int:
        """Normalize over the batch by channel; the running statistics are not trained."""
        channels = (self.shape(x)[1],)
        scale_and_shift = [self.weight(f"{name}.{part}", channels) for part in ("weight", "bias")]
        statistics = [self.state(f"{name}.{part}", channels) for part in ("mean", "variance")]
        return self.layer("BatchNormalization", name, x, *scale_and_shift, *statistics)

    def layer_norm(self, name: str, x: int) -> int:
        """Normalize over the last axis."""
        features = self.shape(x)[-1:]
        scale_and_shift = [self.weight(f"{name}.{part}", features) for part in ("weight", "bias")]
        return self.layer("LayerNormalization", name, x, *scale_and_shift, axis=-1)

    def group_norm(self, name: str, x: int, groups: int) -> int:
        """Normalize each image over its pixels and the channels of a group."""
        channels = (self.shape(x)[1],)
        scale_and_shift = [self.weight(f"{name}.{part}", channels) for part in ("weight", "bias")]
        return self.layer("GroupNormalization", name, x, *scale_and_shift, num_groups=groups)

    def root_mean_square_norm(self, name: str, x: int) -> int:
        """Divide by the root mean square over the last axis, and scale."""
        scale = self.weight(f"{name}.weight", self.shape(x)[-1:])
        return self.layer("RMSNormalization", name, x, scale, axis=-1)

    def join(self, name: str, *parts: int) -> int:
        """Put channels (or columns) of several tensors side by side."""
        return self.layer("Concat", name, *parts, axis=1)

    def relu(self, name: str, x: int) -> int:
        """Add a rectifier."""
        return self.layer("Relu", name, x)

    def dropout(self, name: str, x: int) -> int:
        """Drop elements in training; a view of ``x`` otherwise."""
        return self.layer("Dropout", name, x)

    def max_pool(
        self, name: str, x: int, kernel: int, stride: int, *, pad: int = 0, ceil: bool = False
    ) -> int:
        """Take the maximum of square windows; ``ceil``: a window may overhang the end."""
        window = _window(kernel, stride, pad)
        return self.layer("MaxPool", name, x, **window, ceil_mode=int(ceil))

    def double(self, name: str, x: int) -> int:
        """Double a map in height and width."""
        batch, channels, height, width = self.shape(x)
        return self.layer("Resize", name, x, shape=(batch, channels, 2 * height, 2 * width))

    def global_pool(self, name: str, x: int) -> int:
        """Average over all positions, as a matrix (batch, channels)."""
        return self.flatten(self.layer("GlobalAveragePool", name, x))

    def flatten(self, x: int) -> int:
        """Join all but the first axis; moves no data."""
        batch, *rest = self.shape(x)
        return self.reshape(x, batch, prod(rest))

    def reshape(self, x: int, *shape: int) -> int:
        """Give the same elements another shape; moves no data."""
        return self.add("Reshape", [x], shape=shape)

    def stride(
        self, name: str, x: int, split: Shape, perm: tuple[int, ...], shape: Shape | None = None
    ) -> int:
        """See axes split, in another order, and joined; moves no data."""
        joined = tuple(split[axis] for axis in perm) if shape is None else shape
        return self.layer("StridedView", name, x, split=split, perm=perm, shape=joined)

    def linear(self, name: str, x: int, features: int, *, bias: bool = True) -> int:
        """Add a fully connected layer on a matrix (rows, inputs)."""
        operands = [x, self.weight(f"{name}.weight", (self.shape(x)[-1], features))]
        if bias:
            operands.append(self.weight(f"{name}.bias", (features,)))
        return self.layer("Gemm", name, *operands)


def _window(kernel: int, stride: int, pad: int) -> dict[str, tuple[int, ...]]:
    """Return the attributes of a square window."""
    return {"kernel_shape": (kernel,) * 2, "strides": (stride,) * 2, "pads": (pad,) * 4}
