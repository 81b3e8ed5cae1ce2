"""Random graphs of operators, in which elementwise operators meet those that repeat, reduce and move. PyTorch in float64 judges them."""
import torch
import torch.nn.functional as F

from operators import gelu, logs_of_shares, norm, silu
from values import EXTENTS

SMOOTH = {"TANH": torch.tanh, "SIGMOID": torch.sigmoid, "GELU": gelu, "SILU": silu, "SIN": torch.sin, "RELU": torch.relu, "COS": torch.cos}
BINARY = {"EW_ADD": torch.add, "EW_SUB": torch.sub, "EW_MUL": torch.mul, "EW_DIV": lambda x, y: x / y, "EW_MAX": torch.maximum, "EW_MIN": torch.minimum}


class Graph:
    """Nodes as conformance cases hold them, tensors that a case gives, and a function that computes all tensors."""

    def __init__(self):
        self.nodes, self.ins, self.steps, self.shapes, self.booleans = [], {}, [], {}, set()

    def input(self, name, tensor):
        self.ins[name], self.shapes[name] = tensor, list(tensor.shape)

    def add(self, name, op, attrs, slots, fn):
        """Adds a node with one output."""
        self.nodes.append({"op": op, "attrs": attrs, "in": slots, "out": {"output": [name]}})
        args = [n for names in slots.values() for n in names]
        self.steps.append((name, fn, args))
        meta = fn(*[torch.empty(self.shapes[n], dtype=torch.float64, device="meta") for n in args])
        self.shapes[name] = list(meta.shape)

    def run(self, values):
        values = dict(values)
        for name, fn, args in self.steps:
            values[name] = fn(*[values[n] for n in args])
        return values

    def sinks(self):
        used = {n for node in self.nodes for names in node["in"].values() for n in names}
        return [name for name, _, _ in self.steps if name not in used]


KINDS = ["unary"] * 6 + ["scalar"] * 2 + ["binary"] * 8 + ["reduce"] * 4 + ["softmax", "log_softmax", "layer_norm", "rms_norm", "cumsum", "matmul", "transpose",
                                                                      "reverse", "broadcast", "concat", "where", "nary", "pad", "reshape", "positive"]


def graph(c):
    g = Graph()
    t = c.dtype(("f32", "f64"))
    shape = c.get("shape", lambda: bulk(c.random))
    for i in range(c.count("inputs", 1, 3)):
        dims = [1 if i > 0 and c.flag(f"input {i} repeats {k}", 0.35) else n for k, n in enumerate(shape)]
        g.input(f"x{i}", c.tensor(f"x{i}", dims, t, ["normal"]))
    total = c.count("nodes", 2, 13)
    for i in range(total):
        node(c, g, f"y{i}", f"node {i} ")
    return g


