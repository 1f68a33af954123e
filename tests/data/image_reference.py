#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The features of images by NumPy, written from docs/data.md and not from our C++.

For each image a line `image,HEIGHT,WIDTH,` with its pixels (0 to 255), and a line for each transform
with its features.

    /usr/bin/python3 -B tests/data/image_reference.py > tests/data/images.csv
"""
import numpy as np

SHAPES = [(28, 28), (8, 8), (9, 13), (30, 17)]


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


def hog_centred(image):
    table = hog(image).reshape(49, 8)
    centred = table @ (np.eye(8) - np.full((8, 8), 1 / 8))
    return (centred / (np.linalg.norm(centred) + 1e-3 * np.linalg.norm(table))).ravel()


def wavelet(shape, scale, direction):
    """The spectrum of a Morlet wavelet, sampled on the grid of an FFT."""
    sigma, xi, slant = 0.8 * 2**scale, 0.75 * np.pi / 2**scale, 0.5
    angle = np.pi * direction / 8
    y, x = np.meshgrid(*(2 * np.pi * np.fft.fftfreq(n) for n in shape), indexing="ij")

    def gaussian(centre):
        total = 0
        for dy in 2 * np.pi * np.arange(-1, 2):
            for dx in 2 * np.pi * np.arange(-1, 2):
                along = (x + dx) * np.cos(angle) + (y + dy) * np.sin(angle) - centre
                across = (y + dy) * np.cos(angle) - (x + dx) * np.sin(angle)
                total = total + np.exp(-(sigma**2) * (along**2 + (across / slant) ** 2) / 2)
        return total

    wave, envelope = gaussian(xi), gaussian(0)
    return wave - wave[0, 0] / envelope[0, 0] * envelope


def smooth(values, margins, shape, spacing):
    """A Gaussian of 1.6 pixels at every fourth pixel, over what is in the image."""
    weights = []
    for side, margin, samples in zip(shape, margins, values.shape):
        kept = -(-side // 4)
        centres = (np.arange(kept) + 0.5) * side / kept - 0.5
        pixels = spacing * np.arange(samples) - margin
        w = np.exp(-((centres[:, None] - pixels) ** 2) / (2 * 1.6**2))
        w[:, (pixels < 0) | (pixels >= side)] = 0
        weights.append(w / w.sum(axis=1, keepdims=True))
    return (weights[0] @ values @ weights[1].T).ravel()


def scattering(image):
    shape = image.shape
    padded = [1 << int(np.ceil(np.log2(n + 4))) for n in shape]
    margins = [(p - n) // 2 for p, n in zip(padded, shape)]
    widths = [(m, p - n - m) for m, p, n in zip(margins, padded, shape)]
    start = np.pad(image, widths, mode="reflect")

    def edges(values, scale, direction):
        return np.abs(np.fft.ifft2(np.fft.fft2(values) * wavelet(padded, scale, direction)))

    small = [edges(start, 0, k) for k in range(8)]
    large = [edges(values, 1, k)[::2, ::2] for values in [start, *small] for k in range(8)]
    channels = np.array([smooth(values, margins, shape, 1) for values in [start, *small]]
                        + [smooth(values, margins, shape, 2) for values in large])
    floor = 1e-3 * np.sqrt(np.mean(channels**2))
    channels = channels - channels.mean(axis=1, keepdims=True)
    return (channels / (channels.std(axis=1, keepdims=True) + floor)).ravel() / np.sqrt(channels.size)


TRANSFORMS = {"hog": hog, "hog-centred": hog_centred, "scattering": scattering}


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
            lines.append(",".join([name, *map(str, shape), *(f"{v:.7g}" for v in features)]))
    print("\n".join(lines))


if __name__ == "__main__":
    main()
