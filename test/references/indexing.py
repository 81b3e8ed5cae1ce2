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


def gather_nd(batch_dims=0):
    def compute(data, index):
        places, size = index.shape[:-1], index.shape[-1]
        rest = data.shape[batch_dims + size:]
        out = np.zeros(places + rest, data.dtype)
        for at in np.ndindex(*places):
            to = at[:batch_dims]
            for i, extent in zip(index[at], data.shape[batch_dims:]):
                to += (int(i) + extent if i < 0 else int(i),)
            if all(0 <= i < extent for i, extent in zip(to, data.shape)):
                out[at] = data[to]
        return {"output": out}
    return compute


def places_of_parts():
    """ONNX gives no result for an index that is out of range."""
    like = "onnx GatherND"
    case("gather_nd", "elements", gather_nd(), {}, {"data": draw(2, 3), "index": np.array([[0, 2], [1, 0], [0, 2]])}, wrt=["data"], like=like)
    case("gather_nd", "rows", gather_nd(), {}, {"data": draw(3, 2, 2), "index": np.array([[[0, 1]], [[2, 0]]], np.int32)}, wrt=["data"], like=like)
    case("gather_nd", "parts", gather_nd(), {}, {"data": draw(3, 2, 2), "index": np.array([[[2], [0]], [[1], [2]]])}, wrt=["data"], like=like)
    case("gather_nd", "negative", gather_nd(), {}, {"data": draw(3, 2), "index": np.array([[-1, 0], [-3, -2], [2, -1]])}, wrt=["data"], like=like)
    case("gather_nd", "batch_1", gather_nd(1), {"batch_dims": 1}, {"data": draw(2, 3, 2), "index": np.array([[[1], [1]], [[0], [2]]])}, wrt=["data"], like=like)
    case("gather_nd", "batch_2", gather_nd(2), {"batch_dims": 2}, {"data": draw(2, 2, 3, 2), "index": np.array([[[1, 1], [0, 1]], [[2, 0], [1, -1]]])}, wrt=["data"], like=like)
    case("gather_nd", "integers", gather_nd(), {}, {"data": np.arange(6, dtype=np.int8).reshape(3, 2), "index": np.array([[2], [0]])}, like=like)
    case("gather_nd", "no_places", gather_nd(), {}, {"data": draw(2, 3), "index": np.zeros((0, 2), int)}, grad={"data": np.zeros((2, 3))}, like=like)
    case("gather_nd", "outside", gather_nd(), {}, {"data": draw(2, 3), "index": np.array([[0, 3], [1, 2], [-3, 1]])}, wrt=["data"], like="tensorflow.gather_nd on a GPU", tags=["edge"])


def segment_rows(fold, first):
    def compute(data, segment, segments):
        out = np.full((segments,) + data.shape[1:], first, data.dtype)
        for row, to in zip(data, segment):
            out[to] = fold(out[to], row)
        return {"output": out}
    return compute


def segments():
    ends = np.iinfo(np.int32)
    kinds = {"sum": (np.add, 0, 0), "prod": (np.multiply, 1, 1), "min": (np.minimum, np.inf, ends.max), "max": (np.maximum, -np.inf, ends.min)}
    for kind, (fold, first, whole) in kinds.items():
        like, op = "tf.math.unsorted_segment_" + kind, "segment_" + kind
        with_segments = lambda n, first: lambda data, segment: segment_rows(fold, first)(data, segment, n)
        case(op, "rows", with_segments(3, first), {"segments": 3}, {"data": draw(6, 2), "segment": np.array([2, 0, 2, 1, 0, 2])}, wrt=["data"], like=like)
        case(op, "no_rows", with_segments(4, first), {"segments": 4}, {"data": draw(3, 2, 2), "segment": np.array([3, 1, 3])},
             wrt=["data"] if np.isfinite(first) else [], like=like, tags=["edge"])
        case(op, "integers", with_segments(3, whole), {"segments": 3}, {"data": np.array([[5, -2], [7, 3], [-1, 4]], np.int32), "segment": np.array([1, 1, 0], np.int32)}, like=like)
    zeros = {"data": f32(0, 2, 3, 0, 0, 5), "segment": np.array([0, 0, 0, 1, 1, 1])}
    case("segment_prod", "zeros", lambda data, segment: segment_rows(np.multiply, 1)(data, segment, 2), {"segments": 2}, zeros, wrt=["data"],
         like="tf.math.unsorted_segment_prod", tags=["edge"])
    case("segment_max", "ties", lambda data, segment: segment_rows(np.maximum, -np.inf)(data, segment, 2), {"segments": 2},
         {"data": f32(1, 3, 3, 2, 3), "segment": np.array([0, 0, 0, 1, 0])}, grad={"data": [0, 1 / WIDE(3), 1 / WIDE(3), 1, 1 / WIDE(3)]},
         like="tf.math.unsorted_segment_max", tags=["edge"])


