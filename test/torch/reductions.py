"""Reductions, scans, orders, look-ups, movements, losses and cells, as in operators.py."""
import torch
import torch.nn.functional as F

from operators import ALL, FLOATS, NUMBERS, Case, axes, axis, logs_of_shares, operator


class Product(torch.autograd.Function):
    """x.prod(axis, keepdim=True), whose gradient is the product of the other elements. PyTorch divides the product of all by the element,
    so that an infinite element has the gradient NaN."""

    @staticmethod
    def forward(ctx, x, axis):
        ctx.axis = axis
        ctx.save_for_backward(x)
        return x.prod(axis, keepdim=True)

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        one = torch.ones_like(x.narrow(ctx.axis, 0, min(1, x.shape[ctx.axis])))
        before = lambda x: torch.cat([one, x], ctx.axis).narrow(ctx.axis, 0, x.shape[ctx.axis]).cumprod(ctx.axis)
        return g * (before(x) * before(x.flip(ctx.axis)).flip(ctx.axis)), None


def product(x, over, keep):
    for a in sorted(over, reverse=True):
        x = Product.apply(x, a)
        x = x if keep else x.squeeze(a)
    return x


@operator
def reduce(c):
    t = c.dtype(NUMBERS)
    kind = c.pick("op_type", ["SUM", "MEAN", "MAX", "MIN", "PROD"] if t in FLOATS else ["SUM", "MAX", "MIN"])
    x = c.tensor("input", c.shape("shape", 1, 4, least=1 if kind in ("MAX", "MIN", "MEAN") else 0), t)
    over, keep = axes(c, x.dim()), c.flag("keepdims")
    f = {"SUM": lambda x: x.sum(over, keepdim=keep), "MEAN": lambda x: x.mean(over, keepdim=keep), "MAX": lambda x: x.amax(over, keepdim=keep),
         "MIN": lambda x: x.amin(over, keepdim=keep), "PROD": lambda x: product(x, over, keep)}[kind]
    return Case("reduce", dict(op_type="REDUCE_" + kind, axes=over, keepdims=keep), {"input": x}, lambda t: {"output": f(t["input"])}, exact=kind in ("MAX", "MIN"), selects=kind in ("MAX", "MIN", "PROD"))


@operator
def reduce_arg(c):
    kind = c.pick("op_type", ["MAX", "MIN"])
    x = c.tensor("input", c.shape("shape", 1, 4, least=1), c.dtype(NUMBERS))
    a, keep = axis(c, x.dim()), c.flag("keepdims")
    f = torch.argmax if kind == "MAX" else torch.argmin
    return Case("reduce_arg", dict(op_type="REDUCE_ARG" + kind, axes=[a], keepdims=keep), {"input": x}, lambda t: {"output": f(t["input"], a, keepdim=keep)}, exact=True)


@operator
def cumsum(c):
    x = c.tensor("input", c.shape("shape", 1, 4), c.dtype(NUMBERS))
    a, back = axis(c, x.dim()), c.flag("reverse", 0.3)
    f = lambda x: x.flip(a).cumsum(a).flip(a) if back else x.cumsum(a)
    return Case("cumsum", dict(axis=a, reverse=back), {"input": x}, lambda t: {"output": f(t["input"])})


@operator
def cumprod(c):
    x = c.tensor("input", c.shape("shape", 1, 3, elements=300), c.dtype(FLOATS), ["normal", "ties", "positive"])
    a, back = axis(c, x.dim()), c.flag("reverse", 0.3)
    f = lambda x: x.flip(a).cumprod(a).flip(a) if back else x.cumprod(a)
    return Case("cumprod", dict(axis=a, reverse=back), {"input": x}, lambda t: {"output": f(t["input"])})


@operator
def topk(c):
    x = c.tensor("input", c.shape("shape", 1, 4, least=1), c.dtype(NUMBERS), ["normal", "wide"])
    a = axis(c, x.dim())
    k = c.count("k", 1, x.shape[a])
    if x.unique().numel() != x.numel():
        raise ValueError("ties, whose order is a convention")
    return Case("topk", dict(k=k, axis=a), {"input": x}, lambda t: dict(zip(("output", "indices"), t["input"].topk(k, a))), exact=True)


