"""An unrolled LSTM layer, and additive attention over the encoder's results."""

from __future__ import annotations

from spmopt.frontends.zoo.layers import NetworkBuilder

_GATES = (("i", "Sigmoid"), ("f", "Sigmoid"), ("o", "Sigmoid"), ("g", "Tanh"))


class Lstm:
    """One layer whose weights serve every step.

    A cell is four products of [x, h] by W (inputs + hidden, hidden), bias folded in, an
    activation each, and the point-wise update of the state. ``output`` is the latest (N, H).
    """

    def __init__(self, net: NetworkBuilder, name: str, inputs: int, zero: int) -> None:
        self.net = net
        self.name = name
        self.output = zero
        self._state = zero
        self._steps = 0
        hidden = net.shape(zero)[1]
        # One weight a gate, for x and h together: each gate is one product.
        self._weights = [
            net.weight(f"{name}.{gate}.weight", (inputs + hidden, hidden)) for gate, _ in _GATES
        ]

    def step(self, x: int) -> int:
        """Run one step on ``x`` (N, inputs) and return the new output (N, H)."""
        cell = f"{self.name}.{self._steps}"
        gates = []
        for (gate, activation), weight in zip(_GATES, self._weights, strict=True):
            y = self.net.layer("LSTMGate", f"{cell}.{gate}", x, self.output, weight)
            gates.append(self.net.layer(activation, f"{cell}.{gate}.{activation}", y))
        self._state, self.output = self.net.add_many(
            "LSTMCell", [*gates, self._state], name=f"{cell}.update"
        )
        self._steps += 1
        return self.output


class AdditiveAttention:
    """Scores v tanh(W q + U m) over ``memory`` (N, S, H); the keys U m are computed once."""

    def __init__(self, net: NetworkBuilder, name: str, memory: int) -> None:
        self.net = net
        self.name = name
        self._memory = memory
        self._batch, self._span, self._hidden = net.shape(memory)
        rows = net.reshape(memory, self._batch * self._span, self._hidden)
        keys = net.linear(f"{name}.keys", rows, self._hidden, bias=False)
        self._keys = net.reshape(keys, self._batch, self._span, self._hidden)
        self._query = net.weight(f"{name}.query.weight", (self._hidden, self._hidden))
        self._scores = net.weight(f"{name}.scores.weight", (self._hidden, 1))
        self._steps = 0

    def context(self, query: int) -> int:
        """Return the weighted mean (N, H) of the memory for ``query`` (N, H)."""
        net, step = self.net, f"{self.name}.{self._steps}"
        self._steps += 1
        query = net.layer("Gemm", f"{step}.query", query, self._query)
        query = net.reshape(query, self._batch, 1, self._hidden)
        x = net.layer("Add", f"{step}.add", self._keys, query)
        x = net.layer("Tanh", f"{step}.tanh", x)
        x = net.reshape(x, self._batch * self._span, self._hidden)
        x = net.layer("Gemm", f"{step}.scores", x, self._scores)
        x = net.reshape(x, self._batch, 1, self._span)
        x = net.layer("Softmax", f"{step}.softmax", x, axis=-1)
        x = net.layer("MatMul", f"{step}.mean", x, self._memory)
        return net.reshape(x, self._batch, self._hidden)
