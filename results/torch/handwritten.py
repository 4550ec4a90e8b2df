"""Networks written by hand for the bench, as people write them."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

Network = tuple[nn.Module, tuple[torch.Tensor, ...]]
BATCH, TOKENS = 2, 64


def _twice(inputs: int, outputs: int) -> nn.Sequential:
    """Two convolutions, each normalized."""
    return nn.Sequential(
        *(nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU()),
        *(nn.Conv2d(outputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU()),
    )


class UNet(nn.Module):
    """Encoder and decoder of three levels with skip connections."""

    def __init__(self, channels: int = 32, classes: int = 4) -> None:
        super().__init__()
        sizes = [channels, 2 * channels, 4 * channels]
        self.down = nn.ModuleList(map(_twice, [3, *sizes[:-1]], sizes))
        self.middle = _twice(sizes[-1], 2 * sizes[-1])
        self.grow = nn.ModuleList(nn.ConvTranspose2d(2 * n, n, 2, stride=2) for n in sizes[::-1])
        self.up = nn.ModuleList(_twice(2 * n, n) for n in sizes[::-1])
        self.last = nn.Conv2d(channels, classes, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return class scores of all pixels."""
        skipped = []
        for each in self.down:
            skipped.append(each(x))
            x = F.max_pool2d(skipped[-1], 2)
        x = self.middle(x)
        for grow, each in zip(self.grow, self.up, strict=True):
            x = each(torch.cat([grow(x), skipped.pop()], 1))
        result: torch.Tensor = self.last(x)
        return result


def unet() -> Network:
    """Return a U-Net for images of 128 x 128."""
    return UNet(), (torch.randn(BATCH, 3, 128, 128),)


class RMSNorm(nn.Module):
    """Root mean square normalization as LLaMA's authors write it."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Normalize the last axis."""
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight


class LlamaBlock(nn.Module):
    """One layer of LLaMA: rotated queries and keys, causal attention, SwiGLU."""

    def __init__(self, width: int = 512, heads: int = 8, inner: int = 1376) -> None:
        super().__init__()
        self.heads, size = heads, width // heads
        self.first, self.second = RMSNorm(width), RMSNorm(width)
        self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.gate, self.rise = (nn.Linear(width, inner, bias=False) for _ in range(2))
        self.fall = nn.Linear(inner, width, bias=False)
        angles = torch.outer(torch.arange(TOKENS), 1e4 ** (-torch.arange(0, size, 2) / size))
        angles = torch.cat([angles, angles], -1)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def _turned(self, x: torch.Tensor) -> torch.Tensor:
        low, high = x.chunk(2, -1)
        turned: torch.Tensor = x * self.cos + torch.cat([-high, low], -1) * self.sin
        return turned

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Add attention, then the feed-forward network."""
        y = self.first(x)
        shape = (*x.shape[:2], self.heads, -1)
        q, k, v = (each(y).view(shape).transpose(1, 2) for each in (self.q, self.k, self.v))
        y = F.scaled_dot_product_attention(self._turned(q), self._turned(k), v, is_causal=True)
        x = x + self.o(y.transpose(1, 2).reshape(x.shape))
        y = self.second(x)
        result: torch.Tensor = x + self.fall(F.silu(self.gate(y)) * self.rise(y))
        return result


def llama_block() -> Network:
    """Return one layer on 64 tokens."""
    return LlamaBlock(), (torch.randn(BATCH, TOKENS, 512),)


class DLRM(nn.Module):
    """Recommendation: bags of embeddings, their dot products, and two perceptrons."""

    def __init__(self, tables: int = 8, rows: int = 1000, width: int = 16) -> None:
        super().__init__()
        self.bags = nn.ModuleList(nn.EmbeddingBag(rows, width, mode="sum") for _ in range(tables))
        self.bottom = nn.Sequential(nn.Linear(13, 64), nn.ReLU(), nn.Linear(64, width), nn.ReLU())
        pairs = (tables + 1) * tables // 2
        self.top = nn.Sequential(nn.Linear(pairs + width, 64), nn.ReLU(), nn.Linear(64, 1))
        self.register_buffer("pairs", torch.tril_indices(tables + 1, tables + 1, -1))

    def forward(self, dense: torch.Tensor, lookups: torch.Tensor) -> torch.Tensor:
        """Return the probability of a click."""
        x = self.bottom(dense)
        rows = [bag(lookups[:, k]) for k, bag in enumerate(self.bags)]
        every = torch.stack([x, *rows], 1)
        products = torch.bmm(every, every.transpose(1, 2))[:, self.pairs[0], self.pairs[1]]
        return torch.sigmoid(self.top(torch.cat([x, products], 1)))


def dlrm() -> Network:
    """Return DLRM with bags of four rows."""
    return DLRM(), (torch.randn(BATCH, 13), torch.randint(0, 1000, (BATCH, 8, 4)))


class Recurrent(nn.Module):
    """A recurrent network of two layers and a classifier of its last step."""

    def __init__(self, network: nn.Module, width: int) -> None:
        super().__init__()
        self.network, self.last = network, nn.Linear(width, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return class scores."""
        result: torch.Tensor = self.last(self.network(x)[0][:, -1])
        return result