@operator
def gather(c):
    x = c.tensor("input", c.shape("shape", 1, 4, least=1), c.dtype(ALL))
    a = axis(c, x.dim(), "dim")
    dims = [c.count(f"extent {i}", 0, n) if i != a % x.dim() else c.count("picked", 0, 9) for i, n in enumerate(x.shape)]
    i = c.below("index", dims, x.shape[a], c.pick("index type", ["i32", "i64"]))
    return Case("gather", dict(dim=a), {"input": x, "index": i}, lambda t: {"output": t["input"].gather(a, t["index"].long())})


@operator
def scatter(c):
    t = c.dtype(FLOATS)
    kind = c.pick("reduction", ["ADD", "MUL", "MAX", "MIN"])
    x = c.tensor("input", c.shape("shape", 1, 3, least=1, elements=3000), t)
    a = axis(c, x.dim(), "dim")
    dims = [c.count(f"extent {i}", 1, n) if i != a % x.dim() else c.count("picked", 1, 9) for i, n in enumerate(x.shape)]
    i = c.below("index", dims, x.shape[a], c.pick("index type", ["i32", "i64"]))
    u = c.tensor("updates", dims, t)
    name = {"ADD": "sum", "MUL": "prod", "MAX": "amax", "MIN": "amin"}[kind]
    return Case("scatter", dict(dim=a, reduction=kind), {"input": x, "index": i, "updates": u},
                lambda t: {"output": t["input"].scatter_reduce(a, t["index"].long(), t["updates"], name)}, exact=kind in ("MAX", "MIN"))


@operator
def embedding(c):
    t = c.dtype()
    n, d = c.extent("entries", 1, 129), c.extent("channels", 1, 65)
    i = c.below("input", c.shape("shape", 1, 3, elements=300), n, c.pick("index type", ["i32", "i64"]))
    return Case("embedding", dict(num_entries=n, out_channels=d, data_type=t), {"input": i}, lambda t: {"output": F.embedding(t["input"].long(), t["weight"])},
                {"weight": c.tensor("weight", [n, d], t)})


@operator
def embedding_bag(c):
    t = c.dtype()
    n, d = c.extent("entries", 1, 129), c.extent("channels", 1, 65)
    mode = c.pick("mode", ["SUM", "MEAN", "MAX"])
    i = c.below("index", [c.count("bags", 1, 9), c.count("rows", 1, 9)], n, c.pick("index type", ["i32", "i64"]))
    return Case("embedding_bag", dict(num_entries=n, out_dim=d, mode=mode, data_type=t), {"index": i},
                lambda t: {"output": F.embedding_bag(t["index"].long(), t["weight"], mode=mode.lower())}, {"weight": c.tensor("weight", [n, d], t, ["normal", "wide"])})


def moved(c, low=1, types=ALL):
    return c.tensor("input", c.shape("shape", low, 4), c.dtype(types))


@operator
def transpose(c):
    x = moved(c)
    p = c.get("permutation", lambda: c.random.sample(range(x.dim()), x.dim()))
    return Case("transpose", dict(permutation=p), {"input": x}, lambda t: {"output": t["input"].permute(p)})


@operator
def reshape(c):
    x = moved(c, 0)
    s = c.get("to", lambda: c.random.choice([[x.numel()], [1, x.numel()], list(x.shape)[::-1], list(x.shape) + [1]]))
    return Case("reshape", dict(shape=s), {"input": x}, lambda t: {"output": t["input"].reshape(s)})


@operator
def unsqueeze(c):
    x = moved(c, 0)
    a = c.count("at", 0, x.dim())
    return Case("unsqueeze", dict(axes=[a]), {"input": x}, lambda t: {"output": t["input"].unsqueeze(a)})


@operator
def reverse(c):
    x = moved(c)
    a = axis(c, x.dim())
    return Case("reverse", dict(axis=a), {"input": x}, lambda t: {"output": t["input"].flip(a)})


