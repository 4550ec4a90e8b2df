"""GNMT: a translation network of unrolled LSTMs with attention.

Structure, after the paper (and 001's N = 32, H = 1024, T = 50):

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

from collections.abc import Iterable, Iterator
from itertools import product

from spmopt.frontends.zoo.layers import NetworkBuilder
from spmopt.frontends.zoo.lstm import AdditiveAttention, Lstm

_FIRST_RESIDUAL = 2  # the third layer


def gnmt(
    net: NetworkBuilder,
    batch: int,
    *,
    layers: int,
    steps: int,
    hidden: int,
    vocabulary: int,
    stepwise: int,
    plain: int,
) -> list[int]:
    """Build GNMT."""
    zero = net.state("initial", (batch, hidden))
    source = _embed_steps(net, "source", (steps, batch), (vocabulary, hidden))
    bottom, first = (source, 0) if plain else (_both_directions(net, source, zero), 1)
    encoder = [
        Lstm(net, f"encoder{k}", net.shape(bottom[0])[1] if k == first else hidden, zero)
        for k in range(first, layers)
    ]
    order = _order(len(encoder), steps, stepwise)
    encoded = _run(net, "encoder", encoder, bottom, order, first=first, plain=plain)
    memory = net.join("memory", *(net.reshape(x, batch, 1, hidden) for x in encoded))
    target = _embed_steps(net, "target", (steps, batch), (vocabulary, hidden))
    attention = AdditiveAttention(net, "attention", memory)
    decoder = [
        Lstm(net, f"decoder{k}", hidden if plain and k else 2 * hidden, zero) for k in range(layers)
    ]
    order = _order(layers, steps, stepwise)
    decoded = _run(net, "decoder", decoder, target, order, plain=plain, attention=attention)
    top = net.layer("Concat", "decoded", *decoded, axis=0)
    probabilities = net.layer(
        "Softmax", "softmax", net.linear("projection", top, vocabulary), axis=-1
    )
    return [net.reshape(probabilities, steps, batch, vocabulary)]


def _embed_steps(
    net: NetworkBuilder, name: str, tokens: tuple[int, int], table: tuple[int, int]
) -> list[int]:
    """Embeddings of a sentence, (steps, batch) ``tokens``: one (batch, hidden) tensor a step."""
    (steps, batch), (_, hidden) = tokens, table
    numbers = net.input(f"{name}.tokens", tokens)
    rows = net.weight(f"{name}.embedding.weight", table)
    x = net.layer("Gather", f"{name}.embedding", rows, numbers, axis=0)
    parts = net.add_many("Split", [x], name=f"{name}.steps", axis=0, split=(1,) * steps)
    return [net.reshape(part, batch, hidden) for part in parts]


def _order(layers: int, steps: int, stepwise: int) -> Iterator[tuple[int, int]]:
    """Return the cells (layer, step) in the order in which they run."""
    if stepwise:
        return ((layer, step) for step, layer in product(range(steps), range(layers)))
    return product(range(layers), range(steps))


def _both_directions(net: NetworkBuilder, inputs: list[int], zero: int) -> list[int]:
    """Add the first encoder layer: outputs of both directions side by side, (N, 2H) a step."""
    hidden = net.shape(zero)[1]
    forward = Lstm(net, "encoder0.forward", hidden, zero)
    backward = Lstm(net, "encoder0.backward", hidden, zero)
    ahead = [forward.step(x) for x in inputs]
    behind = [backward.step(x) for x in reversed(inputs)][::-1]
    return [
        net.join(f"encoder0.both{step}", *pair)
        for step, pair in enumerate(zip(ahead, behind, strict=True))
    ]


def _run(
    net: NetworkBuilder,
    name: str,
    stack: list[Lstm],
    inputs: list[int],
    order: Iterable[tuple[int, int]],
    *,
    first: int = 0,
    plain: int,
    attention: AdditiveAttention | None = None,
) -> list[int]:
    """Return the results (steps) of a stack of layers, of which the lowest is layer ``first``."""
    grid = [inputs, *([0] * len(inputs) for _ in stack)]
    contexts = [0] * len(inputs)
    for row, step in order:
        layer, x = first + row, grid[row][step]
        y = x
        if attention is not None and layer == 0:
            contexts[step] = attention.context(stack[0].output)
        if attention is not None and (layer == 0 or not plain):
            y = net.join(f"{name}{layer}.input{step}", x, contexts[step])
        y = stack[row].step(y)
        if layer >= _FIRST_RESIDUAL and not plain:
            y = net.layer("Add", f"{name}{layer}.residual{step}", x, y)
        grid[row + 1][step] = y
    return grid[-1]
