"""Small torch modules, each of which shows an exporter another way to write a network."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Case = tuple[Any, tuple[Tensor, ...]]
"""A module and its inputs."""


class Lambda(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Tensor) -> Any:
        """The function of the inputs."""
        return self.function(*inputs)


class First(nn.Module):
    """The first result of a module that has several."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, *inputs: Tensor) -> Any:
        """The first result."""
        return self.module(*inputs)[0]


class SelfAttention(nn.Module):
    """nn.MultiheadAttention of a sequence with itself."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(16, 4, batch_first=True)

    def forward(self, x: Tensor) -> Any:
        """The attended sequence and the weights."""
        return self.attention(x, x, x)


class Unpool(nn.Module):
    """A maximum pool that is taken back at the positions of the maxima."""

    def __init__(self) -> None:
        super().__init__()
        self.pool = nn.MaxPool2d(2, 2, return_indices=True)
        self.unpool = nn.MaxUnpool2d(2, 2)

    def forward(self, x: Tensor) -> Any:
        """The maxima where they stood, 0 elsewhere."""
        values, indices = self.pool(x)
        return self.unpool(values, indices)


class Bottleneck(nn.Module):
    """A residual block with a squeeze of channels."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(8, 4, 1, bias=False),
            nn.BatchNorm2d(4),
            nn.ReLU(inplace=True),
            nn.Conv2d(4, 8, 3, padding=1, groups=2),
        )
        self.gate = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(8, 8, 1), nn.Hardsigmoid())

    def forward(self, x: Tensor) -> Any:
        """x plus the gated body."""
        y = self.body(x)
        return F.hardswish(x + y * self.gate(y))


def _x(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape) + 1))


def _indices(high: int, *shape: int) -> Tensor:
    return torch.randint(0, high, shape, generator=torch.Generator().manual_seed(high))


def _of(function: Callable[..., Any], *inputs: Tensor) -> Callable[[], Case]:
    return lambda: (Lambda(function), inputs)


def _module(make: Callable[[], nn.Module], *inputs: Tensor) -> Callable[[], Case]:
    return lambda: (make(), inputs)


def _attention(q: Tensor, k: Tensor, v: Tensor) -> Any:
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def _bag(mode: str) -> Callable[[], Case]:
    bag = partial(nn.EmbeddingBag, 10, 6, mode=mode)
    return _module(bag, _indices(10, 3, 4))


def _rotary(x: Tensor) -> Any:
    angle = torch.arange(x.shape[-2])[:, None] * 10000 ** (-torch.arange(0, 8, 2) / 8)
    cosine, sine = angle.cos(), angle.sin()
    even, odd = x[..., ::2], x[..., 1::2]
    turned = (even * cosine - odd * sine, even * sine + odd * cosine)
    return torch.stack(turned, -1).flatten(-2)


def _grid(mode: str, padding: str, align: bool) -> Callable[[], Case]:
    sample = partial(F.grid_sample, mode=mode, padding_mode=padding, align_corners=align)
    return _of(lambda x, g: sample(x, g), _x(2, 3, 6, 5), torch.tanh(_x(2, 4, 7, 2)) * 1.2)


def _resize(**options: Any) -> Callable[[], Case]:
    return _of(lambda x: F.interpolate(x, **options), _x(1, 3, 6, 8))


def _put(x: Tensor, i: Tensor, s: Tensor) -> Any:
    y = x.clone()
    y[:, 1:3] = 0
    return y.index_add(0, i, s)


