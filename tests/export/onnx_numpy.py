# SPDX-License-Identifier: Apache-2.0
"""A slow evaluator of ONNX graphs: the operators that porter exports, as their specification has them.

Types are as strict as those of ONNX: an operator whose inputs must have one type refuses two."""
import numpy as np

DTYPES = {1: np.float32, 7: np.int64, 9: np.bool_, 11: np.float64}


def tensor(proto):
    if proto.data_type == 8:
        return np.array([text.decode() for text in proto.string_data], object).reshape(tuple(proto.dims))
    return np.frombuffer(proto.raw_data, DTYPES[proto.data_type]).reshape(tuple(proto.dims))


def attributes(node):
    values = {}
    for a in node.attribute:
        values[a.name] = {2: a.i, 7: list(a.ints), 8: [s.decode() for s in a.strings]}[a.type]
    return values


def same_type(*arrays):
    assert len({a.dtype for a in arrays}) == 1, [a.dtype for a in arrays]
    return arrays


def softmax(x, axis):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def label_encoder(x, keys_strings, values_int64s, default_int64):
    table = dict(zip(keys_strings, values_int64s))
    assert len(table) == len(keys_strings) == len(values_int64s)
    return np.array([table.get(text, default_int64) for text in x.ravel()], np.int64).reshape(x.shape)


def where(condition, x, y):
    assert condition.dtype == np.bool_
    same_type(x, y)
    return np.where(condition, x, y)


def gemm(a, b, c, transB):
    same_type(a, b, c)
    assert transB == 1
    return a @ b.T + c


def cast(x, to):
    assert x.dtype != object
    return x.astype(DTYPES[to])


def boolean_or(a, b):
    assert a.dtype == b.dtype == np.bool_
    return a | b


def binary(function):
    return lambda a, b: function(*same_type(a, b))


OPERATORS = {
    "Abs": np.abs, "Sqrt": np.sqrt, "IsNaN": np.isnan, "Identity": lambda x: x, "Tanh": np.tanh,
    # Some runtimes lose a NaN here, and so does this one.
    "Relu": lambda x: np.where(x > 0, x, np.zeros_like(x)),
    "Sigmoid": lambda x: (1 / (1 + np.exp(-x))).astype(x.dtype),
    "Add": binary(np.add), "Sub": binary(np.subtract), "Mul": binary(np.multiply), "Div": binary(np.divide),
    "Less": binary(np.less), "Greater": binary(np.greater), "LessOrEqual": binary(np.less_equal),
    "Equal": binary(np.equal), "Or": boolean_or, "Where": where, "Cast": cast, "Gemm": gemm,
    # What becomes of a NaN is the runtime's affair: here the other one wins.
    "Min": binary(np.fmin), "Max": binary(np.fmax),
    "Concat": lambda *parts, axis: np.concatenate(same_type(*parts), axis=axis),
    "ReduceMin": lambda x, axes: x.min(axis=tuple(axes), keepdims=True),
    "ReduceSum": lambda x, axes: x.sum(axis=tuple(axes), keepdims=True),
    "Softmax": softmax,
    "ArgMax": lambda x, axis: x.argmax(axis=axis)[:, None],
    "Gather": lambda x, places: x[places],
    "Reshape": lambda x, shape: x.reshape(shape),
    "LabelEncoder": label_encoder,
}


def evaluate(model, inputs):
    """{name: array} of the outputs."""
    known = {proto.name: tensor(proto) for proto in model.graph.initializer}
    for value in model.graph.input:
        kind = value.type.tensor_type.elem_type
        array = inputs[value.name]
        assert array.dtype == (object if kind == 8 else DTYPES[kind]), (value.name, array.dtype)
        columns = value.type.tensor_type.shape.dim[1].dim_value
        assert array.ndim == 2 and array.shape[1] == columns, (value.name, array.shape)
        known[value.name] = array
    with np.errstate(all="ignore"):
        for node in model.graph.node:
            assert node.output[0] not in known
            known[node.output[0]] = OPERATORS[node.op_type](*(known[name] for name in node.input), **attributes(node))
    return {value.name: known[value.name] for value in model.graph.output}