def sparse_rows(offsets, columns, values, input):
    out = np.zeros(len(offsets) - 1, values.dtype)
    for r in range(len(out)):
        for e in range(offsets[r], offsets[r + 1]):
            out[r] += values[e] * input[columns[e]]
    return {"output": out}


def neighbors(input, weight):
    reach = weight.shape[0] // 2
    wide_input = np.pad(input, ((0, 0), (reach, reach), (reach, reach)))
    out = np.zeros(input.shape, input.dtype)
    for n, h, w in np.ndindex(*input.shape):
        out[n, h, w] = (wide_input[n, h:h + 2 * reach + 1, w:w + 2 * reach + 1] * weight).sum()
    return {"output": out}


def neighborhoods():
    """Operators of which an element depends on those near it, or on those to which integers point."""
    case("sparse_matvec", "rows", sparse_rows, {}, {"offsets": np.array([0, 2, 2, 5]), "columns": np.array([1, 3, 0, 2, 3]), "values": draw(5), "input": draw(4)},
         wrt=["values", "input"], like="scipy.sparse.csr_array @")
    case("sparse_matvec", "no_elements", sparse_rows, {}, {"offsets": np.array([0, 0, 0]), "columns": np.zeros(0, int), "values": draw(0), "input": draw(3)},
         wrt=["input"], like="scipy.sparse.csr_array @", tags=["edge"])
    case("lookup", "matrix", lambda table, index: {"output": table[index]}, {}, {"table": draw(5), "index": np.array([[4, 0, 0], [1, 4, 2]])}, wrt=["table"], like="numpy.take")
    case("stencil", "reach_1", neighbors, {"reach": 1}, {"input": draw(2, 3, 4), "weight": draw(3, 3)}, wrt=["input", "weight"], like="scipy.ndimage.correlate, mode constant")
    case("stencil", "reach_2", neighbors, {"reach": 2}, {"input": draw(1, 3, 6), "weight": draw(5, 5)}, wrt=["input", "weight"], like="scipy.ndimage.correlate, mode constant")
    for factor in (1, 2, 3):
        case("upsample", "factor_%d" % factor, lambda input: {"output": input.repeat(factor, 2).repeat(factor, 3)}, {"factor": factor}, {"input": draw(2, 2, 2, 3)},
             wrt=["input"], like="torch.nn.functional.interpolate, mode nearest")


def f32(*x):
    return np.array(x, np.float32)


def chunk(axis, parts):
    def compute(input):
        return {f"output_{i}": part for i, part in enumerate(np.split(input, parts, axis))}
    return compute


def embedding_bag(mode, padding=-1):
    def compute(index, weight, per_sample=None):
        out = np.zeros((len(index), weight.shape[1]), weight.dtype)
        for b, bag in enumerate(index):
            rows = [weight[i] * (1 if per_sample is None else per_sample[b, n]) for n, i in enumerate(bag) if i != padding]
            if rows:
                out[b] = {"SUM": np.sum, "MEAN": np.mean, "MAX": np.max}[mode](rows, axis=0)
        return {"output": out}
    return compute


def bags():
    index = np.array([[0, 2, 2], [1, 3, 0], [3, 3, 3]])
    for mode in ("SUM", "MEAN", "MAX"):
        attrs = {"num_entries": 4, "out_dim": 2, "mode": mode, "data_type": "f32"}
        for name, padding in (("", -1), ("_padding", 3)):
            case("embedding_bag", mode.lower() + name, embedding_bag(mode, padding), {**attrs, "padding": padding}, {"index": index}, {"weight": draw(4, 2)},
                 wrt=["weight"], like="torch.nn.functional.embedding_bag")
    case("embedding_bag", "factors", embedding_bag("SUM"), {"num_entries": 4, "out_dim": 3, "mode": "SUM", "data_type": "f32"}, {"index": index, "per_sample": draw(3, 3)},
         {"weight": draw(4, 3)}, wrt=["weight", "per_sample"], like="torch.nn.functional.embedding_bag")


def generate():
    bags()
    places_of_parts()
    case("chunk", "first", chunk(0, 2), {"axis": 0}, {"input": draw(4, 3)}, wrt=["input"], like="numpy.split")
    case("chunk", "middle", chunk(1, 3), {"axis": 1}, {"input": draw(2, 6, 2)}, wrt=["input"], like="numpy.split")
    case("chunk", "one", chunk(-1, 1), {"axis": -1}, {"input": draw(2, 5)}, wrt=["input"], like="numpy.split")
    case("chunk", "singles", chunk(0, 4), {"axis": 0}, {"input": np.arange(4)}, like="numpy.split")
    case("chunk", "empty", chunk(0, 3), {"axis": 0}, {"input": draw(0, 2)}, grad={"input": np.zeros((0, 2))}, like="numpy.split", tags=["edge"])
    segments()
    neighborhoods()
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