@operator
def repeat(c):
    x = moved(c)
    a, n, each = axis(c, x.dim()), c.count("repeats", 0, 4), c.flag("interleaved")
    times = [n if i == a % x.dim() else 1 for i in range(x.dim())]
    return Case("repeat", dict(axis=a, repeats=n, interleaved=each), {"input": x},
                lambda t: {"output": t["input"].repeat_interleave(n, a) if each else t["input"].repeat(times)})


@operator
def broadcast(c):
    x = moved(c, 0)
    target = [c.count(f"extent {i}", 0, 5) if n == 1 else n for i, n in enumerate(x.shape)]
    target = [c.count(f"more {i}", 0, 3) for i in range(c.count("more", 0, 2))] + target
    return Case("broadcast", dict(target_dims=target), {"input": x}, lambda t: {"output": t["input"].expand(target)})


@operator
def concat(c):
    t, shape = c.dtype(ALL), c.shape("shape", 1, 4, elements=5000)
    a = axis(c, len(shape))
    xs = []
    for i in range(c.count("inputs", 1, 5)):
        dims = list(shape)
        dims[a] = c.count(f"extent {i}", 0, 9)
        xs.append(c.tensor(f"input {i}", dims, t))
    return Case("concat", dict(axis=a), {"input": xs}, lambda t: {"output": torch.cat(t["input"], a)})


@operator
def split(c):
    x = moved(c)
    a = axis(c, x.dim())
    n = x.shape[a]
    cuts = c.get("cuts", lambda: sorted(c.random.randint(0, n) for _ in range(c.random.randint(0, 3))))
    sizes = [v - u for u, v in zip([0] + cuts, cuts + [n])]
    return Case("split", dict(axis=a, splits=sizes), {"input": x}, lambda t: {"output": list(t["input"].split(sizes, a))})


@operator
def pad(c):
    x = c.tensor("input", c.shape("shape", 1, 4, least=1, elements=3000), c.dtype())
    mode = c.pick("mode", ["CONSTANT", "REFLECT", "REPLICATE", "CIRCULAR"])
    n = x.shape[-1]
    most = {"CONSTANT": 5, "REFLECT": n - 1, "REPLICATE": 5, "CIRCULAR": n}[mode]
    before, behind = c.count("before", 0, min(most, 5)), c.count("behind", 0, min(most, 5))
    value = c.pick("value", [0.0, 1.5]) if mode == "CONSTANT" else None

    def f(x):
        flat = x.reshape(1, -1, n)
        y = F.pad(flat, (before, behind), mode.lower(), value if value is not None else 0)
        return y.reshape(*x.shape[:-1], n + before + behind)

    return Case("pad", dict(axis=-1, before=before, behind=behind, mode=mode, value=value), {"input": x}, lambda t: {"output": f(t["input"])})


@operator
def cast(c):
    t, u = c.dtype(ALL), c.pick("to", ALL)
    x = c.tensor("input", c.shape("shape", 0, 3), t, ["normal", "ties"] if u not in FLOATS else None)
    from values import TYPES
    return Case("cast", dict(dtype=u), {"input": x}, lambda s: {"output": x.to(TYPES[u])}, exact=True, grads=False)


@operator
def einsum(c):
    t = c.dtype(("f32", "f64"))
    extents = {l: c.extent("extent " + l, 0, 17) for l in "abcd"}
    terms = [c.get(f"term {i}", lambda: "".join(c.random.sample("abcd", c.random.randint(1, 3)))) for i in range(c.count("inputs", 1, 3))]
    letters = sorted(set("".join(terms)))
    to = c.get("to", lambda: "".join(c.random.sample(letters, c.random.randint(0, len(letters)))))
    equation = ",".join(terms) + "->" + to
    xs = [c.tensor(f"input {i}", [extents[l] for l in term], t) for i, term in enumerate(terms)]
    return Case("einsum", dict(equation=equation), {"input": xs}, lambda t: {"output": torch.einsum(equation, *t["input"])})


