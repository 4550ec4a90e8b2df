"""Random small networks: convolutions, attention, residual layers and their training steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from spmopt.core.graph import Graph
from spmopt.core.machine import Machine
from spmopt.core.problem import Problem
from spmopt.frontends.zoo.attention import Widths, attention, feed_forward
from spmopt.frontends.zoo.layers import NetworkBuilder
from spmopt.graph.lower import lower
from spmopt.graph.training import training_graph
from spmopt.hardware.machines import load_machine

MACHINES = ("ethos-u65", "gap9", "small-npu")
CAPACITIES_KIB = (64, 96, 128, 192, 256, 384, 512, 1024)
SETUPS = (0, 0, 100, 500)
"""Cycles before a command of the DMA starts."""
OPERATIONS = range(10, 151)
"""How many operations a network has; others are drawn again."""


def drawn_problem(kind: str, seed: int) -> Problem:
    """Return the problem of a kind that ``seed`` determines, layer by layer.

    10 to 150 operations, a scratchpad of 64 KiB to 1 MiB, pages of 4 KiB, one of three machines.
    """
    random = np.random.default_rng([list(KINDS).index(kind), seed])
    while True:
        training = bool(random.random() < 1 / 3)
        graph = KINDS[kind](random, "bf16" if training else "int8")
        machine = _machine(random, training)
        problem = lower(training_graph(graph) if training else graph, machine, mapper="tiled")
        if len(problem.operations) in OPERATIONS:
            return problem


def _machine(random: np.random.Generator, training: bool) -> Machine:
    # Training needs a machine that computes with fractions.
    name = "small-npu" if training else str(random.choice(MACHINES))
    kib = int(random.choice(CAPACITIES_KIB))
    setup = int(random.choice(SETUPS))
    machine = load_machine(name)
    return replace(machine, spm_bytes=kib * 1024, page_bytes=4096, dma_setup_cycles=setup)


def _convolutional(random: np.random.Generator, element_type: str) -> Graph:
    """Draw stages of plain, residual or depthwise-separable convolutions, then a classifier."""
    net = NetworkBuilder("convolutional", element_type=element_type)
    x = net.image(1, int(random.choice((32, 48, 64, 96))))
    channels = int(random.choice((8, 16, 24, 32)))
    x = net.relu("stem.relu", net.conv("stem", x, channels, 3, stride=2, pad=1, bias=True))
    for number in range(int(random.integers(2, 11))):
        if random.random() < 0.4 and net.shape(x)[2] > 4:
            channels, stride = min(2 * channels, 256), 2
        else:
            stride = 1
        block = (_plain, _separable, _residual)[random.integers(3)]
        x = block(net, f"block{number}", x, channels, stride)
    return net.finish([net.linear("classifier", net.global_pool("pool", x), 10)])


def _plain(net: NetworkBuilder, name: str, x: int, channels: int, stride: int) -> int:
    y = net.conv(f"{name}.conv", x, channels, 3, stride=stride, pad=1, bias=True)
    return net.relu(f"{name}.relu", y)


def _separable(net: NetworkBuilder, name: str, x: int, channels: int, stride: int) -> int:
    width = net.shape(x)[1]
    y = net.conv(f"{name}.depth", x, width, 3, stride=stride, pad=1, groups=width, bias=True)
    y = net.relu(f"{name}.relu", y)
    return net.relu(f"{name}.out", net.conv(f"{name}.point", y, channels, 1, bias=True))


def _residual(net: NetworkBuilder, name: str, x: int, channels: int, stride: int) -> int:
    y = _plain(net, f"{name}.1", x, channels, stride)
    y = net.conv(f"{name}.2", y, channels, 3, pad=1, bias=True)
    if net.shape(x) != net.shape(y):
        x = net.conv(f"{name}.skip", x, channels, 1, stride=stride, bias=True)
    return net.relu(f"{name}.relu", net.layer("Add", f"{name}.add", y, x))


def _transformer(random: np.random.Generator, element_type: str) -> Graph:
    """Draw encoder layers on a sequence, and a classifier of each position."""
    heads = int(random.choice((1, 2, 4)))
    hidden = heads * int(random.choice((16, 32, 64)))
    tokens, layers = int(random.choice((16, 32, 64, 128))), int(random.integers(1, 7))
    inner = hidden * int(random.choice((1, 2, 4)))
    widths = Widths(hidden=hidden, inner=inner, heads=heads, activation="Gelu", attention_bias=True)
    net = NetworkBuilder("transformer", element_type=element_type)
    x = net.input("tokens", (1, tokens, hidden))
    for number in range(layers):
        x = attention(net, f"layer{number}.attention", x, x, widths)
        x = feed_forward(net, f"layer{number}.mlp", x, widths)
    x = net.reshape(x, tokens, hidden)
    return net.finish([net.linear("classifier", x, 64)])


def _mixed(random: np.random.Generator, element_type: str) -> Graph:
    """Draw residual convolutions, attention over their pixels, and branches that join."""
    net = NetworkBuilder("mixed", element_type=element_type)
    x = net.image(1, int(random.choice((16, 24, 32))))
    channels = int(random.choice((16, 32, 64)))
    x = net.relu("stem.relu", net.conv("stem", x, channels, 3, stride=2, pad=1, bias=True))
    for number in range(int(random.integers(1, 5))):
        x = _residual(net, f"block{number}", x, channels, 1)
        if random.random() < 0.5:
            parts = [
                _plain(net, f"branch{number}.{part}", x, channels, 1)
                for part in range(int(random.integers(2, 4)))
            ]
            x = net.conv(f"merge{number}", net.join(f"join{number}", *parts), channels, 1)
    _, width, rows, columns = net.shape(x)
    pixels = rows * columns
    y = net.stride("pixels", x, (1, width, pixels), (0, 2, 1))
    widths = Widths(hidden=width, inner=2 * width, heads=2, activation="Gelu", attention_bias=True)
    for number in range(int(random.integers(1, 4))):
        y = attention(net, f"attention{number}", y, y, widths)
        y = feed_forward(net, f"mlp{number}", y, widths)
    y = net.reshape(y, pixels, width)
    return net.finish([net.linear("classifier", y, 10)])


KINDS: Mapping[str, Callable[[np.random.Generator, str], Graph]] = {
    "convolutional": _convolutional,
    "transformer": _transformer,
    "mixed": _mixed,
}
"""By name; a third of each are training steps."""