def bulk(random):
    """A shape of one to four dimensions, mostly of more elements than a range of a step has."""
    left, dims = random.choice([30, 1000, 5000, 9000, 9000, 30000]), []
    for _ in range(random.randint(0, 3)):
        n = random.choice([n for n in EXTENTS if 1 <= n <= max(left // 2, 1)])
        dims.append(n)
        left //= n
    dims.append(max(1, left - random.randint(0, left // 4)))
    random.shuffle(dims)
    return dims


def node(c, g, name, at):
    names = [n for n in g.shapes if n not in g.booleans]
    # Younger tensors are used more often, so graphs are deep.
    pick = lambda what, some: c.get(at + what, lambda: c.random.choice(some[-4:] if c.random.random() < 0.6 else some))
    x = pick("x", names)
    dims = g.shapes[x]
    kind = c.pick(at + "kind", KINDS)
    if kind == "unary":
        f = c.pick(at + "f", SMOOTH)
        g.add(name, "element_unary", {"op_type": f}, {"input": [x]}, SMOOTH[f])
    elif kind == "positive":
        g.add(name, "element_unary", {"op_type": "SIGMOID"}, {"input": [x]}, torch.sigmoid)
    elif kind == "scalar":
        f, s = c.pick(at + "f", ["SCALAR_ADD", "SCALAR_MULTIPLY", "SCALAR_SUB"]), c.pick(at + "s", [0.5, -1.5, 2.0])
        op = {"SCALAR_ADD": lambda v: v + s, "SCALAR_MULTIPLY": lambda v: v * s, "SCALAR_SUB": lambda v: v - s}[f]
        g.add(name, "element_unary", {"op_type": f, "scalar": s}, {"input": [x]}, op)
    elif kind == "binary":
        fits = [n for n in names if broadcasts(g.shapes[n], dims)]
        repeated = [n for n in fits if g.shapes[n] != dims]
        y = pick("y", repeated if repeated and c.random.random() < 0.6 else fits)
        if not broadcasts(g.shapes[y], dims):
            raise ValueError("shapes")
        f = c.pick(at + "f", BINARY)
        slots = {"lhs_input": [x], "rhs_input": [y]}
        if f == "EW_DIV":  # by a number that is not near 0
            g.add(name + "d", "element_unary", {"op_type": "SIGMOID"}, {"input": [y]}, torch.sigmoid)
            g.add(name + "e", "element_unary", {"op_type": "SCALAR_ADD", "scalar": 0.5}, {"input": [name + "d"]}, lambda v: v + 0.5)
            slots["rhs_input"] = [name + "e"]
        g.add(name, "element_binary", {"type": f}, slots, BINARY[f])
    elif kind == "reduce" and dims:
        f = c.pick(at + "f", ["SUM", "MEAN", "MEAN", "MAX", "MIN"])
        over = c.get(at + "axes", lambda: sorted(c.random.sample(range(len(dims)), c.random.randint(1, len(dims)))))
        keep = c.flag(at + "keep", 0.8)
        if any(a >= len(dims) for a in over):
            raise ValueError("axes")
        op = {"SUM": lambda v: v.sum(over, keepdim=keep), "MEAN": lambda v: v.mean(over, keepdim=keep), "MAX": lambda v: v.amax(over, keepdim=keep),
              "MIN": lambda v: v.amin(over, keepdim=keep)}[f]
        g.add(name, "reduce", {"op_type": "REDUCE_" + f, "axes": over, "keepdims": keep}, {"input": [x]}, op)
    elif kind in ("softmax", "log_softmax", "cumsum", "reverse") and dims:
        a = c.pick(at + "axis", range(len(dims)))
        op = {"softmax": lambda v: logs_of_shares(v, a).exp(), "log_softmax": lambda v: logs_of_shares(v, a), "cumsum": lambda v: v.cumsum(a), "reverse": lambda v: v.flip(a)}[kind]
        g.add(name, kind, {"dim" if "softmax" in kind else "axis": a}, {"input": [x]}, op)
    elif kind in ("layer_norm", "rms_norm") and dims:
        first = c.count(at + "first", 0, len(dims) - 1)
        over = list(range(first, len(dims)))
        op = (lambda v: norm(v, over, 0.1)) if kind == "layer_norm" else (lambda v: v * (v.pow(2).mean(over, keepdim=True) + 0.1).rsqrt())
        g.add(name, kind, {"axes": over, "elementwise_affine": False, "eps": 0.1}, {"input": [x]}, op)
    elif kind == "matmul" and len(dims) >= 2:
        fits = [n for n in names if len(g.shapes[n]) >= 2 and g.shapes[n][-2] == dims[-1] and broadcasts(g.shapes[n][:-2], dims[:-2])]
        if not fits:
            raise ValueError("no matrix")
        y = pick("y", fits)
        if y not in fits:
            raise ValueError("no matrix")
        g.add(name, "batch_matmul", {}, {"lhs_input": [x], "rhs_input": [y]}, torch.matmul)
    elif kind == "transpose":
        p = c.get(at + "p", lambda: c.random.sample(range(len(dims)), len(dims)))
        g.add(name, "transpose", {"permutation": p}, {"input": [x]}, lambda v: v.permute(p))
    elif kind == "reshape":
        to = c.get(at + "to", lambda: c.random.choice([[1] + dims, dims + [1], dims[::-1]]))
        g.add(name, "reshape", {"shape": to}, {"input": [x]}, lambda v: v.reshape(to))
    elif kind == "broadcast":
        to = c.get(at + "to", lambda: [c.random.choice([1, 2, 5]) if n == 1 else n for n in dims])
        g.add(name, "broadcast", {"target_dims": to}, {"input": [x]}, lambda v: v.expand(to))
    elif kind == "concat" and dims:
        a = c.pick(at + "axis", range(len(dims)))
        y = pick("y", [n for n in names if len(g.shapes[n]) == len(dims) and all(i == a or m == n2 for i, (m, n2) in enumerate(zip(g.shapes[n], dims)))])
        g.add(name, "concat", {"axis": a}, {"input": [x, y]}, lambda u, v: torch.cat([u, v], a))
    elif kind == "where":
        y, z = pick("y", [n for n in names if broadcasts(g.shapes[n], dims)]), pick("z", [n for n in names if g.shapes[n] == dims])
        g.add(name + "c", "element_binary_compare", {"type": "EW_GREATER"}, {"lhs_input": [x], "rhs_input": [y]}, torch.gt)
        g.booleans.add(name + "c")
        g.add(name, "where", {}, {"condition": [name + "c"], "lhs": [x], "rhs": [z]}, lambda c, u, v: torch.where(c.bool(), u, v))
    elif kind == "nary":
        y = pick("y", [n for n in names if g.shapes[n] == dims])
        f = c.pick(at + "f", ["SUM", "MEAN", "PROD", "MAX"])
        op = {"SUM": lambda u, v: u + v, "MEAN": lambda u, v: (u + v) / 2, "PROD": lambda u, v: u * v, "MAX": torch.maximum}[f]
        g.add(name, "element_nary", {"op_type": f}, {"input": [x, y]}, op)
    elif kind == "pad" and dims:
        b, e = c.count(at + "before", 0, 2), c.count(at + "behind", 0, 2)
        g.add(name, "pad", {"axis": -1, "before": b, "behind": e}, {"input": [x]}, lambda v: F.pad(v, (b, e)))
    else:
        raise ValueError(kind)
    n = 1
    for d in g.shapes[name]:
        n *= d
    if not 0 < n <= 200000:
        raise ValueError("too large, or empty")


def broadcasts(a, b):
    try:
        torch.broadcast_shapes(a, b)
        return True
    except RuntimeError:
        return False
