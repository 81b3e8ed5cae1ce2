"""Operators by element, along a dimension, and losses."""

import numpy as np

from cases import WIDE, case, draw

nan, inf = np.nan, np.inf


def where(condition, lhs, rhs):
    return {"output": np.where(condition, lhs, rhs)}


def running(function):
    def run(axis=-1, exclusive=False, reverse=False):
        def compute(input):
            x = np.flip(input, axis) if reverse else input
            out = np.empty_like(x)
            n = x.shape[axis]
            for i in range(n):
                part = np.take(x, range(i if exclusive else i + 1), axis)
                out[tuple(i if d == axis % x.ndim else slice(None) for d in range(x.ndim))] = function(part, axis)
            return {"output": np.flip(out, axis) if reverse else out}
        return compute
    return run


cumsum = running(lambda x, axis: x.sum(axis))
cumprod = running(lambda x, axis: x.prod(axis))


def log_softmax(dim):
    def compute(input):
        top = input.max(dim, keepdims=True)
        return {"output": input - top - np.log(np.exp(input - top).sum(dim, keepdims=True))}
    return compute


def prelu(input, weight):
    slope = weight.reshape([1, -1] + [1] * (input.ndim - 2))
    return {"output": np.where(input >= 0, input, slope * input)}


def clip(low, high):
    def compute(input):
        return {"output": np.clip(input, WIDE(low), WIDE(high))}
    return compute


def polynomial(*coefficients):
    def compute(input):
        return {"output": sum(WIDE(c) * input ** i for i, c in enumerate(coefficients))}
    return compute


def element_nary(op_type):
    join = {"SUM": np.sum, "MEAN": np.mean, "PROD": np.prod, "MAX": np.max, "MIN": np.min}[op_type]
    return lambda **inputs: {"output": join(np.stack([inputs[k] for k in sorted(inputs)]), axis=0)}


def trim_sequence(**inputs):
    rows = [inputs[k] for k in sorted(inputs)]
    return {"output": np.stack([r[:min(len(r) for r in rows)] for r in rows])}


def fft(dim=-1, onesided=True, norm="BACKWARD"):
    def compute(input):
        n = input.shape[dim]
        count = n // 2 + 1 if onesided else n
        turns = np.outer(np.arange(n), np.arange(count)) % n
        angles = 2 * np.arccos(WIDE(-1)) * turns / n
        factor = {"BACKWARD": WIDE(1), "ORTHO": 1 / np.sqrt(WIDE(n)), "FORWARD": 1 / WIDE(n)}[norm]
        lanes = np.moveaxis(input, dim, -1)
        return {k: np.moveaxis(factor * (lanes @ part), -1, dim) for k, part in (("real", np.cos(angles)), ("imag", -np.sin(angles)))}
    return compute


def pad(axis, before, behind, mode, value=0.0):
    def compute(input):
        widths = [(before, behind) if d == axis % input.ndim else (0, 0) for d in range(input.ndim)]
        more = {"constant_values": value} if mode == "constant" else {}
        return {"output": np.pad(input, widths, mode, **more)}
    return compute


def repeat(axis, repeats, interleaved):
    def compute(input):
        if interleaved:
            return {"output": np.repeat(input, repeats, axis)}
        return {"output": np.concatenate([input] * repeats, axis)}
    return compute


def huber(loss_type, delta, reduction):
    def compute(logit, label):
        x = np.abs(logit - label)
        if loss_type == "HUBER":
            terms = np.where(x <= delta, x * x / 2, delta * (x - WIDE(delta) / 2))
        elif delta == 0:
            terms = x
        else:
            terms = np.where(x < delta, x * x / (2 * WIDE(delta)), x - WIDE(delta) / 2)
        return {"loss": np.asarray(terms.mean() if reduction == "mean" else terms.sum(), WIDE)}
    return compute


def bce(pos_weight, reduction):
    def compute(logit, label, weight=None):
        terms = (1 - label) * logit + (1 + (WIDE(pos_weight) - 1) * label) * (np.log1p(np.exp(-np.abs(logit))) + np.maximum(-logit, 0))
        terms = terms if weight is None else weight * terms
        return {"loss": np.asarray(terms.mean() if reduction == "mean" else terms.sum(), WIDE)}
    return compute


