"""The operators of the catalogue that PyTorch has, too: for each, a function that makes a random case of it from choices."""
import math

import torch
import torch.nn.functional as F


def gelu(x):
    """F.gelu loses the digits of its tail."""
    return x * (0.5 * torch.erfc(-x * 0.5 ** 0.5))


def gelu_tanh(x):
    return 0.5 * x * (1 + torch.tanh((2 / math.pi) ** 0.5 * (x + 0.044715 * x * x * x)))


class Silu(torch.autograd.Function):
    """x * sigmoid(x). x is a factor of what is small where x is large."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x.sigmoid()

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        s = x.sigmoid()
        return g * (s * (1 + x * (1 - s)))


silu = Silu.apply


def elu(x, alpha):
    """F.elu loses digits near 0. The branch that is not taken has no gradient, so that it may not be infinite."""
    return torch.where(x > 0, x, alpha * torch.expm1(torch.where(x > 0, torch.zeros_like(x), x)))


def logs_of_shares(x, d):
    """By its formula, x - logsumexp(x): of a row with an infinite element, what is finite has the logarithm -inf, where PyTorch has NaN."""
    if not x.shape[d]:
        return x
    m = torch.where(x.isinf(), torch.full_like(x, -torch.finfo(x.dtype).max), x).detach().amax(d, keepdim=True)  # of the finite elements
    return (x - m) - (x - m).exp().sum(d, keepdim=True).log()


class Standard(torch.autograd.Function):
    """What is left of x without its mean, divided by its deviation. Operations of PyTorch that do it round within, where Rounded does not see it."""

    @staticmethod
    def forward(ctx, x, over, eps):
        rest = x - x.mean(over, keepdim=True)
        ctx.over, scale = over, (rest.square().mean(over, keepdim=True) + eps).rsqrt()
        ctx.save_for_backward(rest * scale, scale)
        return rest * scale

    @staticmethod
    def backward(ctx, g):
        y, scale = ctx.saved_tensors
        return scale * (g - g.mean(ctx.over, keepdim=True) - y * (g * y).mean(ctx.over, keepdim=True)), None, None


def norm(x, over, eps, gamma=None, beta=None):
    y = Standard.apply(x, over, eps)
    return y if gamma is None else y * gamma if beta is None else y * gamma + beta


def along(w, dim, axis=1):
    """A tensor with one dimension as one of some dimensions, which varies along an axis."""
    return w if w is None else w.reshape([-1 if i == axis else 1 for i in range(dim)])


ACTIVATIONS = {None: lambda x: x, "RELU": torch.relu, "SIGMOID": torch.sigmoid, "TANH": torch.tanh, "GELU": gelu}
ALL = ("f16", "bf16", "f32", "f64", "i32", "i64", "bool")
NUMBERS = ("f16", "bf16", "f32", "f64", "i32", "i64")
FLOATS = ("f16", "bf16", "f32", "f64")


class Case:
    """A use of an operator, and a function from its tensors, by slot, to its outputs. ins and weights hold tensors by slot, and lists of
    them for variadic slots; slots in fixed have no gradient. exact says that results are not rounded."""

    def __init__(self, op, attrs, ins, fn, weights=None, fixed=(), exact=False, args=None, grads=True, tags=(), selects=None):
        self.op, self.attrs, self.ins, self.fn, self.weights = op, {k: v for k, v in attrs.items() if v is not None}, ins, fn, weights or {}
        self.fixed, self.exact, self.args, self.grads, self.tags = fixed, exact, args, grads, tags
        self.selects = exact if selects is None else selects  # whether a result is one of several numbers: no rule says what a gradient is at NaN


OPERATORS = {}


def operator(f):
    OPERATORS[f.__name__] = f
    return f


def axis(c, rank, name="axis"):
    if rank == 0:
        raise ValueError("no axis")
    return c.pick(name, range(-rank, rank))


def axes(c, rank, name="axes", least=1):
    some = c.get(name, lambda: sorted(c.random.sample(range(rank), c.random.randint(min(least, rank), rank))))
    if len(some) < least or any(a >= rank for a in some):
        raise ValueError(f"{name}: {some}")
    return some


UNARY = {
    "IDENTITY": lambda x, s, a: x * 1, "EXP": lambda x, s, a: x.exp(), "LOG": lambda x, s, a: x.log(), "SQRT": lambda x, s, a: x.sqrt(),
    "RSQRT": lambda x, s, a: x.rsqrt(), "SIN": lambda x, s, a: x.sin(), "COS": lambda x, s, a: x.cos(), "CEIL": lambda x, s, a: x.ceil(),
    "ROUND": lambda x, s, a: x.round(), "RELU": lambda x, s, a: x.relu(), "LEAKYRELU": lambda x, s, a: F.leaky_relu(x, s),
    "ELU": lambda x, s, a: elu(x, a), "SIGMOID": lambda x, s, a: x.sigmoid(), "TANH": lambda x, s, a: x.tanh(), "GELU": lambda x, s, a: gelu(x),
    "GELU_TANH": lambda x, s, a: gelu_tanh(x), "SILU": lambda x, s, a: silu(x), "ERFC": lambda x, s, a: torch.special.erfc(x),
    "POW": lambda x, s, a: x.pow(torch.full_like(x, s)),  # with a number, it takes roots, which differ at -0 and -inf
    "SCALAR_ADD": lambda x, s, a: x + s, "SCALAR_SUB": lambda x, s, a: x - s, "SCALAR_MULTIPLY": lambda x, s, a: x * s,
    "SCALAR_TRUE_DIV": lambda x, s, a: x / s,
}


@operator
def element_unary(c):
    t = c.dtype()
    kind = c.pick("op_type", UNARY)
    x = c.tensor("input", c.shape("shape", 0, 4), t, ["positive", "special", "wide"] if kind in ("LOG", "SQRT", "RSQRT", "POW") else None)
    attrs = {"op_type": kind}
    if kind in ("POW", "SCALAR_ADD", "SCALAR_SUB", "SCALAR_MULTIPLY", "SCALAR_TRUE_DIV"):
        attrs["scalar"] = c.pick("scalar", [2.0, 0.5, -1.0, 3.0, 0.75, -2.5] + ([0.0, 1.0] if kind != "SCALAR_TRUE_DIV" else []))
    if kind == "LEAKYRELU":
        attrs["scalar"] = c.pick("slope", [0.01, 0.2, 1.0, -0.5])
    if kind == "ELU":
        attrs["alpha"] = c.pick("alpha", [0.01, 0.2, 1.0])
    return Case("element_unary", attrs, {"input": x}, lambda t: {"output": UNARY[kind](t["input"], attrs.get("scalar"), attrs.get("alpha"))},
                exact=kind in ("IDENTITY", "CEIL", "ROUND", "RELU"))


@operator
def element_unary_logical(c):
    return Case("element_unary_logical", {}, {"input": c.tensor("input", c.shape("shape", 0, 4), "bool")}, lambda t: {"output": ~t["input"]}, exact=True)


def pair(c, t, kinds=None, second=None):
    """Two tensors that broadcast."""
    out = c.shape("shape", 0, 4)
    shapes = []
    for side in ("lhs", "rhs"):
        dims = list(out)
        for i in range(len(dims)):
            if c.flag(f"{side} repeats {i}", 0.2):
                dims[i] = 1
        shapes.append(dims[c.count(f"{side} lacks", 0, len(dims)) if c.flag(f"{side} is short", 0.25) else 0:])
    c.edges = c.edges and shapes[0] == shapes[1]  # in sums, the order of factors decides near the ends of the range
    return c.tensor("lhs", shapes[0], t, kinds), c.tensor("rhs", shapes[1], t, second or kinds)


class Quotient(torch.autograd.Function):
    """x / y. Where y repeats, its gradient is a sum of g * (x / y) that is divided by y once more: neither g * x nor y * y overflows. A sum of
    nothing is 0, whatever divides it."""

    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x / y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        if g.numel() == 0:
            return torch.zeros_like(x), torch.zeros_like(y)
        return (g / y).sum_to_size(x.shape), -((g * (x / y)).sum_to_size(y.shape) / y)


class Hypot(torch.autograd.Function):
    """hypot whose gradient is 0 where both numbers are 0, as that of |x| is at 0. PyTorch divides 0 by 0 there, which is NaN."""

    @staticmethod
    def forward(ctx, x, y):
        h = torch.hypot(x, y)
        ctx.save_for_backward(x, y, h)
        return h

    @staticmethod
    def backward(ctx, g):
        x, y, h = ctx.saved_tensors
        of = lambda z: torch.where(h == 0, torch.zeros_like(h), g * (z / h)).sum_to_size(z.shape)
        return of(x), of(y)


BINARY = {"EW_ADD": torch.add, "EW_SUB": torch.sub, "EW_MUL": torch.mul, "EW_DIV": Quotient.apply, "EW_MAX": torch.maximum, "EW_MIN": torch.minimum, "EW_POW": torch.pow,
    "EW_HYPOT": Hypot.apply}


@operator
def element_binary(c):
    t = c.dtype(NUMBERS)
    kind = c.pick("type", [k for k in BINARY if t in FLOATS or k not in ("EW_DIV", "EW_POW", "EW_HYPOT")])
    x, y = pair(c, t, ["positive", "special"] if kind == "EW_POW" else None)
    return Case("element_binary", {"type": kind}, {"lhs_input": x, "rhs_input": y}, lambda t: {"output": BINARY[kind](t["lhs_input"], t["rhs_input"])},
                exact=kind in ("EW_MAX", "EW_MIN") and x.shape == y.shape, selects=kind in ("EW_MAX", "EW_MIN"))


@operator
def element_binary_compare(c):
    kind = c.pick("type", ["EW_EQUAL", "EW_GREATER", "EW_LESS"])
    x, y = pair(c, c.dtype(NUMBERS))
    f = {"EW_EQUAL": torch.eq, "EW_GREATER": torch.gt, "EW_LESS": torch.lt}[kind]
    return Case("element_binary_compare", {"type": kind}, {"lhs_input": x, "rhs_input": y}, lambda t: {"output": f(t["lhs_input"], t["rhs_input"])}, exact=True)


@operator
def element_binary_logical(c):
    kind = c.pick("type", ["EW_LOGICAL_AND", "EW_LOGICAL_OR", "EW_LOGICAL_XOR"])
    x, y = pair(c, "bool")
    f = {"EW_LOGICAL_AND": torch.logical_and, "EW_LOGICAL_OR": torch.logical_or, "EW_LOGICAL_XOR": torch.logical_xor}[kind]
    return Case("element_binary_logical", {"type": kind}, {"lhs_input": x, "rhs_input": y}, lambda t: {"output": f(t["lhs_input"], t["rhs_input"])}, exact=True)


@operator
def element_nary(c):
    kind = c.pick("op_type", ["SUM", "MEAN", "PROD", "MAX", "MIN"])
    t, shape = c.dtype(), c.shape("shape", 0, 4, elements=5000)
    xs = [c.tensor(f"input {i}", shape, t) for i in range(c.count("inputs", 1, 6))]
    f = {"SUM": lambda x: x.sum(0), "MEAN": lambda x: x.mean(0), "PROD": lambda x: x.prod(0), "MAX": lambda x: x.amax(0), "MIN": lambda x: x.amin(0)}[kind]
    return Case("element_nary", {"op_type": kind}, {"input": xs}, lambda t: {"output": f(torch.stack(t["input"]))}, exact=kind in ("MAX", "MIN"), selects=kind in ("MAX", "MIN", "PROD"))


@operator
def where(c):
    t = c.dtype(ALL)
    x, y = pair(c, t)
    cond = c.tensor("condition", c.get("condition shape", lambda: list(c.random.choice([x.shape, y.shape, torch.broadcast_shapes(x.shape, y.shape)]))), "bool")
    return Case("where", {}, {"condition": cond, "lhs": x, "rhs": y}, lambda t: {"output": torch.where(t["condition"], t["lhs"], t["rhs"])})


@operator
def clip(c):
    low, high = sorted([c.pick("low", [-1.0, 0.0, float("-inf"), 0.5]), c.pick("high", [1.0, 0.0, float("inf"), 2.0])])
    x = c.tensor("input", c.shape("shape", 0, 4), c.dtype())
    return Case("clip", {}, {"input": x}, lambda t: {"output": t["input"].clamp(low, high)}, args={"low": [low], "high": [high]}, exact=True)


@operator
def batch_matmul(c):
    t, lead = c.dtype(), c.shape("lead", 0, 2, elements=20)
    m, k, n = c.extent("m", most=129), c.extent("k", most=257), c.extent("n", most=129)
    short = c.flag("lhs is a matrix", 0.3)
    x = c.tensor("lhs", ([] if short else lead) + [m, k], t)
    y = c.tensor("rhs", ([] if c.flag("rhs is a matrix", 0.3) and not short else lead) + [k, n], t)
    return Case("batch_matmul", {}, {"lhs_input": x, "rhs_input": y}, lambda t: {"output": t["lhs_input"] @ t["rhs_input"]})


@operator
def linear(c):
    t, lead, k, n = c.dtype(), c.shape("lead", 0, 3, elements=300), c.extent("k", most=257), c.extent("n", least=1, most=129)
    bias, act = c.flag("use_bias"), c.pick("activation", list(ACTIVATIONS))
    w = {"weight": c.tensor("weight", [n, k], t)}
    if bias:
        w["bias"] = c.tensor("bias", [n], t)
    return Case("linear", {"out_channels": n, "use_bias": bias, "activation": act}, {"input": c.tensor("input", lead + [k], t)},
                lambda t: {"output": ACTIVATIONS[act](F.linear(t["input"], t["weight"], t.get("bias")))}, w)


def image(c, t, groups=1, most=17, kinds=None):
    n, ch = c.count("n", 0 if c.flag("may be empty", 0.05) else 1, 3), c.count("channels", 1, 4) * groups
    return c.tensor("input", [n, ch, c.extent("h", 1, most), c.extent("w", 1, 33)], t, kinds), n, ch


@operator
def conv_2d(c):
    t, g = c.dtype(), c.pick("groups", [1, 1, 2, 3])
    x, n, ch = image(c, t, g)
    out = g * c.count("out", 1, 4)
    k, s, p, d = ([c.count(f"{name} {i}", lo, hi) for i in "hw"] for name, lo, hi in (("kernel", 1, 4), ("stride", 1, 3), ("padding", 0, 2), ("dilation", 1, 2)))
    bias, act = c.flag("use_bias"), c.pick("activation", list(ACTIVATIONS))
    w = {"filter": c.tensor("filter", [out, ch // g, *k], t)}
    if bias:
        w["bias"] = c.tensor("bias", [out], t)
    attrs = dict(out_channels=out, kernel_h=k[0], kernel_w=k[1], stride_h=s[0], stride_w=s[1], padding_h=p[0], padding_w=p[1], dilation_h=d[0],
                 dilation_w=d[1], groups=g, use_bias=bias, activation=act)
    return Case("conv_2d", attrs, {"input": x}, lambda t: {"output": ACTIVATIONS[act](F.conv2d(t["input"], t["filter"], t.get("bias"), s, p, d, g))}, w)


@operator
def conv_transpose_2d(c):
    t, g = c.dtype(), c.pick("groups", [1, 1, 2, 3])
    x, n, ch = image(c, t, g)
    out = g * c.count("out", 1, 4)
    k, s, p, d = ([c.count(f"{name} {i}", lo, hi) for i in "hw"] for name, lo, hi in (("kernel", 1, 4), ("stride", 1, 3), ("padding", 0, 2), ("dilation", 1, 2)))
    o = [c.count(f"output padding {i}", 0, max(s[j], d[j]) - 1) for j, i in enumerate("hw")]
    bias = c.flag("use_bias")
    w = {"filter": c.tensor("filter", [ch, out // g, *k], t)}
    if bias:
        w["bias"] = c.tensor("bias", [out], t)
    attrs = dict(out_channels=out, kernel_h=k[0], kernel_w=k[1], stride_h=s[0], stride_w=s[1], padding_h=p[0], padding_w=p[1], dilation_h=d[0],
                 dilation_w=d[1], output_padding_h=o[0], output_padding_w=o[1], groups=g, use_bias=bias)
    return Case("conv_transpose_2d", attrs, {"input": x}, lambda t: {"output": F.conv_transpose2d(t["input"], t["filter"], t.get("bias"), s, p, o, g, d)}, w)


@operator
def pool_2d(c):
    x, n, ch = image(c, c.dtype())
    kind, include = c.pick("pool_type", ["MAX", "AVG"]), c.flag("count_include_pad")
    k, s = ([c.count(f"{name} {i}", lo, hi) for i in "hw"] for name, lo, hi in (("kernel", 1, 5), ("stride", 1, 3)))
    p = [c.count(f"padding {i}", 0, k[j] // 2) for j, i in enumerate("hw")]
    act = c.pick("activation", list(ACTIVATIONS))
    f = (lambda x: F.max_pool2d(x, k, s, p)) if kind == "MAX" else (lambda x: F.avg_pool2d(x, k, s, p, count_include_pad=include))
    attrs = dict(kernel_h=k[0], kernel_w=k[1], stride_h=s[0], stride_w=s[1], padding_h=p[0], padding_w=p[1], pool_type=kind, count_include_pad=include, activation=act)
    return Case("pool_2d", attrs, {"input": x}, lambda t: {"output": ACTIVATIONS[act](f(t["input"]))}, exact=kind == "MAX" and act in (None, "RELU"), selects=True)


@operator
def adaptive_pool_2d(c):
    x, n, ch = image(c, c.dtype())
    kind, size, act = c.pick("pool_type", ["MAX", "AVG"]), [c.count("output h", 1, 9), c.count("output w", 1, 9)], c.pick("activation", list(ACTIVATIONS))
    f = F.adaptive_max_pool2d if kind == "MAX" else F.adaptive_avg_pool2d
    return Case("adaptive_pool_2d", dict(output_h=size[0], output_w=size[1], pool_type=kind, activation=act), {"input": x},
                lambda t: {"output": ACTIVATIONS[act](f(t["input"], size))}, exact=kind == "MAX" and act in (None, "RELU"), selects=True)


@operator
def unfold(c):
    x, n, ch = image(c, c.dtype())
    k, s, p, d = ([c.count(f"{name} {i}", lo, hi) for i in "hw"] for name, lo, hi in (("kernel", 1, 4), ("stride", 1, 3), ("padding", 0, 2), ("dilation", 1, 2)))
    return Case("unfold", dict(kernel=k, stride=s, padding=p, dilation=d), {"input": x}, lambda t: {"output": F.unfold(t["input"], k, d, p, s)})


@operator
def upsample(c):
    x, n, ch = image(c, c.dtype(("f32", "f64")))
    k = c.count("factor", 1, 4)
    return Case("upsample", dict(factor=k), {"input": x}, lambda t: {"output": F.interpolate(t["input"], scale_factor=k, mode="nearest")})


def normalized(c, t, low=2, kinds=("normal", "normal", "mean", "equal", "wide")):
    shape = c.shape("shape", low, 4, least=1)
    return c.tensor("input", shape, t, list(kinds)), shape


def affine(c, shape, t, chance=0.6, beta=True):
    if not c.flag("affine", chance):
        return {}
    return {name: c.tensor(name, shape, t) for name in (("gamma", "beta") if beta else ("gamma",))}


@operator
def layer_norm(c):
    t = c.dtype()
    x, shape = normalized(c, t, 1)
    first = c.count("first axis", 0, len(shape) - 1)
    w = affine(c, shape[first:], t)
    eps = c.pick("eps", [1e-5, 1e-3])
    return Case("layer_norm", dict(axes=list(range(first, len(shape))), elementwise_affine=bool(w), eps=eps), {"input": x},
                lambda t: {"output": norm(t["input"], list(range(first, len(shape))), eps, t.get("gamma"), t.get("beta"))}, w)


@operator
def rms_norm(c):
    t = c.dtype()
    x, shape = normalized(c, t, 1)
    first = c.count("first axis", 0, len(shape) - 1)
    if x[(0,) * first].numel() == 1:
        raise ValueError("a gradient that is the difference of equal numbers")
    w, eps, over = affine(c, shape[first:], t, beta=False), c.pick("eps", [1e-6, 1e-3]), list(range(first, len(shape)))
    return Case("rms_norm", dict(axes=over, elementwise_affine=bool(w), eps=eps), {"input": x},
                lambda t: {"output": t["input"] * (t["input"].pow(2).mean(over, keepdim=True) + eps).rsqrt() * t.get("gamma", 1)}, w)


@operator
def l2_normalize(c):
    t = c.dtype()
    x, shape = normalized(c, t, 1)
    over, eps = list(range(c.count("first axis", 0, len(shape) - 1), len(shape))), c.pick("eps", [1e-12, 0.5])
    return Case("l2_normalize", dict(axes=over, eps=eps), {"input": x},
                lambda t: {"output": F.normalize(t["input"], dim=over, eps=eps)})


@operator
def group_norm(c):
    t = c.dtype()
    x, shape = normalized(c, t)
    g = c.pick("groups", [n for n in range(1, shape[1] + 1) if shape[1] % n == 0])
    w, eps = affine(c, [shape[1]], t), c.pick("eps", [1e-5, 1e-3])

    def f(t):
        y = norm(t["input"].reshape(shape[0], g, -1), [2], eps).reshape(shape)
        return y * along(t["gamma"], len(shape)) + along(t["beta"], len(shape)) if w else y

    return Case("group_norm", dict(groups=g, affine=bool(w), eps=eps), {"input": x}, lambda t: {"output": f(t)}, w)


@operator
def instance_norm(c):
    t = c.dtype()
    x, shape = normalized(c, t, 3)
    w, eps = affine(c, [shape[1]], t), c.pick("eps", [1e-5, 1e-3])
    return Case("instance_norm", dict(affine=bool(w), eps=eps), {"input": x},
                lambda t: {"output": norm(t["input"], list(range(2, len(shape))), eps, along(t.get("gamma"), len(shape)), along(t.get("beta"), len(shape)))}, w)


@operator
def batch_norm(c):
    t, relu = c.dtype(), c.flag("relu", 0.3)
    x, shape = normalized(c, t, kinds=["normal"] if relu else ["normal", "mean", "equal", "wide"])  # equal values are at the kink
    w, eps = affine(c, [shape[1]], t), c.pick("eps", [1e-5, 1e-3])
    if x.numel() <= shape[1]:
        raise ValueError("one value for each channel")
    f = lambda x: F.relu(x) if relu else x
    return Case("batch_norm", dict(affine=bool(w), eps=eps, relu=relu), {"input": x},
                lambda t: {"output": f(norm(t["input"], [i for i in range(len(shape)) if i != 1], eps, along(t.get("gamma"), len(shape)), along(t.get("beta"), len(shape))))}, w)


@operator
def softmax(c):
    x = c.tensor("input", c.shape("shape", 1, 4), c.dtype())
    d = axis(c, x.dim(), "dim")
    return Case("softmax", dict(dim=d), {"input": x}, lambda t: {"output": logs_of_shares(t["input"], d).exp()})


@operator
def log_softmax(c):
    x = c.tensor("input", c.shape("shape", 1, 4), c.dtype())
    d = axis(c, x.dim(), "dim")
    return Case("log_softmax", dict(dim=d), {"input": x}, lambda t: {"output": logs_of_shares(t["input"], d)})


@operator
def prelu(c):
    t = c.dtype()
    x = c.tensor("input", c.shape("shape", 2, 4), t)
    n = x.shape[1] if c.flag("for each channel") and x.shape[1] > 0 else 1
    return Case("prelu", dict(num_parameters=n), {"input": x}, lambda t: {"output": F.prelu(t["input"], t["weight"])}, {"weight": c.tensor("weight", [n], t)})
