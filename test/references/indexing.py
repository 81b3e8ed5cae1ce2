"""Operators that read and write where integers say."""

import numpy as np

from cases import WIDE, case, draw


def places(index, dim):
    """Yields each place of an index, and the place in the input to which it refers."""
    for at in np.ndindex(*index.shape):
        to = list(at)
        to[dim] = index[at]
        yield at, tuple(to)


def gather(dim):
    def compute(input, index):
        out = np.empty(index.shape, input.dtype)
        for at, to in places(index, dim):
            out[at] = input[to]
        return {"output": out}
    return compute


def scatter(dim, reduction="NONE"):
    join = {"NONE": lambda x, y: y, "ADD": lambda x, y: x + y, "MUL": lambda x, y: x * y, "MAX": max, "MIN": min}[reduction]

    def compute(input, index, updates):
        out = input.copy()
        for at, to in places(index, dim):
            out[to] = join(out[to], updates[at])
        return {"output": out}
    return compute


def f32(*x):
    return np.array(x, np.float32)


def chunk(axis, parts):
    def compute(input):
        return {f"output_{i}": part for i, part in enumerate(np.split(input, parts, axis))}
    return compute


def generate():
    case("chunk", "first", chunk(0, 2), {"axis": 0}, {"input": draw(4, 3)}, wrt=["input"], like="numpy.split")
    case("chunk", "middle", chunk(1, 3), {"axis": 1}, {"input": draw(2, 6, 2)}, wrt=["input"], like="numpy.split")
    case("chunk", "one", chunk(-1, 1), {"axis": -1}, {"input": draw(2, 5)}, wrt=["input"], like="numpy.split")
    case("chunk", "singles", chunk(0, 4), {"axis": 0}, {"input": np.arange(4)}, like="numpy.split")
    case("chunk", "empty", chunk(0, 3), {"axis": 0}, {"input": draw(0, 2)}, grad={"input": np.zeros((0, 2))}, like="numpy.split", tags=["edge"])
    case("gather", "smaller_index", gather(1), {"dim": 1}, {"input": draw(4, 3, 5), "index": np.array([[[0, 2, 1], [2, 2, 0]], [[1, 1, 1], [0, 2, 0]]])},
         wrt=["input"], like="torch.gather")
    case("gather", "larger_along_dim", gather(0), {"dim": 0}, {"input": draw(2, 3), "index": np.array([[0], [1], [1], [0]])}, wrt=["input"], like="torch.gather")
    case("gather", "last", gather(1), {"dim": -1}, {"input": draw(3, 2), "index": np.array([[1, 1, 0]])}, wrt=["input"], like="torch.gather")
    case("gather", "no_index", gather(0), {"dim": 0}, {"input": draw(2, 3), "index": np.zeros((0, 2), int)}, grad={"input": np.zeros((2, 3))}, like="torch.gather")

    index = np.array([[0, 2], [2, 2]])
    for reduction, like in (("NONE", "torch.scatter"), ("ADD", "torch.scatter_add"), ("MUL", "onnx ScatterElements"), ("MAX", "onnx ScatterElements"),
                            ("MIN", "onnx ScatterElements")):
        attrs = {"dim": 1, "reduction": reduction}
        case("scatter", reduction.lower(), scatter(**attrs), attrs, {"input": draw(3, 3), "index": index, "updates": draw(2, 2)}, wrt=["input", "updates"], like=like)
        case("scatter", reduction.lower() + "_integers", scatter(0, reduction), {"dim": 0, "reduction": reduction},
             {"input": np.arange(6).reshape(3, 2), "index": np.array([[2, 0], [2, 1], [0, 1]]), "updates": np.array([[5, -1], [7, 2], [-3, 4]])}, like=like)
    case("scatter", "add_first", scatter(0, "ADD"), {"dim": -3, "reduction": "ADD"}, {"input": draw(3, 2, 2), "index": np.array([[[1, 0]], [[1, 2]], [[1, 1]], [[0, 2]]]),
         "updates": draw(4, 1, 2)}, wrt=["input", "updates"], like="torch.scatter_add")
    case("scatter", "zeros", scatter(0, "MUL"), {"dim": 0, "reduction": "MUL"}, {"input": f32(0, 2, 3), "index": np.array([1, 1, 2, 0]), "updates": f32(0, 5, 0, 4)},
         wrt=["input", "updates"], like="onnx ScatterElements", tags=["edge"])
    case("scatter", "ties", scatter(0, "MAX"), {"dim": 0, "reduction": "MAX"}, {"input": f32(1, 2, 5), "index": np.array([0, 0, 1, 2]), "updates": f32(1, 1, 3, 4)},
         grad={"input": [1 / WIDE(3), 0, 1], "updates": [1 / WIDE(3), 1 / WIDE(3), 1, 0]}, like="torch.scatter_reduce", tags=["edge"])
    case("scatter", "no_index", scatter(0), {"dim": 0}, {"input": draw(3), "index": np.zeros(0, int), "updates": draw(0)}, grad={"input": [1, 1, 1], "updates": np.zeros(0)},
         like="torch.scatter")
