"""GNMT: a translation network of unrolled LSTMs with attention.

What is built, after the paper (and 001's N = 32, H = 1024, T = 50):

* the encoder: its first layer runs in both directions and hands on (N, 2H); ``layers - 1``
  layers in one direction follow;
* the decoder: ``layers`` layers in one direction. The attention context of a step is
  concatenated with the input of every layer; its query is the output of the lowest
  layer in the step before, its network additive with one hidden layer;
* residual connections from the third layer of each stack;
* embeddings of source and target and an output projection, each with a table of its own.
  The projection with softmax takes all steps at once.

``plain=1`` leaves out the second direction and the residual connections and gives the context
to the lowest layer only: 16 equal layers, as in simpler models of GNMT. Dropout is left out.
Operations run layer by layer where dependencies allow, as LSTM libraries
do to reuse the weights; ``stepwise=1`` runs all layers of a step before the next step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

from spmopt.frontends.zoo.layers import Layers
from spmopt.frontends.zoo.lstm import AdditiveAttention, Lstm
from spmopt.graph.ir import Graph

_FIRST_RESIDUAL = 2  # the third layer


def gnmt(name: str, batch: int, parameters: Mapping[str, int]) -> Graph:
    """Build GNMT."""
    hidden, steps = parameters["hidden"], parameters["steps"]
    net = Layers(name)
    zero = net.builder.state("initial", (batch, hidden))
    source = _embedded_steps(net, "source", batch, parameters)
    encoded = _encoder(net, source, zero, parameters)
    rows = [net.reshape(x, batch, 1, hidden) for x in encoded]
    memory = net.builder.add("Concat", rows, name="memory", axis=1)
    target = _embedded_steps(net, "target", batch, parameters)
    decoded = _decoder(net, target, memory, zero, parameters)
    top = net.builder.add("Concat", decoded, name="decoded", axis=0)
    scores = net.linear("projection", top, parameters["vocabulary"])
    probabilities = net.builder.add("Softmax", [scores], name="softmax", axis=-1)
    return net.finish(net.reshape(probabilities, steps, batch, parameters["vocabulary"]))


def _embedded_steps(net: Layers, name: str, batch: int, parameters: Mapping[str, int]) -> list[int]:
    """Embeddings of a sentence, one (batch, hidden) tensor a step."""
    steps, hidden = parameters["steps"], parameters["hidden"]
    tokens = net.builder.input(f"{name}.tokens", (steps, batch))
    table = net.builder.weight(f"{name}.embedding.weight", (parameters["vocabulary"], hidden))
    x = net.builder.add("Gather", [table, tokens], name=f"{name}.embedding", axis=0)
    parts = net.builder.add_many("Split", [x], name=f"{name}.steps", axis=0, split=(1,) * steps)
    return [net.reshape(part, batch, hidden) for part in parts]


def _order(layers: int, steps: int, stepwise: int) -> Iterator[tuple[int, int]]:
    """Cells (layer, step) in the order in which they run."""
    if stepwise:
        return ((layer, step) for step, layer in product(range(steps), range(layers)))
    return iter(product(range(layers), range(steps)))


def _encoder(net: Layers, inputs: list[int], zero: int, parameters: Mapping[str, int]) -> list[int]:
    hidden, layers, steps = parameters["hidden"], parameters["layers"], len(inputs)
    plain = parameters["plain"]
    bottom = inputs if plain else _both_directions(net, inputs, zero, hidden)
    first = 0 if plain else 1
    stack = [
        Lstm(net, f"encoder{layer}", net.builder.shape(bottom[0])[1], hidden, zero)
        if layer == first
        else Lstm(net, f"encoder{layer}", hidden, hidden, zero)
        for layer in range(first, layers)
    ]
    grid = [bottom, *([0] * steps for _ in stack)]
    for row, step in _order(len(stack), steps, parameters["stepwise"]):
        x = grid[row][step]
        y = stack[row].step(x)
        if first + row >= _FIRST_RESIDUAL and not plain:
            y = net.pointwise("Add", f"encoder{first + row}.residual{step}", x, y)
        grid[row + 1][step] = y
    return grid[-1]


def _both_directions(net: Layers, inputs: list[int], zero: int, hidden: int) -> list[int]:
    """First encoder layer: outputs of both directions side by side, (N, 2H) a step."""
    forward = Lstm(net, "encoder0.forward", hidden, hidden, zero)
    backward = Lstm(net, "encoder0.backward", hidden, hidden, zero)
    ahead = [forward.step(x) for x in inputs]
    behind = [backward.step(x) for x in reversed(inputs)][::-1]
    return [
        net.builder.add("Concat", pair, name=f"encoder0.both{step}", axis=1)
        for step, pair in enumerate(zip(ahead, behind, strict=True))
    ]


def _decoder(
    net: Layers, inputs: list[int], memory: int, zero: int, parameters: Mapping[str, int]
) -> list[int]:
    hidden, layers, steps = parameters["hidden"], parameters["layers"], len(inputs)
    attention = AdditiveAttention(net, "attention", memory)
    plain = parameters["plain"]
    stack = [
        Lstm(net, f"decoder{layer}", hidden if plain and layer else 2 * hidden, hidden, zero)
        for layer in range(layers)
    ]
    grid = [inputs, *([0] * steps for _ in stack)]
    contexts = [0] * steps
    for layer, step in _order(layers, steps, parameters["stepwise"]):
        if layer == 0:
            contexts[step] = attention.context(stack[0].output)
        x = grid[layer][step]
        y = x
        if layer == 0 or not plain:
            name = f"decoder{layer}.input{step}"
            y = net.builder.add("Concat", [x, contexts[step]], name=name, axis=1)
        y = stack[layer].step(y)
        if layer >= _FIRST_RESIDUAL and not plain:
            y = net.pointwise("Add", f"decoder{layer}.residual{step}", x, y)
        grid[layer + 1][step] = y
    return grid[-1]
