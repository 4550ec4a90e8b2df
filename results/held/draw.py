"""Networks and machines by a seeded draw: three families, two halves that share no draw."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random

import spmopt
from spmopt.frontends.zoo.attention import gate, project
from spmopt.frontends.zoo.layers import NetworkBuilder as Net

HALVES = "seen", "unseen"
"""Nobody solves the second while the program is developed."""
CASES = 20
"""Of each half."""
OPERATIONS = range(10, 401)
"""How many a network has; others are drawn again."""


MACHINES: Mapping[str, tuple[int, Sequence[int], str, str]] = {
    "ethos-u65": (1, (1,), "int8", ""),
    "small-npu": (1, (1, 2, 4), "int8 bf16 fp16", "bf16 fp32"),
    "large-npu": (2, (1, 4, 8), "int8 bf16", "bf16"),
    "tpuv4i": (4, (4, 8, 16), "int8 bf16", "bf16"),
}
"""Multiple of the least widths, batches, element types forward and (if it may) in training."""


@dataclass(frozen=True)
class Draw:
    """One network on one machine, which follow from half and number."""

    half: str
    number: int
    family: str
    machine: str
    training: bool
    element_type: str
    batch: int

    def problem(self) -> spmopt.Problem:
        """Lower the first network of :data:`OPERATIONS`, by default."""
        machine = spmopt.machine(self.machine)
        lowered = (spmopt.lower(network, machine) for network in self.networks())
        return next(problem for problem in lowered if len(problem.operations) in OPERATIONS)

    def networks(self) -> Iterator[spmopt.Workload]:
        """Yield networks, as long as they come."""
        name, scale = f"{self.half} {self.number}", MACHINES[self.machine][0]
        random = Random(f"spmopt network {name}")
        while True:
            net = Net(name, element_type=self.element_type)
            result = FAMILIES[self.family](net, random, self.batch, scale)
            yield spmopt.load(net.finish([result]), training=self.training)


def drawn(half: str, number: int) -> Draw:
    """Draw all of a case but its network; families take turns, in each steps and machines."""
    random = Random(f"spmopt case {half} {number}")
    turn, family = divmod(number, len(FAMILIES))
    training = turn % 2 == 1
    able = [name for name, given in MACHINES.items() if given[3] or not training]
    Random(f"spmopt machines {half}").shuffle(able)
    machine = able[(turn // 2 + family) % len(able)]
    _, batches, *types = MACHINES[machine]
    element_type, batch = random.choice(types[training].split()), random.choice(batches)
    return Draw(half, number, [*FAMILIES][family], machine, training, element_type, batch)


def _conv(net: Net, x: int, channels: int, kernel: int, act: str = "", **window: int) -> int:
    """Add a padded convolution, its normalization, and an activation."""
    name = f"conv{len(net.nodes)}"
    y = net.conv_norm(name, x, channels, kernel, **window)
    return net.layer(act, f"{name}.act", y) if act else y


def _plain(net: Net, random: Random, x: int, channels: int, stride: int) -> int:
    return _conv(net, x, channels, random.choice((3, 3, 5)), "Relu", stride=stride)


def _bottleneck(net: Net, random: Random, x: int, channels: int, stride: int) -> int:
    """Add a residual block of three convolutions, the middle one perhaps in groups."""
    inner = channels // random.choice((2, 4))
    groups = random.choice([each for each in (1, 1, 2, 4, 8) if inner % each == 0])
    y = _conv(net, x, inner, 1, "Relu")
    y = _conv(net, y, inner, 3, "Relu", stride=stride, groups=groups)
    return _residual(net, x, _conv(net, y, channels, 1), stride)


def _basic(net: Net, random: Random, x: int, channels: int, stride: int) -> int:
    y = _conv(net, x, channels, 3, "Relu", stride=stride)
    return _residual(net, x, _conv(net, y, channels, 3), stride)


def _residual(net: Net, x: int, y: int, stride: int) -> int:
    if net.shape(x) != net.shape(y):
        x = _conv(net, x, net.shape(y)[1], 1, stride=stride)
    return net.relu("", net.add("Add", [x, y]))


def _inverted(net: Net, random: Random, x: int, channels: int, stride: int) -> int:
    """Add a wide depthwise convolution, perhaps scaled by channel, between narrow maps."""
    name, act = f"inverted{len(net.nodes)}", random.choice(("Relu", "HardSwish", "Swish"))
    width = net.shape(x)[1] * random.choice((2, 4, 6))
    y = _conv(net, x, width, 1, act)
    y = _conv(net, y, width, random.choice((3, 5, 7)), act, stride=stride, groups=width)
    if random.random() < 0.3:
        pooled = net.add("GlobalAveragePool", [y])
        squeezed = net.relu("", net.conv(f"{name}.squeeze", pooled, max(8, width // 16), 1))
        excited = net.conv(f"{name}.excite", squeezed, width, 1)
        y = net.add("Mul", [y, net.add("Sigmoid", [excited])])
    y = _conv(net, y, channels, 1)
    return net.add("Add", [x, y]) if net.shape(x) == net.shape(y) else y


def convolutional(net: Net, random: Random, batch: int, scale: int) -> int:
    """Draw stages of one kind of block, then a classifier or a map of classes."""
    x = net.image(batch, random.choice((64, 96, 128, 160, 192, 224)))
    channels = random.choice((8, 16, 24, 32)) * scale
    x = _conv(net, x, channels, random.choice((3, 5, 7)), "Relu", stride=random.choice((1, 2)))
    if random.random() < 0.4:
        x = net.max_pool("pool", x, 3, 2, pad=1)
    for _ in range(random.randint(2, 5)):
        block = random.choice((_plain, _basic, _bottleneck, _inverted))
        channels = min(random.choice((channels, channels * 3 // 2 // 8 * 8, 2 * channels)), 1024)
        for repeat in range(random.randint(1, 4)):
            stride = random.choice((1, 2, 2)) if not repeat and net.shape(x)[2] > 7 else 1
            x = block(net, random, x, channels, stride)
    if random.random() < 0.3:
        return net.conv("map", x, random.choice((10, 100)), 1, bias=True)
    return net.linear("classes", net.global_pool("mean", x), random.choice((10, 100, 1000)))


def _attend(net: Net, x: int, heads: int, groups: int, *, bias: bool) -> int:
    """Attend to all tokens; the heads of a group have their keys and values in common."""
    name = f"attention{len(net.nodes)}"
    batch, length, hidden = net.shape(x)
    width, each = hidden // heads, heads // groups
    split, rows = (batch, length, groups, each, width), (batch, groups, length * each, width)
    shared = batch, length, groups, width
    query = project(net, f"{name}.query", x, hidden, bias=bias)
    query = net.stride(f"{name}.queries", query, split, (0, 2, 1, 3, 4), rows)
    key = project(net, f"{name}.key", x, groups * width, bias=bias)
    key = net.stride(f"{name}.keys", key, shared, (0, 2, 3, 1))
    value = project(net, f"{name}.value", x, groups * width, bias=bias)
    value = net.stride(f"{name}.values", value, shared, (0, 2, 1, 3))
    weights = net.add("Softmax", [net.add("MatMul", [query, key])], axis=-1)
    y, split = net.add("MatMul", [weights, value]), (batch, groups, length, each, width)
    y = net.stride(f"{name}.joined", y, split, (0, 2, 1, 3, 4), (batch, length, hidden))
    return project(net, f"{name}.output", y, hidden, bias=bias)


def _perceive(net: Net, x: int, inner: int, *, gated: bool) -> int:
    name, features = f"mlp{len(net.nodes)}", net.shape(x)[-1]
    if gated:
        y = gate(net, name, x, inner, "Swish", bias=False)
    else:
        y = net.add("Gelu", [project(net, f"{name}.1", x, inner, bias=True)])
    return project(net, f"{name}.2", y, features, bias=not gated)


def _layers(net: Net, random: Random, x: int, count: int, heads: int) -> int:
    """Add Transformer layers, whose drawn properties are the same in all."""
    hidden = net.shape(x)[2]
    groups = random.choice([each for each in (1, 2, 4, heads, heads) if heads % each == 0])
    inner, gated = hidden * random.choice((1, 2, 3, 4)), random.random() < 0.4
    first, norm = random.random() < 0.6, net.root_mean_square_norm if gated else net.layer_norm
    attend = partial(_attend, net, heads=heads, groups=groups, bias=not gated)
    for part in (attend, partial(_perceive, net, inner=inner, gated=gated)) * count:
        y = part(norm(f"norm{len(net.nodes)}", x) if first else x)
        x = net.add("Add", [x, y])
        x = x if first else norm(f"norm{len(net.nodes)}", x)
    return x


def attention(net: Net, random: Random, batch: int, scale: int) -> int:
    """Draw an encoder, and a classifier of each token."""
    heads = random.choice((2, 3, 4, 6, 8)) * scale
    hidden = heads * random.choice((16, 32, 64))
    tokens = random.choice((32, 64, 100, 128, 197, 256, 384, 512))
    x = net.input("tokens", (batch, tokens, hidden))
    x = _layers(net, random, x, random.randint(1, 10), heads)
    return project(net, "classes", x, random.choice((10, 1000, 8000)), bias=True)


def _pixels(net: Net, random: Random, x: int, count: int) -> int:
    """Add Transformer layers on the pixels of a map; channels come last there."""
    batch, channels, height, width = net.shape(x)
    y = net.add("Transpose", [x], perm=(0, 2, 3, 1))
    heads = random.choice([each for each in (1, 2, 4, 8) if channels % each == 0])
    y = _layers(net, random, net.reshape(y, batch, height * width, channels), count, heads)
    return net.add("Transpose", [net.reshape(y, batch, height, width, channels)], perm=(0, 3, 1, 2))


def _hybrid(net: Net, random: Random, x: int, channels: int) -> int:
    """Add convolutions, then attention, at each of falling resolutions."""
    for _ in range(random.randint(2, 3)):
        channels *= random.choice((1, 2))
        x = random.choice((_inverted, _basic))(net, random, x, channels, 2)
        if net.shape(x)[2] <= 28:
            x = _pixels(net, random, x, random.randint(1, 3))
    return net.linear("classes", net.global_pool("mean", x), 100)


def _unet(net: Net, random: Random, x: int, channels: int) -> int:
    """Add a U-Net with attention at its lowest resolution."""
    maps = []
    for _ in range(random.randint(2, 3)):
        x = _basic(net, random, x, channels, 1)
        maps.append(x)
        channels *= 2
        x = _conv(net, x, channels, 3, "Relu", stride=2)
    x = _pixels(net, random, x, random.randint(1, 2))
    for skip in reversed(maps):
        x = _basic(net, random, net.join("", net.double("", x), skip), net.shape(skip)[1], 1)
    return net.conv("map", x, random.choice((2, 4, 21)), 1, bias=True)


def _mixer(net: Net, random: Random, x: int, channels: int) -> int:
    """Add layers that mix tokens, then channels."""
    batch, width, *sides = net.shape(x)
    tokens, ratio = sides[0] * sides[1], random.choice((1, 2, 4))
    x = net.add("Transpose", [net.reshape(x, batch, width, tokens)], perm=(0, 2, 1))
    for _ in range(random.randint(2, 6)):
        y = net.add("Transpose", [net.layer_norm(f"norm{len(net.nodes)}", x)], perm=(0, 2, 1))
        y = _perceive(net, y, max(16, tokens * ratio // 2), gated=False)
        x = net.add("Add", [x, net.add("Transpose", [y], perm=(0, 2, 1))])
        y = net.layer_norm(f"norm{len(net.nodes)}", x)
        x = net.add("Add", [x, _perceive(net, y, width * ratio, gated=False)])
    return project(net, "classes", x, 10, bias=True)


def mixed(net: Net, random: Random, batch: int, scale: int) -> int:
    """Draw a convolutional stem, and what follows it."""
    kind = random.choice((_hybrid, _unet, _mixer))
    x = net.image(batch, random.choice((64, 96, 112, 128)))
    channels = random.choice((16, 32, 48)) * scale
    x = _conv(net, x, channels, 3, "Relu", stride=2)
    if kind is _mixer:
        x = net.conv("patches", x, channels * random.choice((2, 4)), 4, stride=4, bias=True)
    return kind(net, random, x, channels)


FAMILIES: Mapping[str, Callable[[Net, Random, int, int], int]]
FAMILIES = {each.__name__: each for each in (convolutional, attention, mixed)}
"""By name: they add a network of a batch, with widths of a scale, and return its result."""
