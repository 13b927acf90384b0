"""The networks whose training is timed beside torch and JAX, written in torch."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional


class Block(nn.Module):
    """Two convolutions and what passes them by (He et al., 2015, figure 2)."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.first_norm = nn.BatchNorm2d(outputs)
        self.second = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.second_norm = nn.BatchNorm2d(outputs)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or inputs != outputs:
            convolution = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
            self.shortcut = nn.Sequential(convolution, nn.BatchNorm2d(outputs))

    def forward(self, data: torch.Tensor) -> torch.Tensor:
        hidden = functional.relu(self.first_norm(self.first(data)))
        return functional.relu(self.second_norm(self.second(hidden)) + self.shortcut(data))


class Transformer(nn.Module):
    """An encoder that tells each word's successor, without a mask."""

    def __init__(self, width: int = 256, heads: int = 4, layers: int = 4) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(layers))
        self.head = nn.Linear(width, 64)

    def forward(self, data: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            data = layer(data)
        return self.head(data)


class Layer(nn.Module):
    """Attention and two dense layers, each behind a normalisation."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before = nn.LayerNorm(width)
        self.projections = nn.Linear(width, 3 * width)
        self.joined = nn.Linear(width, width)
        self.between = nn.LayerNorm(width)
        self.wide = nn.Linear(width, 4 * width)
        self.narrow = nn.Linear(4 * width, width)

    def forward(self, data: torch.Tensor) -> torch.Tensor:
        batch, length, width = data.shape
        parts = self.projections(self.before(data))
        parts = parts.reshape(batch, length, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4).unbind(0)
        scores = query @ key.transpose(-1, -2) * (width // self.heads) ** -0.5
        mixed = (torch.softmax(scores, -1) @ value).transpose(1, 2).reshape(batch, length, width)
        data = data + self.joined(mixed)
        return data + self.narrow(functional.gelu(self.wide(self.between(data))))


class Recurrent(nn.Module):
    """An LSTM, and a dense layer on its last output."""

    def __init__(self) -> None:
        super().__init__()
        self.cells = nn.LSTM(512, 512)
        self.head = nn.Linear(512, 64)

    def forward(self, data: torch.Tensor) -> torch.Tensor:
        return self.head(self.cells(data)[0][-1])


def mlp() -> nn.Module:
    """Three dense layers."""
    widths = (784, 512, 512)
    pairs = zip(widths, widths[1:], strict=False)
    hidden = [layer for pair in pairs for layer in (nn.Linear(*pair), nn.ReLU())]
    return nn.Sequential(*hidden, nn.Linear(512, 10))


def lenet() -> nn.Module:
    """LeNet-5 with maxima (LeCun et al., 1998, figure 2)."""
    return nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(400, 120),
        nn.ReLU(),
        nn.Linear(120, 84),
        nn.ReLU(),
        nn.Linear(84, 10),
    )


def resnet18() -> nn.Module:
    """ResNet-18 for images of 32x32."""
    layers: list[nn.Module] = [nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU()]
    inputs = 64
    for stage, outputs in enumerate((64, 128, 256, 512)):
        layers += [Block(inputs, outputs, 2 if stage else 1), Block(outputs, outputs, 1)]
        inputs = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


class Gated(nn.Module):
    """A GRU, and a dense layer on its last output."""

    def __init__(self) -> None:
        super().__init__()
        self.cells = nn.GRU(256, 256)
        self.head = nn.Linear(256, 32)

    def forward(self, data: torch.Tensor) -> torch.Tensor:
        return self.head(self.cells(data)[0][-1])


class VisionTransformer(nn.Module):
    """Patches of 4x4 as words of a transformer, whose mean is classified."""

    def __init__(self, width: int = 128, heads: int = 4, layers: int = 4) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, 4, 4)
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(layers))
        self.head = nn.Linear(width, 10)

    def forward(self, data: torch.Tensor) -> torch.Tensor:
        words = self.patches(data).flatten(2).transpose(1, 2)
        for layer in self.layers:
            words = layer(words)
        return self.head(words.mean(1))


class UNet(nn.Module):
    """Images of half the size and back, with what passes them by; a class for each pixel."""

    def __init__(self, widths: tuple[int, ...] = (16, 32, 64)) -> None:
        super().__init__()
        pairs = list(zip((3, *widths), widths, strict=False))
        self.down = nn.ModuleList(_two_convolutions(*pair) for pair in pairs)
        self.up = nn.ModuleList(
            nn.ConvTranspose2d(wide, narrow, 2, 2) for narrow, wide in pairs[1:]
        )
        self.joined = nn.ModuleList(
            _two_convolutions(2 * narrow, narrow) for narrow, _ in pairs[1:]
        )
        self.head = nn.Conv2d(widths[0], 4, 1)

    def forward(self, data: torch.Tensor) -> torch.Tensor:
        passed = []
        for number, convolutions in enumerate(self.down):
            data = convolutions(functional.max_pool2d(data, 2) if number else data)
            passed.append(data)
        for number in reversed(range(len(self.up))):
            data = torch.cat([passed[number], self.up[number](data)], 1)
            data = self.joined[number](data)
        return self.head(data).permute(0, 2, 3, 1)


def _two_convolutions(inputs: int, outputs: int) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, 1, 1),
        nn.ReLU(),
        nn.Conv2d(outputs, outputs, 3, 1, 1),
        nn.ReLU(),
    )
