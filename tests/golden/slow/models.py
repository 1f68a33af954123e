# SPDX-License-Identifier: Apache-2.0
"""Models: the gradient of one sample."""
import math

import numpy as np


def logistic_loss(case, x, f, label):
    y = 1.0 if label == 1 else -1.0
    regulariser = case.regulariser * np.sum(x**2 / (1 + x**2))
    return math.log1p(math.exp(-y * np.sum(x * f))) + regulariser


def logistic_gradient(case, x, f, label):
    y = 1.0 if label == 1 else -1.0
    slope = -y / (1 + math.exp(y * np.sum(x * f)))
    return slope * f + case.regulariser * 2 * x / (1 + x**2) ** 2


ACTIVATIONS = {  # the function, and its derivative in terms of its value
    "sigmoid": (lambda z: 1 / (1 + np.exp(-z)), lambda h: h * (1 - h)),
    "tanh": (np.tanh, lambda h: 1 - h**2),
}


def mlp_widths(case):
    return [case.features, *case.hidden, case.classes]


def mlp_layers(case, x):
    """x = vec(W1, c1, W2, c2, ...); W is outputs x inputs, row by row."""
    layers, at = [], 0
    widths = mlp_widths(case)
    for inputs, outputs in zip(widths, widths[1:]):
        W = x[at : at + inputs * outputs].reshape(outputs, inputs)
        at += inputs * outputs
        layers.append((W, x[at : at + outputs]))
        at += outputs
    return layers


def mlp_forward(case, x, f):
    activation, _ = ACTIVATIONS[case.activation]
    layers = mlp_layers(case, x)
    values = [f]  # what goes into each layer
    for W, c in layers[:-1]:
        values.append(activation(W @ values[-1] + c))
    W, c = layers[-1]
    scores = W @ values[-1] + c
    log_sum = np.max(scores) + math.log(np.sum(np.exp(scores - np.max(scores))))
    return layers, values, scores - log_sum


def mlp_loss(case, x, f, label):
    return -mlp_forward(case, x, f)[2][label]


def mlp_gradient(case, x, f, label):
    _, derivative = ACTIVATIONS[case.activation]
    layers, values, log_probabilities = mlp_forward(case, x, f)
    delta = np.exp(log_probabilities)
    delta[label] -= 1
    parts = []
    for (W, _), value in zip(reversed(layers), reversed(values)):
        parts = [np.outer(delta, value).ravel(), delta] + parts
        delta = (W.T @ delta) * derivative(value)
    return np.concatenate(parts)


def dimension(case):
    if case.model == "logistic":
        return case.features + 1
    widths = mlp_widths(case)
    return sum((inputs + 1) * outputs for inputs, outputs in zip(widths, widths[1:]))