def kl_div(reduction, log_target):
    def compute(logit, label):
        p = np.exp(label) if log_target else label
        terms = np.where(p == 0, 0, p * ((label if log_target else np.log(np.where(p == 0, 1, p))) - logit))
        size = {"batch": logit.shape[0], "mean": logit.size, "sum": 1}[reduction]
        return {"loss": np.asarray(terms.sum() / size, WIDE)}
    return compute


def f32(*x):
    return np.array(x, np.float32)


def generate():
    x, y = draw(2, 3), draw(3)
    chosen = np.array([[True, False, True], [False, False, True]])
    case("where", "broadcast", where, {}, {"condition": chosen, "lhs": x, "rhs": y}, wrt=["lhs", "rhs"], like="torch.where")
    case("where", "column", where, {}, {"condition": np.array([[True], [False]]), "lhs": draw(1, 3), "rhs": draw(2, 1)}, wrt=["lhs", "rhs"], like="torch.where")
    case("where", "nan_elsewhere", where, {}, {"condition": np.array([True, False]), "lhs": f32(1, nan), "rhs": f32(nan, 2)},
         grad={"lhs": [1, 0], "rhs": [0, 1]}, like="torch.where", tags=["edge"])
    case("where", "empty", where, {}, {"condition": np.zeros((0, 3), bool), "lhs": draw(0, 3), "rhs": draw(3)}, grad={"lhs": np.zeros((0, 3)), "rhs": [0, 0, 0]}, like="torch.where")
    case("where", "integers", where, {}, {"condition": chosen, "lhs": np.arange(6).reshape(2, 3), "rhs": np.array(-1)}, like="torch.where")

    for op, function in (("cumsum", cumsum), ("cumprod", cumprod)):
        for name, attrs, shape in (("middle", {"axis": 1}, (2, 4, 3)), ("exclusive", {"axis": -1, "exclusive": True}, (2, 3)),
                                   ("reverse", {"axis": 0, "reverse": True}, (4, 2)), ("both", {"axis": -2, "exclusive": True, "reverse": True}, (3, 2)),
                                   ("single", {"axis": 0}, (1,))):
            case(op, name, function(**attrs), attrs, {"input": draw(*shape)}, wrt=["input"], like="onnx CumSum" if op == "cumsum" else "torch.cumprod")
        case(op, "nothing", function(0), {"axis": 0}, {"input": draw(0, 2)}, grad={"input": np.zeros((0, 2))}, like="torch." + op)
        case(op, "integers", function(1), {"axis": 1}, {"input": np.array([[1, -2, 3], [4, 0, 5]])}, like="torch." + op)
        case(op, "nan", function(0), {"axis": 0}, {"input": f32(1, nan, 3)}, like="torch." + op, tags=["edge"])
    case("cumprod", "zeros", cumprod(0), {"axis": 0}, {"input": f32(2, 0, 3, 0, 4)}, wrt=["input"], like="torch.cumprod", tags=["edge"])

    case("log_softmax", "middle", log_softmax(1), {"dim": 1}, {"input": draw(2, 4, 3)}, wrt=["input"], like="torch.log_softmax")
    case("log_softmax", "single", log_softmax(-1), {"dim": -1}, {"input": draw(3, 1)}, wrt=["input"], like="torch.log_softmax")
    case("log_softmax", "large", log_softmax(0), {"dim": 0}, {"input": f32(1000, -1000, 999)}, wrt=["input"], like="torch.log_softmax")
    case("log_softmax", "infinite", log_softmax(0), {"dim": 0}, {"input": f32(1, -inf, 2)}, like="torch.log_softmax", tags=["edge"])

    case("prelu", "shared", prelu, {"num_parameters": 1}, {"input": draw(2, 3, 2)}, {"weight": f32(0.3)}, wrt=["input", "weight"], like="torch.nn.functional.prelu")
    case("prelu", "channels", prelu, {"num_parameters": 3}, {"input": draw(2, 3, 2, 2)}, {"weight": draw(3)}, wrt=["input", "weight"], like="torch.nn.functional.prelu")
    case("prelu", "zero", prelu, {"num_parameters": 1}, {"input": f32(-2, 0, 2).reshape(1, 3)}, {"weight": f32(0.25)},
         grad={"input": [[0.25, 0.25, 1]], "weight": [-2]}, like="torch.nn.functional.prelu", tags=["edge"])

    for name, low, high in (("both", -0.5, 0.75), ("above", -inf, 0.25), ("below", 0.25, inf), ("crossed", 0.5, -0.5)):
        bounds = {k: [v if abs(v) < inf else str(v)] for k, v in (("low", low), ("high", high))}
        case("clip", name, clip(low, high), {}, {"input": draw(3, 4)}, wrt=["input"], like="torch.clamp", args=bounds)
    case("clip", "on_bounds", clip(-1, 1), {}, {"input": f32(-1, 0, 1, 2, -2, nan)}, grad={"input": [1, 1, 1, 0, 0, 0]}, like="torch.clamp", tags=["edge"],
         args={"low": [-1], "high": [1]})

    for name, c, shape in (("cubic", (0.5, -1.0, 0.25, 2.0), (2, 3)), ("constant", (1.5,), (4,)), ("line", (0.0, -2.0), (3, 1)), ("nothing", (1.0, 1.0), (0, 2))):
        case("polynomial", name, polynomial(*c), {}, {"input": draw(*shape)}, wrt=["input"], like="numpy.polynomial.polynomial.polyval", args={"coefficient": list(c)})
    case("polynomial", "zero", polynomial(1, 1, 1), {}, {"input": f32(0, -0.0, nan, inf)}, like="numpy.polynomial.polynomial.polyval", tags=["edge"],
         args={"coefficient": [1.0, 1.0, 1.0]})

    for op, like in (("SUM", "Sum"), ("MEAN", "Mean"), ("PROD", "torch.prod of a stack"), ("MAX", "Max"), ("MIN", "Min")):
        like = like if op == "PROD" else "onnx " + like
        for name, count, shape in (("three", 3, (2, 3)), ("one", 1, (4,)), ("scalars", 2, ()), ("nothing", 2, (0, 3))):
            inputs = {"input_%d" % i: draw(*shape) for i in range(count)}
            case("element_nary", op.lower() + "_" + name, element_nary(op), {"op_type": op}, inputs, wrt=list(inputs), like=like)
    case("element_nary", "ties", element_nary("MAX"), {"op_type": "MAX"}, {"input_0": f32(1, 2, 3), "input_1": f32(1, 2, 0), "input_2": f32(0, 2, 3)},
         grad={"input_0": [1 / 2, 1 / 3, 1 / 2], "input_1": [1 / 2, 1 / 3, 0], "input_2": [0, 1 / 3, 1 / 2]}, like="torch.amax of a stack", tags=["edge"])
    case("element_nary", "zeros", element_nary("PROD"), {"op_type": "PROD"}, {"input_0": f32(2, 0, 0), "input_1": f32(0, 0, 3)}, wrt=["input_0", "input_1"],
         like="torch.prod of a stack", tags=["edge"])

    for name, shapes in (("rows", ((2, 3), (4, 3), (3, 3))), ("equal", ((2,), (2,))), ("empty", ((3, 2), (0, 2))), ("one", ((3, 1, 2),))):
        inputs = {"input_%d" % i: draw(*shape) for i, shape in enumerate(shapes)}
        case("trim_sequence", name, trim_sequence, {}, inputs, wrt=list(inputs), like="torch.stack of narrowed tensors")

    for name, attrs, value in (("number", {"value": 1.5}, np.float32(1.5)), ("integer", {"value_int": -7}, np.int64(-7)),
                               ("double", {"value": 0.1, "data_type": "f64"}, np.float64(0.1)), ("int32", {"value_int": 3, "data_type": "i32"}, np.int32(3))):
        for shape in ((2, 3), (), (0, 2)):
            case("full", "%s_%d" % (name, len(shape) + (0 in shape)), lambda: {"output": np.full(shape, value)}, {"shape": list(shape), **attrs}, {}, like="torch.full")

    for name, attrs, shape in (("even", {}, (2, 8)), ("odd", {}, (15,)), ("prime", {"dim": 0}, (17, 2)), ("whole", {"onesided": False}, (3, 6)),
                               ("middle", {"dim": 1, "onesided": False}, (2, 5, 3)), ("ortho", {"norm": "ORTHO"}, (2, 10)),
                               ("forward", {"dim": -2, "norm": "FORWARD"}, (12, 2)), ("single", {}, (2, 1)), ("long", {}, (134,))):
        case("fft", name, fft(**attrs), attrs, {"input": draw(*shape)}, wrt=["input"], like="torch.fft.rfft" if attrs.get("onesided", True) else "torch.fft.fft",
             atol=max(1e-6, 1e-7 * max(shape)))  # sums of as many terms, in float32

    for name, mode, attrs, shape in (("constant", "constant", {"axis": 1, "before": 1, "behind": 2, "value": 0.5}, (2, 3, 2)),
                                     ("reflect", "reflect", {"axis": -1, "before": 2, "behind": 3}, (2, 4)),
                                     ("replicate", "edge", {"axis": 0, "before": 3, "behind": 1}, (2, 2)),
                                     ("circular", "wrap", {"axis": -1, "before": 2, "behind": 3}, (2, 3)),
                                     ("single", "edge", {"axis": 0, "before": 2, "behind": 2}, (1,)),
                                     ("nothing", "constant", {"axis": 0, "before": 1, "behind": 1, "value": 2.0}, (0, 2))):
        names = {"constant": "CONSTANT", "reflect": "REFLECT", "edge": "REPLICATE", "wrap": "CIRCULAR"}
        case("pad", name, pad(mode=mode, **attrs), {**attrs, "mode": names[mode]}, {"input": draw(*shape)}, wrt=["input"], like="torch.nn.functional.pad")
    for name, attrs, shape in (("tile", {"axis": 1, "repeats": 3, "interleaved": False}, (2, 3, 2)), ("interleave", {"axis": -1, "repeats": 2, "interleaved": True}, (2, 3)),
                               ("once", {"axis": 0, "repeats": 1, "interleaved": True}, (4,)), ("nothing", {"axis": 0, "repeats": 2, "interleaved": False}, (0, 3))):
        case("repeat", name, repeat(**attrs), attrs, {"input": draw(*shape)}, wrt=["input"], like="torch.repeat_interleave" if attrs["interleaved"] else "torch.tile")

    losses()


