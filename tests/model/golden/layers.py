#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Losses and gradients of networks over images, computed by PyTorch in double: layers.csv.

    /usr/bin/python3 -B tests/model/golden/layers.py > tests/model/golden/layers.csv

Parameters and pixels are formulas, so that a test in another language can have the same. PyTorch
has channels first: weights of a convolution are filters x channels x kernel x kernel there, and
filters x kernel x kernel x channels here.
"""
import math
import re

import torch
import torch.nn.functional as F

CASES = [  # name, layers, height, width, classes
    ("cnn", "conv:16x8/2+2 tanh maxpool:2/1 conv:32x4/2 tanh maxpool:2/1 dense:32 tanh", 28, 28, 10),
    ("deep", "conv:3x3/1+1 relu maxpool:2 conv:5x2 sigmoid avgpool:2/1 conv:4x2/1+1 tanh dense:6 tanh", 11, 9, 4),
    ("pools", "avgpool:2/1 conv:4x3/2 tanh maxpool:3/2", 13, 12, 3),
    ("norms", "groupnorm:1 conv:6x3/1+1 groupnorm:3 relu avgpool:2 conv:4x2 groupnorm:4 tanh dense:6 groupnorm:2 tanh", 10, 8, 3),
    ("dense", "dense:7 tanh dense:5 relu", 4, 6, 3),
    ("flat", "", 3, 5, 2),
]
SHOWN = 40  # entries of a gradient that the file has


def parameters(count):
    return torch.tensor([0.2 * math.sin(1.7 * i + 0.3) for i in range(count)], dtype=torch.double)


def pixels(count):
    return torch.tensor([0.5 + 0.5 * math.sin(0.37 * i * i + 1) for i in range(count)],
                        dtype=torch.float).double()


class Taken:
    """The parameters one after the other, as they are needed."""

    def __init__(self, x):
        self.x, self.at = x, 0

    def take(self, *shape):
        count = math.prod(shape)
        part = self.x[self.at:self.at + count].reshape(shape)
        self.at += count
        return part


def flat(maps):
    """Channels next to each other."""
    return maps.permute(0, 2, 3, 1).reshape(1, -1) if maps.dim() == 4 else maps


def dense(maps, units, taken):
    maps = flat(maps)
    weights = taken.take(units, maps.shape[1])
    return F.linear(maps, weights, taken.take(units))


def convolution(maps, filters, kernel, stride, padding, taken):
    weights = taken.take(filters, kernel, kernel, maps.shape[1]).permute(0, 3, 1, 2)
    return F.conv2d(maps, weights, taken.take(filters), stride, padding)


def group_norm(maps, groups, taken):
    channels = maps.shape[1]
    scales = 1 + taken.take(channels)
    return F.group_norm(maps, groups, scales, taken.take(channels), eps=1e-5)


def scores(layers, image, classes, taken):
    maps = image
    for text in layers.split():
        name, _, argument = text.partition(":")
        numbers = re.fullmatch(r"(?:(\d+)x)?(\d+)?(?:/(\d+))?(?:\+(\d+))?", argument)
        filters, size, stride, padding = (int(n) if n else None for n in numbers.groups())
        if name == "conv":
            maps = convolution(maps, filters, size, stride or 1, padding or 0, taken)
        elif name == "maxpool":
            maps = F.max_pool2d(maps, size, stride or size)
        elif name == "avgpool":
            maps = F.avg_pool2d(maps, size, stride or size)
        elif name == "groupnorm":
            maps = group_norm(maps, size, taken)
        elif name == "dense":
            maps = dense(maps, size, taken)
        else:
            maps = getattr(torch, name)(maps)
    return dense(maps, classes, taken)


def count_parameters(layers, image, classes):
    taken = Taken(torch.zeros(1_000_000, dtype=torch.double))
    scores(layers, image, classes, taken)
    return taken.at


def main():
    print("case,what,value")
    for name, layers, height, width, classes in CASES:
        image = pixels(height * width).reshape(1, 1, height, width)
        x = parameters(count_parameters(layers, image, classes)).requires_grad_()
        loss = F.cross_entropy(scores(layers, image, classes, Taken(x)), torch.tensor([1]))
        loss.backward()
        dim = len(x)
        print(f"{name},dim,{dim}")
        print(f"{name},loss,{loss.item():.17g}")
        print(f"{name},norm,{x.grad.norm().item():.17g}")
        for j in range(0, dim, max(1, dim // SHOWN)):
            print(f"{name},{j},{x.grad[j].item():.17g}")


if __name__ == "__main__":
    main()