def lstm() -> Network:
    """Return an LSTM of two layers over eight steps."""
    network = nn.LSTM(64, 128, num_layers=2, batch_first=True)
    return Recurrent(network, 128), (torch.randn(BATCH, 8, 64),)


def gru() -> Network:
    """Return a GRU of two layers over eight steps."""
    network = nn.GRU(64, 128, num_layers=2, batch_first=True)
    return Recurrent(network, 128), (torch.randn(BATCH, 8, 64),)


def group_norm() -> Network:
    """Return a convolutional network with group normalization."""
    return nn.Sequential(
        *(nn.Conv2d(3, 32, 3, padding=1), nn.GroupNorm(8, 32), nn.ReLU()),
        *(nn.Conv2d(32, 64, 3, stride=2, padding=1), nn.GroupNorm(8, 64), nn.ReLU()),
        *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)),
    ), (torch.randn(BATCH, 3, 64, 64),)


class DiffusionBlock(nn.Module):
    """A residual block of a diffusion U-Net that takes the time step, then attention."""

    def __init__(self, channels: int = 64, heads: int = 4) -> None:
        super().__init__()
        self.first = nn.Sequential(
            nn.GroupNorm(8, channels), nn.SiLU(), nn.Conv2d(channels, channels, 3, padding=1)
        )
        self.time = nn.Sequential(nn.SiLU(), nn.Linear(4 * channels, channels))
        self.second = nn.Sequential(
            nn.GroupNorm(8, channels), nn.SiLU(), nn.Conv2d(channels, channels, 3, padding=1)
        )
        self.norm = nn.GroupNorm(8, channels)
        self.attention = nn.MultiheadAttention(channels, heads, batch_first=True)
        self.grow = nn.Sequential(
            nn.Upsample(scale_factor=2.0), nn.Conv2d(channels, channels, 3, padding=1)
        )

    def forward(self, x: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
        """Return a map of twice the size."""
        y = self.first(x) + self.time(time)[:, :, None, None]
        x = x + self.second(y)
        rows = self.norm(x).flatten(2).transpose(1, 2)
        rows, _ = self.attention(rows, rows, rows, need_weights=False)
        result: torch.Tensor = self.grow(x + rows.transpose(1, 2).reshape(x.shape))
        return result


def diffusion_block() -> Network:
    """Return a block on maps of 16 x 16."""
    return DiffusionBlock(), (torch.randn(BATCH, 64, 16, 16), torch.randn(BATCH, 256))


class Mixture(nn.Module):
    """A mixture of experts in which every expert sees all tokens, weighed by the best two gates."""

    def __init__(self, width: int = 128, experts: int = 4) -> None:
        super().__init__()
        self.gate = nn.Linear(width, experts)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
            for _ in range(experts)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the weighed sum of the experts."""
        scores = self.gate(x)
        best, chosen = scores.topk(2, -1)
        gates = torch.zeros_like(scores).scatter(-1, chosen, best.softmax(-1))
        every = torch.stack([each(x) for each in self.experts], -1)
        return (every * gates.unsqueeze(-2)).sum(-1)


def mixture() -> Network:
    """Return four experts on 64 tokens."""
    return Mixture(), (torch.randn(BATCH, TOKENS, 128),)