@operator
def tensordot(c):
    t = c.dtype(("f32", "f64"))
    x = c.tensor("lhs", c.shape("shape", 1, 3, elements=500), t)
    a = axis(c, x.dim(), "lhs_dim")
    dims = c.shape("rhs shape", 1, 3, elements=100)
    b = axis(c, len(dims), "rhs_dim")
    dims[b] = x.shape[a]
    return Case("tensordot", dict(lhs_dim=a, rhs_dim=b), {"lhs": x, "rhs": c.tensor("rhs", dims, t)},
                lambda t: {"output": torch.tensordot(t["lhs"], t["rhs"], ([a % x.dim()], [b % len(dims)]))})


@operator
def segment_sum(c):
    t = c.dtype(("f32", "f64", "i32", "i64"))
    x = c.tensor("data", c.shape("shape", 1, 3, elements=3000), t)
    n = c.extent("segments", 1, 33)
    i = c.below("segment", x.shape[:1], n, c.pick("index type", ["i32", "i64"]))
    return Case("segment_sum", dict(segments=n), {"data": x, "segment": i},
                lambda t: {"output": torch.zeros([n, *x.shape[1:]], dtype=t["data"].dtype).index_add(0, t["segment"].long(), t["data"])})


LOSS = ["normal", "normal", "ties", "wide", "mean"]


@operator
def mean_squared_error(c):
    t, shape, how = c.dtype(("f32", "f64")), c.shape("shape", 1, 3, least=1), c.pick("reduction", ["sum"])
    return Case("mean_squared_error", dict(loss_type="MEAN_SQUARED_ERROR_SUM_REDUCE", reduction=how), {"logit": c.tensor("logit", shape, t), "label": c.tensor("label", shape, t)},
                lambda t: {"loss": F.mse_loss(t["logit"], t["label"], reduction=how)}, fixed=("label",))


@operator
def bce_with_logits(c):
    t, shape, how, w = c.dtype(("f32", "f64")), c.shape("shape", 0, 3, least=1), c.pick("reduction", ["mean", "sum"]), c.pick("pos_weight", [1.0, 0.5, 3.0])
    return Case("bce_with_logits", dict(reduction=how, pos_weight=w), {"logit": c.tensor("logit", shape, t), "label": c.tensor("label", shape, t, ["unit"])},
                lambda t: {"loss": F.binary_cross_entropy_with_logits(t["logit"], t["label"], reduction=how, pos_weight=torch.tensor(w, dtype=t["logit"].dtype))}, fixed=("label",))


@operator
def huber(c):
    t, shape, how, d = c.dtype(("f32", "f64")), c.shape("shape", 0, 3, least=1), c.pick("reduction", ["mean", "sum"]), c.pick("delta", [1.0, 0.5, 2.0])
    kind = c.pick("loss_type", ["HUBER", "SMOOTH_L1"])
    f = (lambda x, y: F.huber_loss(x, y, reduction=how, delta=d)) if kind == "HUBER" else (lambda x, y: F.smooth_l1_loss(x, y, reduction=how, beta=d))
    return Case("huber", dict(reduction=how, delta=d, loss_type=kind), {"logit": c.tensor("logit", shape, t), "label": c.tensor("label", shape, t)},
                lambda t: {"loss": f(t["logit"], t["label"])}, fixed=("label",))


@operator
def kl_div(c):
    t, shape, how, log = c.dtype(("f32", "f64")), c.shape("shape", 1, 3, least=1), c.pick("reduction", ["batch", "mean", "sum"]), c.flag("log_target")
    return Case("kl_div", dict(reduction=how, log_target=log), {"logit": c.tensor("logit", shape, t), "label": c.tensor("label", shape, t, ["normal"] if log else ["unit"])},
                lambda t: {"loss": F.kl_div(t["logit"], t["label"], reduction="batchmean" if how == "batch" else how, log_target=log)}, fixed=("label",))


def cross_entropy(logit, shares, how):
    """Of rows, by its formula: F.cross_entropy rounds within, where Rounded does not see it."""
    y = -(logs_of_shares(logit, 1) * shares)
    return y.sum() if how == "sum" else y.sum() / len(logit)