def losses():
    for name, args in (("huber", ("HUBER", 0.75, "mean")), ("huber_sum", ("HUBER", 0.5, "sum")), ("smooth_l1", ("SMOOTH_L1", 0.75, "mean")),
                       ("l1", ("SMOOTH_L1", 0.0, "sum"))):
        attrs = dict(zip(("loss_type", "delta", "reduction"), args))
        case("huber", name, huber(*args), attrs, {"logit": draw(3, 4), "label": draw(3, 4)}, wrt=["logit"], like="torch.nn.functional." + name)
    edges = {"logit": f32(0, 1, -1, 2), "label": f32(0, 0, 0, 0)}
    case("huber", "edges", huber("HUBER", 1.0, "sum"), {"loss_type": "HUBER", "reduction": "sum"}, edges, grad={"logit": [0, 1, -1, 1]}, like="torch.nn.functional.huber_loss", tags=["edge"])
    case("huber", "smooth_l1_edges", huber("SMOOTH_L1", 1.0, "sum"), {"loss_type": "SMOOTH_L1", "reduction": "sum"}, edges, grad={"logit": [0, 1, -1, 1]},
         like="torch.nn.functional.smooth_l1_loss", tags=["edge"])

    like = "torch.nn.functional.binary_cross_entropy_with_logits"
    case("bce_with_logits", "plain", bce(1.0, "mean"), {}, {"logit": draw(3, 4), "label": draw(3, 4, low=0, high=1)}, wrt=["logit"], like=like)
    case("bce_with_logits", "weights", bce(2.5, "sum"), {"pos_weight": 2.5, "reduction": "sum"},
         {"logit": draw(5), "label": f32(0, 1, 1, 0, 0.5), "weight": draw(5, low=0, high=2)}, wrt=["logit"], like=like)
    case("bce_with_logits", "zero", bce(1.0, "sum"), {"reduction": "sum"}, {"logit": f32(0, 0), "label": f32(0, 1)}, grad={"logit": [0.5, -0.5]}, like=like, tags=["edge"])
    case("bce_with_logits", "large", bce(1.0, "sum"), {"reduction": "sum"}, {"logit": f32(1000, -1000, 80), "label": f32(0, 1, 1)}, grad={"logit": [1, -1, 0]}, like=like)

    probs = np.array([[0.1, 0.2, 0.7], [0.5, 0.5, 0]], np.float32)
    like = "torch.nn.functional.kl_div"
    case("kl_div", "batch", kl_div("batch", False), {}, {"logit": draw(2, 3), "label": probs}, wrt=["logit"], like=like)
    case("kl_div", "mean", kl_div("mean", False), {"reduction": "mean"}, {"logit": draw(2, 3), "label": probs}, wrt=["logit"], like=like)
    case("kl_div", "log_target", kl_div("sum", True), {"reduction": "sum", "log_target": True}, {"logit": draw(2, 3), "label": draw(2, 3)}, wrt=["logit"], like=like)
