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


RESIDUALS = {  # phi(r) of a residual, and its derivative
    "squared": (lambda r: r * r / 2, lambda r: r),
    "huber": (lambda r: r * r / 2 if abs(r) <= 1 else abs(r) - 0.5, lambda r: min(1.0, max(-1.0, r))),
    "cauchy": (lambda r: math.log(1 + r * r / 2), lambda r: r / (1 + r * r / 2)),
}


def linear_loss(case, x, f, target):
    regulariser = case.regulariser * np.sum(x**2 / (1 + x**2))
    return RESIDUALS[case.loss][0](np.sum(x * f) - target) + regulariser


def linear_gradient(case, x, f, target):
    slope = RESIDUALS[case.loss][1](np.sum(x * f) - target)
    return slope * f + case.regulariser * 2 * x / (1 + x**2) ** 2


ACTIVATIONS = {  # the function, and its derivative in terms of its value
    "sigmoid": (lambda z: 1 / (1 + np.exp(-z)), lambda h: h * (1 - h)),
    "tanh": (np.tanh, lambda h: 1 - h**2),
}


def activation_of(case):
    if case.activation in ACTIVATIONS:
        return ACTIVATIONS[case.activation]
    s, t, o = (float(number) for number in case.activation.removeprefix("tempered:").split(":"))
    sigmoid, _ = ACTIVATIONS["sigmoid"]
    return lambda z: s * sigmoid(t * z) - o, lambda h: s * t * ((h + o) / s) * (1 - (h + o) / s)


def mlp_widths(case):
    return [case.features, *case.hidden, case.scores]


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
    activation, _ = activation_of(case)
    layers = mlp_layers(case, x)
    values = [f]  # what goes into each layer
    for W, c in layers[:-1]:
        values.append(activation(W @ values[-1] + c))
    W, c = layers[-1]
    return layers, values, W @ values[-1] + c


def log_probabilities(scores):
    log_sum = np.max(scores) + math.log(np.sum(np.exp(scores - np.max(scores))))
    return scores - log_sum


def mlp_loss(case, x, f, label):
    scores = mlp_forward(case, x, f)[2]
    return RESIDUALS[case.loss][0](scores[0] - label) if case.loss else -log_probabilities(scores)[label]


def mlp_gradient(case, x, f, label):
    _, derivative = activation_of(case)
    layers, values, scores = mlp_forward(case, x, f)
    if case.loss:
        delta = np.array([RESIDUALS[case.loss][1](scores[0] - label)])
    else:
        delta = np.exp(log_probabilities(scores))
        delta[label] -= 1
    parts = []
    for (W, _), value in zip(reversed(layers), reversed(values)):
        parts = [np.outer(delta, value).ravel(), delta] + parts
        delta = (W.T @ delta) * derivative(value)
    return np.concatenate(parts)


LOSSES = {"logistic": logistic_loss, "linear": linear_loss, "mlp": mlp_loss}
GRADIENTS = {"logistic": logistic_gradient, "linear": linear_gradient, "mlp": mlp_gradient}


def dimension(case):
    if case.model != "mlp":
        return case.features + 1
    widths = mlp_widths(case)
    return sum((inputs + 1) * outputs for inputs, outputs in zip(widths, widths[1:]))