@operator
def categorical_crossentropy(c):
    t, shape, how = c.dtype(("f32", "f64")), c.shape("shape", 2, 2, least=1), c.pick("reduction", ["mean over batch", "sum"])
    return Case("categorical_crossentropy", dict(reduction=how), {"logit": c.tensor("logit", shape, t), "label": c.tensor("label", shape, t, ["unit"])},
                lambda t: {"loss": cross_entropy(t["logit"], t["label"], how)}, fixed=("label",))


@operator
def sparse_categorical_crossentropy(c):
    t, shape, how = c.dtype(), c.shape("shape", 2, 2, least=1), c.pick("reduction", ["mean over batch", "sum"])
    label = c.below("label", [shape[0], 1], shape[1], c.pick("index type", ["i32", "i64"]))
    return Case("sparse_categorical_crossentropy", dict(reduction=how), {"logit": c.tensor("logit", shape, t), "label": label},
                lambda t: {"loss": cross_entropy(t["logit"], F.one_hot(t["label"].reshape(-1).long(), shape[1]).to(t["logit"].dtype), how)})


@operator
def lstm_cell(c):
    t, n, k, h, bias = c.dtype(("f32", "f64")), c.extent("n", 0, 17), c.extent("k", 1, 33), c.extent("h", 1, 33), c.flag("use_bias")
    w = {"weight_ih": c.tensor("weight_ih", [4 * h, k], t), "weight_hh": c.tensor("weight_hh", [4 * h, h], t)}
    if bias:
        w.update(bias_ih=c.tensor("bias_ih", [4 * h], t), bias_hh=c.tensor("bias_hh", [4 * h], t))

    def f(t):
        z = F.linear(t["input"], t["weight_ih"], t.get("bias_ih")) + F.linear(t["hidden"], t["weight_hh"], t.get("bias_hh"))
        i, g, a, o = z.chunk(4, 1)
        cell = g.sigmoid() * t["cell"] + i.sigmoid() * a.tanh()
        return {"next_hidden": o.sigmoid() * cell.tanh(), "next_cell": cell}

    return Case("lstm_cell", dict(hidden_size=h, use_bias=bias), {"input": c.tensor("input", [n, k], t), "hidden": c.tensor("hidden", [n, h], t), "cell": c.tensor("cell", [n, h], t)}, f, w)


@operator
def multihead_attention(c):
    t, b, q, heads = c.dtype(("f32", "f64")), c.count("b", 1, 3), c.extent("q", 1, 17), c.pick("heads", [1, 2, 3])
    e = heads * c.count("head", 1, 8)
    causal = c.flag("causal", 0.4)
    s = q if causal else c.extent("s", 1, 33)
    bias = c.flag("bias")
    w = {f"{n}_proj": c.tensor(f"{n}_proj", [e, e], t, ["normal"]) for n in ("q", "k", "v", "out")}
    if bias:
        w.update(in_proj_bias=c.tensor("in_proj_bias", [3 * e], t, ["normal"]), out_proj_bias=c.tensor("out_proj_bias", [e], t, ["normal"]))

    def f(t):
        parts = t["in_proj_bias"].chunk(3) if bias else [None] * 3
        split = lambda x, w, b: F.linear(x, t[w], b).reshape(x.shape[0], x.shape[1], heads, -1).transpose(1, 2)
        x, y, z = split(t["query"], "q_proj", parts[0]), split(t["key"], "k_proj", parts[1]), split(t["value"], "v_proj", parts[2])
        scores = x @ y.transpose(2, 3) / (e // heads) ** 0.5
        if causal:
            scores = scores.masked_fill(torch.ones(q, s, dtype=torch.bool).triu(1), float("-inf"))
        return {"output": F.linear((logs_of_shares(scores, 3).exp() @ z).transpose(1, 2).reshape(x.shape[0], q, e), t["out_proj"], t.get("out_proj_bias"))}

    return Case("multihead_attention", dict(embed_dim=e, num_heads=heads, bias=bias, causal=causal),
                {"query": c.tensor("query", [b, q, e], t, ["normal"]), "key": c.tensor("key", [b, s, e], t, ["normal"]), "value": c.tensor("value", [b, s, e], t)}, f, w)
