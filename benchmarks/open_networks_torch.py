"""Convolutional networks whose height and width may be dynamic, as torch modules."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn


def layer(inputs: int, outputs: int, stride: int = 1, dilation: int = 1) -> nn.Module:
    """A convolution of 3x3 taps with normalisation and relu."""
    taps = nn.Conv2d(inputs, outputs, 3, stride, padding=dilation, dilation=dilation)
    return nn.Sequential(taps, nn.BatchNorm2d(outputs), nn.ReLU())


def vgg() -> nn.Module:
    """Pairs of convolutions with pooling between them."""
    widths = [3, 32, 64, 128, 256]
    pairs = [
        (layer(a, b), layer(b, b), nn.MaxPool2d(2))
        for a, b in zip(widths, widths[1:], strict=False)
    ]
    parts = [part for pair in pairs for part in pair]
    return nn.Sequential(*parts[:-1], nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(256, 10))


class UNet(nn.Module):
    """Three levels down and up again, with skips."""

    def __init__(self) -> None:
        super().__init__()
        widths = [16, 32, 64, 128]
        pairs = list(zip([3, *widths], widths, strict=False))
        self.down = nn.ModuleList(nn.Sequential(layer(a, b), layer(b, b)) for a, b in pairs)
        self.up = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, 2) for a, b in pairs[1:])
        self.joined = nn.ModuleList(nn.Sequential(layer(2 * a, a), layer(a, a)) for a in widths[:3])
        self.last = nn.Conv2d(16, 4, 1)

    def forward(self, x: torch.Tensor) -> Any:
        """Classes for each pixel; height and width are multiples of 8."""
        kept = []
        for level, down in enumerate(self.down):
            x = down(x)
            if level < 3:
                kept.append(x)
                x = nn.functional.max_pool2d(x, 2)
        for level in (2, 1, 0):
            x = self.joined[level](torch.cat([self.up[level](x), kept[level]], 1))
        return self.last(x)


class SuperResolution(nn.Module):
    """Residual blocks, and twice the height and width in the end."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 48, 3, padding=1)
        self.blocks = nn.ModuleList(
            nn.Sequential(layer(48, 48), nn.Conv2d(48, 48, 3, padding=1)) for _ in range(4)
        )
        self.last = nn.Sequential(nn.Conv2d(48, 12, 3, padding=1), nn.PixelShuffle(2))

    def forward(self, x: torch.Tensor) -> Any:
        """An image of twice the size."""
        first = y = self.first(x)
        for block in self.blocks:
            y = y + block(y)
        return self.last(first + y)


class Dilated(nn.Module):
    """Convolutions of several dilations side by side."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(layer(3, 32, 2), layer(32, 64, 2))
        self.sides = nn.ModuleList(layer(64, 64, dilation=d) for d in (1, 2, 4))
        self.last = nn.Conv2d(192, 8, 1)

    def forward(self, x: torch.Tensor) -> Any:
        """Classes for each pixel of a fourth of the size."""
        x = self.first(x)
        return self.last(torch.cat([side(x) for side in self.sides], 1))
