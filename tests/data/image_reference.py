#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The features of images by NumPy, written from docs/data.md and not from our C++.

Running it writes images.csv beside it: for each image a line `image,HEIGHT,WIDTH,` with its pixels
(0 to 255), and a line for each transform with its features.

    /usr/bin/python3 tests/data/image_reference.py
"""
import pathlib

import numpy as np

SHAPES = [(28, 28), (28, 28), (7, 7), (9, 13), (30, 17)]


def unit_length(row):
    norm = np.sqrt(np.sum(row * row))
    return row / norm if norm > 0 else row


def triangle_weights(side):
    """cells x pixels: 1 at the centre of a cell, 0 at those of its neighbours."""
    centres = (np.arange(7) + 0.5) * side / 7
    pixels = np.arange(side) + 0.5
    return np.maximum(0, 1 - np.abs(pixels - centres[:, None]) * 7 / side)


def hog(image):
    padded = np.pad(image, 1, mode="edge")
    dx = padded[1:-1, 2:] - padded[1:-1, :-2]
    dy = padded[2:, 1:-1] - padded[:-2, 1:-1]
    angles = np.arange(8) * np.pi / 4
    directions = np.stack([np.cos(angles), np.sin(angles)])
    parts = np.zeros((8,) + image.shape)
    for y, x in np.ndindex(*image.shape):
        gradient = np.array([dx[y, x], dy[y, x]])
        if not gradient.any():
            continue
        k = int(np.floor(np.arctan2(gradient[1], gradient[0]) / (np.pi / 4) + 1e-12)) % 8
        both = [k, (k + 1) % 8]
        parts[both, y, x] = np.linalg.solve(directions[:, both], gradient)
    rows, columns = map(triangle_weights, image.shape)
    cells = np.einsum("iy,dyx,jx->ijd", rows, parts, columns)
    return unit_length(np.sqrt(np.maximum(cells, 0)).ravel())


TRANSFORMS = {"hog": hog}


def draw(shape, random):
    """Strokes on black paper, as scanned writing has them."""
    y, x = np.mgrid[: shape[0], : shape[1]]
    image = np.zeros(shape)
    for _ in range(3):
        (y0, x0), angle = random.uniform(0, shape), random.uniform(0, np.pi)
        distance = np.abs((y - y0) * np.cos(angle) - (x - x0) * np.sin(angle))
        image = np.maximum(image, np.clip(2 - distance + random.normal(0, 0.1, shape), 0, 1))
    return np.round(255 * image).astype(int)


def main():
    random = np.random.default_rng(5)
    lines = ["what,height,width,values"]
    for shape in SHAPES:
        image = draw(shape, random)
        lines.append(",".join(map(str, ["image", *shape, *image.ravel()])))
        for name, transform in TRANSFORMS.items():
            features = transform((image / 255).astype(np.float32).astype(float))
            lines.append(",".join([name, *map(str, shape), *(f"{v:.9g}" for v in features)]))
    pathlib.Path(__file__).with_name("images.csv").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
