"""The U-Net of Stable Diffusion 1.x: one step of taking noise from a latent image.

Blocks of two convolutions, each told the time, and Transformers that attend to all pixels of the
map and to the text, at all resolutions but the lowest. Inputs are the latent image, an eighth of
``image`` in height and width, the sinusoids of the time, and the embedded text of ``sequence``
tokens. Channels are multiples of ``width``. Convolutions take channels first and Transformers
channels last: maps are transposed in between, and data moves. The gate of the feed-forward layers
is a projection of its own, where the published code has both side by side in one.
"""

from __future__ import annotations

from dataclasses import dataclass

from spmopt.core.errors import InputError
from spmopt.frontends.zoo.attention import Widths, attend, gate, project
from spmopt.frontends.zoo.layers import NetworkBuilder

_LATENT = 4
"""Channels of a latent image."""
_TEXT = 768
"""Features of a token of the text."""
_LEVELS = (1, 2, 4, 4)
"""Channels of each resolution, as multiples of ``width``."""
_GROUPS, _HEADS, _DEPTH = 32, 8, 2


@dataclass(frozen=True, slots=True, kw_only=True)
class _Conditions:
    """Conditions of all blocks: the embedded time and the text."""

    time: int
    text: int


def unet(net: NetworkBuilder, batch: int, *, image: int, sequence: int, width: int) -> list[int]:
    """Build the U-Net."""
    if image % 64 or width % _GROUPS:
        raise InputError(
            f"network {net.name}: image must be a multiple of 64 and width of {_GROUPS}, "
            f"is image {image}, width {width}"
        )
    latent = net.input("latent", (batch, _LATENT, image // 8, image // 8))
    time = _time(net, net.input("time", (batch, width)))
    told = _Conditions(time=time, text=net.input("text", (batch, sequence, _TEXT)))
    x = _conv(net, "in", latent, width)
    x, maps = _down(net, x, width, told)
    x = _block(net, "middle.0", x, net.shape(x)[1], told)
    x = _transformer(net, "middle.1", x, told)
    x = _block(net, "middle.2", x, net.shape(x)[1], told)
    x = _up(net, x, maps, width, told)
    return [_conv(net, "out", _normalize(net, "out", x), _LATENT)]


def _time(net: NetworkBuilder, sinusoids: int) -> int:
    width = 4 * net.shape(sinusoids)[1]
    x = net.layer("Swish", "time.swish", net.linear("time.1", sinusoids, width))
    return net.linear("time.2", x, width)


def _down(net: NetworkBuilder, x: int, width: int, told: _Conditions) -> tuple[int, list[int]]:
    """Return the last map, and all that are joined to others on the way up."""
    maps = [x]
    for level, multiple in enumerate(_LEVELS):
        for index in range(_DEPTH):
            x = _block(net, f"down{level}.{index}.block", x, width * multiple, told)
            x = _attend(net, f"down{level}.{index}.transformer", x, level, told)
            maps.append(x)
        if level + 1 < len(_LEVELS):
            x = _conv(net, f"down{level}.half", x, width * multiple, stride=2)
            maps.append(x)
    return x, maps


def _up(net: NetworkBuilder, x: int, maps: list[int], width: int, told: _Conditions) -> int:
    """Return the last map; ``maps`` are taken from the end."""
    for level, multiple in reversed([*enumerate(_LEVELS)]):
        for index in range(_DEPTH + 1):
            name = f"up{level}.{index}"
            x = net.join(f"{name}.join", x, maps.pop())
            x = _block(net, f"{name}.block", x, width * multiple, told)
            x = _attend(net, f"{name}.transformer", x, level, told)
        if level:
            x = net.double(f"up{level}.double", x)
            x = _conv(net, f"up{level}.doubled", x, net.shape(x)[1])
    return x


def _attend(net: NetworkBuilder, name: str, x: int, level: int, told: _Conditions) -> int:
    """Add a Transformer, but for the lowest resolution."""
    return x if level + 1 == len(_LEVELS) else _transformer(net, name, x, told)


def _block(net: NetworkBuilder, name: str, x: int, channels: int, told: _Conditions) -> int:
    """Add a block of two convolutions beside a shortcut."""
    batch = net.shape(x)[0]
    y = _conv(net, f"{name}.1", _normalize(net, f"{name}.1", x), channels)
    time = net.linear(f"{name}.time", net.layer("Swish", f"{name}.time.swish", told.time), channels)
    y = net.layer("Add", f"{name}.time.add", y, net.reshape(time, batch, channels, 1, 1))
    y = _conv(net, f"{name}.2", _normalize(net, f"{name}.2", y), channels)
    if net.shape(x)[1] != channels:
        x = net.conv(f"{name}.shortcut", x, channels, 1, bias=True)
    return net.layer("Add", f"{name}.add", x, y)


def _transformer(net: NetworkBuilder, name: str, x: int, told: _Conditions) -> int:
    """Add a Transformer on the pixels of a map, beside a shortcut."""
    batch, channels, height, width = net.shape(x)
    y = net.group_norm(f"{name}.norm", x, _GROUPS)
    y = net.conv(f"{name}.in", y, channels, 1, bias=True)
    y = net.layer("Transpose", f"{name}.last", y, perm=(0, 2, 3, 1))
    y = net.reshape(y, batch, height * width, channels)
    for what, memory in (("self", None), ("cross", told.text)):
        y = _attention(net, f"{name}.{what}", y, memory)
    y = _feed_forward(net, f"{name}.ffn", y)
    y = net.reshape(y, batch, height, width, channels)
    y = net.layer("Transpose", f"{name}.first", y, perm=(0, 3, 1, 2))
    y = net.conv(f"{name}.out", y, channels, 1, bias=True)
    return net.layer("Add", f"{name}.add", x, y)


def _attention(net: NetworkBuilder, name: str, x: int, memory: int | None) -> int:
    """Add a sublayer that attends to ``memory``, or to ``x`` itself."""
    channels = net.shape(x)[2]
    sizes = {"hidden": channels, "heads": _HEADS, "inner": 4 * channels}
    widths = Widths(**sizes, activation="Gelu", attention_bias=False)
    normed = net.layer_norm(f"{name}.norm", x)
    memory = normed if memory is None else memory
    y = attend(net, name, normed, memory, widths, output_bias=True)
    return net.layer("Add", f"{name}.add", x, y)


def _feed_forward(net: NetworkBuilder, name: str, x: int) -> int:
    channels = net.shape(x)[2]
    y = gate(net, name, net.layer_norm(f"{name}.norm", x), 4 * channels, "Gelu", bias=True)
    return net.layer("Add", f"{name}.add", x, project(net, f"{name}.down", y, channels, bias=True))


def _normalize(net: NetworkBuilder, name: str, x: int) -> int:
    return net.layer("Swish", f"{name}.swish", net.group_norm(f"{name}.norm", x, _GROUPS))


def _conv(net: NetworkBuilder, name: str, x: int, channels: int, *, stride: int = 1) -> int:
    return net.conv(name, x, channels, 3, stride=stride, pad=1, bias=True)