MODULES: Mapping[str, Callable[[], Case]] = {
    "mlp": _module(lambda: nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 4)), _x(3, 8)),
    "bottleneck": _module(Bottleneck, _x(2, 8, 7, 9)),
    "conv1d": _module(lambda: nn.Conv1d(4, 6, 5, stride=2, padding=2), _x(2, 4, 17)),
    "conv3d": _module(lambda: nn.Conv3d(2, 4, 3, padding=1), _x(1, 2, 5, 6, 7)),
    "conv_transpose": _module(
        lambda: nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1), _x(1, 4, 5, 6)
    ),
    "conv_transpose_groups": _module(
        lambda: nn.ConvTranspose1d(4, 6, 4, stride=3, groups=2), _x(2, 4, 9)
    ),
    "conv_reflect": _module(
        lambda: nn.Conv2d(3, 4, 3, padding=1, padding_mode="reflect"), _x(1, 3, 6, 6)
    ),
    "conv_circular": _module(
        lambda: nn.Conv2d(3, 4, 3, padding=1, padding_mode="circular"), _x(1, 3, 6, 6)
    ),
    "depthwise": _module(
        lambda: nn.Conv2d(8, 8, 3, groups=8, dilation=2, padding="same"), _x(1, 8, 9, 9)
    ),
    "attention": _module(SelfAttention, _x(2, 5, 16)),
    "encoder_layer": _module(
        lambda: nn.TransformerEncoderLayer(16, 4, 32, batch_first=True), _x(2, 5, 16)
    ),
    "decoder_layer": _module(
        lambda: nn.TransformerDecoderLayer(16, 4, 32, batch_first=True), _x(2, 5, 16), _x(2, 7, 16)
    ),
    "sdpa_causal": _of(_attention, _x(2, 3, 5, 8), _x(2, 3, 5, 8), _x(2, 3, 5, 8)),
    "rotary": _of(_rotary, _x(2, 3, 5, 8)),
    "lstm": _module(lambda: First(nn.LSTM(6, 8, 2, bidirectional=True)), _x(5, 2, 6)),
    "gru": _module(lambda: First(nn.GRU(6, 8, batch_first=True)), _x(2, 5, 6)),
    "rnn": _module(lambda: First(nn.RNN(6, 8, 2)), _x(5, 2, 6)),
    "lstm_cell": _module(lambda: First(nn.LSTMCell(6, 8)), _x(3, 6)),
    "embedding": _module(lambda: nn.Embedding(11, 6, padding_idx=0), _indices(11, 2, 5)),
    "embedding_bag_sum": _bag("sum"),
    "embedding_bag_mean": _bag("mean"),
    "embedding_bag_max": _bag("max"),
    "batch_norm": _module(lambda: nn.BatchNorm1d(4), _x(3, 4, 7)),
    "instance_norm": _module(lambda: nn.InstanceNorm2d(3, affine=True), _x(2, 3, 5, 6)),
    "group_norm": _module(lambda: nn.GroupNorm(2, 6), _x(2, 6, 5, 4)),
    "layer_norm": _module(lambda: nn.LayerNorm((4, 5)), _x(3, 4, 5)),
    "rms_norm": _module(lambda: nn.RMSNorm(8), _x(3, 8)),
    "local_response_norm": _module(lambda: nn.LocalResponseNorm(3), _x(2, 6, 4, 4)),
    "weight_norm": _module(
        lambda: nn.utils.parametrizations.weight_norm(nn.Linear(6, 4)), _x(3, 6)
    ),
    "normalize": _of(lambda x: F.normalize(x, p=2, dim=1), _x(3, 6, 2)),
    "cosine_similarity": _of(lambda a, b: F.cosine_similarity(a, b, dim=1), _x(3, 6), _x(3, 6)),
    "max_pool": _of(lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True), _x(1, 3, 9, 8)),
    "max_pool_indices": _module(lambda: nn.MaxPool2d(3, 2, return_indices=True), _x(2, 3, 9, 8)),
    "max_unpool": _module(Unpool, _x(2, 3, 6, 8)),
    "avg_pool": _of(
        lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False, ceil_mode=True), _x(1, 3, 9, 8)
    ),
    "lp_pool": _of(lambda x: F.lp_pool2d(x, 2.0, 2), _x(1, 3, 8, 8)),
    "adaptive_pools": _of(
        lambda x: (F.adaptive_avg_pool2d(x, (3, 2)), F.adaptive_max_pool2d(x, 1)), _x(1, 3, 9, 8)
    ),
    "interpolate_nearest": _resize(scale_factor=2.0, mode="nearest"),
    "interpolate_linear": _resize(size=(9, 5), mode="bilinear", align_corners=False),
    "interpolate_corners": _resize(size=(9, 5), mode="bilinear", align_corners=True),
    "interpolate_cubic": _resize(scale_factor=1.5, mode="bicubic", align_corners=False),
    "interpolate_area": _resize(size=(3, 4), mode="area"),
    "interpolate_antialias": _resize(size=(3, 4), mode="bilinear", antialias=True),
    "pixel_shuffle": _of(lambda x: F.pixel_shuffle(x, 2), _x(1, 8, 3, 4)),
    "pixel_unshuffle": _of(lambda x: F.pixel_unshuffle(x, 2), _x(1, 2, 6, 4)),
    "channel_shuffle": _of(
        lambda x: x.view(2, 2, 3, 4, 4).transpose(1, 2).reshape(2, 6, 4, 4), _x(2, 6, 4, 4)
    ),
    "unfold": _of(lambda x: F.unfold(x, 3, padding=1, stride=2), _x(1, 3, 7, 8)),
    "fold": _of(lambda x: F.fold(x, (6, 8), 2, stride=2), _x(1, 12, 12)),
    "grid_sample": _grid("bilinear", "zeros", align=False),
    "grid_sample_border": _grid("nearest", "border", align=True),
    "grid_sample_cubic": _grid("bicubic", "reflection", align=False),
    "affine_grid": _of(lambda t: F.affine_grid(t, [2, 3, 4, 5], align_corners=False), _x(2, 2, 3)),
    "einsum": _of(
        lambda a, b: torch.einsum("bhid,bhjd->bhij", a, b), _x(2, 3, 4, 5), _x(2, 3, 6, 5)
    ),
    "matmul_broadcast": _of(torch.matmul, _x(2, 1, 4, 5), _x(3, 5, 6)),
    "baddbmm": _of(torch.baddbmm, _x(2, 4, 6), _x(2, 4, 5), _x(2, 5, 6)),
    "scatter": _of(lambda x, i, s: x.scatter(1, i, s), _x(3, 5), _indices(5, 3, 2), _x(3, 2)),
    "scatter_add": _of(
        lambda x, i, s: x.scatter_add(0, i, s), _x(4, 5), _indices(4, 6, 5), _x(6, 5)
    ),
    "gather": _of(lambda x, i: x.gather(1, i), _x(3, 5), _indices(5, 3, 4)),
    "index_select": _of(lambda x, i: x.index_select(1, i), _x(3, 5, 2), _indices(5, 4)),
    "indexing": _of(
        lambda x, i, j: (x[i, :, j], x[..., -1], x[::2, 1:-1]),
        *(_x(4, 5, 6), _indices(4, 3), _indices(4, 3)),
    ),
    "index_put": _of(_put, _x(4, 5), _indices(4, 3), _x(3, 5)),
    "masked_fill": _of(lambda x: x.masked_fill(x > 0.5, float("-inf")).softmax(-1), _x(3, 6)),
    "triangles": _of(lambda x: torch.tril(x) + torch.triu(x, 2), _x(2, 5, 6)),
    "cumsum": _of(lambda x: torch.cumsum(x, 1) + torch.cumsum(x, 0), _x(3, 5)),
    "sorting": _of(lambda x: (*x.topk(3, 1), *x.sort(0, descending=True)), _x(4, 6)),
    "statistics": _of(
        lambda x: (x.var(1), x.std(0, unbiased=False), x.logsumexp(1), x.norm(dim=1), x.prod(0)),
        _x(4, 6),
    ),
    "arg_extrema": _of(lambda x: (x.argmax(1), x.argmin(), *x.max(0), x.amin((0, 1))), _x(4, 6)),
    "activations": _of(
        lambda x: (F.elu(x), F.mish(x), F.softplus(x), F.selu(x), F.celu(x), F.hardshrink(x)),
        _x(4, 6),
    ),
    "gates": _of(lambda x: (F.glu(x), F.silu(x), F.gelu(x, approximate="tanh")), _x(4, 6)),
    "losses": _of(
        lambda x, t: (F.cross_entropy(x, t, label_smoothing=0.1), F.nll_loss(x, t)),
        *(_x(4, 6), _indices(6, 4)),
    ),
    "other_losses": _of(
        lambda x, y: (F.smooth_l1_loss(x, y), F.kl_div(x, y.softmax(1)), F.mse_loss(x, y)),
        *(_x(4, 6), _x(4, 6) + 1),
    ),
    "padding": _of(
        lambda x: (F.pad(x, (1, 2, 0, 3), value=2.0), F.pad(x, (1, 1, 2, 2), mode="replicate")),
        _x(1, 3, 5, 4),
    ),
    "rolling": _of(lambda x: (x.roll(2, 1), x.flip(0, 1), x.repeat_interleave(2, 0)), _x(3, 5)),
    "joining": _of(
        lambda x, y: (torch.cat((x, y), 1), torch.stack((x, x), -1), *torch.chunk(y, 2, 1)),
        *(_x(3, 5), _x(3, 4)),
    ),
}
"""74 of them, with seeded weights and inputs."""
