#!/usr/bin/env python3
"""Writes random conformance cases whose results PyTorch computes in float64.

usage: cases.py operators|graphs COUNT SEED FOLDER [OPERATOR,...]
       cases.py shrink CASE FOLDER

The first form writes COUNT cases of single operators, or of graphs, and prints a line for each. The second writes cases that are smaller
than a given one, the smallest first. Results have a tolerance for each element: that of how they move if inputs are rounded otherwise.
"""
import json
import os
import struct
import sys
import warnings

warnings.filterwarnings("ignore")
os.environ.setdefault("OMP_NUM_THREADS", "1")
import torch

import graphs
import operators
import reductions  # registers its operators
from rounded import Rounded
from values import FLOATS, TYPES, Choices

torch.set_num_threads(1)
NAMES = {torch.float16: "F16", torch.bfloat16: "BF16", torch.float32: "F32", torch.float64: "F64", torch.int32: "I32", torch.int64: "I64", torch.bool: "BOOL"}
# Of each type: how far each operation is moved, how many times as far results may be, and the relative error of rounding a result.
ROUNDING = {"f64": (1e-13, 8, 1e-13), "f32": (2e-7, 64, 4e-6), "f16": (1e-3, 6, 2e-3), "bf16": (8e-3, 6, 1.6e-2)}
SAMPLES = 4
LARGEST = {"f64": 1.7e308, "f32": 3.3e38, "f16": 6.5e4, "bf16": 3.3e38}
SMALLEST = {"f64": 1e-305, "f32": 1e-36, "f16": 2e-5, "bf16": 1e-36}


def save(path, tensors, metadata):
    header, blobs, at = {"__metadata__": metadata}, [], 0
    for name, t in tensors.items():
        t = t.detach().contiguous()
        raw = (t.view(torch.int16) if t.dtype == torch.bfloat16 else t).numpy().tobytes()
        header[name] = {"dtype": NAMES[t.dtype], "shape": list(t.shape), "data_offsets": [at, at + len(raw)]}
        blobs.append(raw)
        at += len(raw)
    text = json.dumps(header, allow_nan=False).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def widened(x, as_type=torch.float64):
    if isinstance(x, list):
        return [widened(y, as_type) for y in x]
    return x.to(as_type) if x.is_floating_point() else x


def leaves(tensors):
    for slot, x in tensors.items():
        for i, y in enumerate(x if isinstance(x, list) else [x]):
            yield (f"{slot}_{i}" if isinstance(x, list) else slot), y


def compute(fn, given, trainable, seeds, as_type, moved=None):
    """Outputs and gradients of a function of tensors by slot, in a type. moved changes each number."""
    move = moved or (lambda x: x)
    inner = {}
    for slot, x in given.items():
        x = widened(x, as_type)
        one = lambda y: move(y).requires_grad_(slot in trainable) if y.is_floating_point() else y
        inner[slot] = [one(y) for y in x] if isinstance(x, list) else one(x)
    out = dict(leaves(fn(inner)))
    result = {"out." + n: y.detach() for n, y in out.items()}
    used = [n for n in seeds if out[n].requires_grad]
    if used:
        wrt = {n: y for n, y in leaves({s: x for s, x in inner.items() if s in trainable}) if y.is_floating_point()}
        grads = torch.autograd.grad([out[n] for n in used], list(wrt.values()), [move(widened(seeds[n], as_type)) for n in used], allow_unused=True)
        for (n, y), g in zip(wrt.items(), grads):
            if g is not None:
                result["grad." + n] = g
    return result


def judged(fn, given, trainable, seeds, dtype, exact):
    """Results in float64, and how far those of the type may be from each element: some times what they move, in the root mean square, if each
    operation is rounded otherwise, forward and backward. So an element that is the small difference of large numbers may be as far off as these
    make it, and another one may not."""
    want = compute(fn, given, trainable, seeds, torch.float64)
    tolerances = {}
    if dtype not in FLOATS:
        return want, tolerances
    step, times, rounding = ROUNDING[dtype]
    others = []
    for i in range(0 if exact else SAMPLES):
        with Rounded(step, i) as r:
            others.append(compute(fn, given, trainable, seeds, torch.float64, r.moved))
        if dtype == "f16" and r.largest > LARGEST[dtype]:
            raise ValueError("numbers that leave the range on the way")
    try:
        single = compute(fn, given, trainable, seeds, torch.float32) if dtype != "f64" else None
    except RuntimeError:
        single = None
    for name, w in want.items():
        if not w.is_floating_point() or not w.numel():
            continue
        tol = rounding * w.abs() + SMALLEST[dtype] * (0 if exact and dtype != "f64" and dtype != "f32" else 1)
        if others:
            apart = torch.stack([(o[name] - w).abs() for o in others])
            largest = apart.amax(0)  # numbers as small as 1e-300 have no squares
            apart = torch.where(largest.isfinite() & (largest > 0), largest * (apart / largest).square().mean(0).sqrt(), largest)
            tol = torch.where(apart.isnan() & w.isfinite(), torch.full_like(tol, float("inf")), tol + times * apart.nan_to_num(0, float("inf")))
        tol = torch.where(w.isfinite(), tol, torch.zeros_like(tol))
        tol = torch.where(w.isfinite() & (w.abs() > LARGEST[dtype]), torch.full_like(tol, float("inf")), tol)
        if single is not None:  # where float32 leaves its range on the way, anything goes
            s = single[name].double()
            differs = (s.isfinite() != w.isfinite()) | (s.isnan() != w.isnan())
            tol = torch.where(differs, torch.full_like(tol, float("inf")), torch.maximum(tol, torch.where(w.isfinite() & s.isfinite(), 16 * (s - w).abs(), torch.zeros_like(tol))))
        tolerances[name] = tol
    return want, tolerances


def write_operator(c, name, path):
    c.edges = name in LOCAL
    case = operators.OPERATORS[name](c)
    if c.special and not case.exact and name not in SPECIAL:
        raise ValueError("special values only where IEEE says what they give")
    given = {**case.ins, **case.weights}
    first = next(y for _, y in leaves({**{s: x for s, x in given.items() if s not in ("index", "condition", "segment")}, **given}))
    dtype = c.known.get("dtype", "bool")
    trainable = [s for s in given if s not in case.fixed] if dtype in FLOATS and case.grads else []
    if case.selects and any(y.is_floating_point() and y.isnan().any() for _, y in leaves(given)):
        trainable = []
    outs = dict(leaves(case.fn({s: widened(x) for s, x in given.items()})))
    seeds = {}
    for n, y in outs.items():
        if y.is_floating_point() and trainable:
            seeds[n] = c.tensor("gradient of " + n, list(y.shape), dtype, ["normal", "ties"])
    want, tol = judged(case.fn, given, trainable, seeds, dtype, case.exact)
    tensors = {}
    for n, y in leaves(case.ins):
        tensors["in." + n] = y
    for n, y in leaves(case.weights):
        tensors["weight." + n] = y
    for n, y in seeds.items():
        tensors["grad_out." + n] = y
    weights = {n for n, _ in leaves(case.weights)}
    rename = lambda n: n if n.startswith("out.") else ("grad_weight." if n[5:] in weights else "grad_in.") + n[5:]
    for n, y in want.items():
        tensors[rename(n)] = y
    for n, y in tol.items():
        tensors["tol." + rename(n)] = y
    metadata = {"op": case.op, "attrs": json.dumps(case.attrs), "tags": json.dumps(list(case.tags)), "source": "torch " + torch.__version__, "check": "tolerance"}
    if case.args:
        metadata["args"] = json.dumps({k: [str(v) if abs(v) == float("inf") else v for v in values] for k, values in case.args.items()})
    metadata["made"] = json.dumps({"kind": name, "seed": c.seed, "choices": c.known})
    save(path, tensors, metadata)
    return case.op


LOCAL = {"element_unary", "element_binary", "element_nary", "where", "clip", "gather", "transpose", "reshape", "unsqueeze", "reverse", "repeat", "concat", "split", "pad"}
# Operators whose results at infinities, NaN and the ends of the range follow from IEEE arithmetic of the formula as it is written.
SPECIAL = {"element_unary", "element_binary", "element_nary", "where", "cumsum", "segment_sum", "linear", "batch_matmul", "embedding", "prelu", "softmax",
           "log_softmax", "reduce", "gather", "transpose", "reshape", "unsqueeze", "reverse", "repeat", "broadcast", "concat", "split", "pad"}


def write_graph(c, path):
    g = graphs.graph(c)
    dtype, sinks = c.known["dtype"], g.sinks()
    fn = lambda t: {n: g.run(t)[n] for n in sinks}
    seeds = {n: c.tensor("gradient of " + n, g.shapes[n], dtype, ["normal"]) for n in sinks}
    want, tol = judged(fn, g.ins, list(g.ins), seeds, dtype, False)
    if any(not w.isfinite().all() for w in want.values() if w.is_floating_point()) or any(w.abs().gt(1e6).any() for w in want.values()):
        raise ValueError("numbers that grow")
    tensors = {"in." + n: y for n, y in g.ins.items()}
    tensors.update({"grad_out." + n: y for n, y in seeds.items()})
    rename = lambda n: n if n.startswith("out.") else "grad_in." + n[5:]
    for n, y in want.items():
        tensors[rename(n)] = y
    for n, y in tol.items():
        tensors["tol." + rename(n)] = y
    save(path, tensors, {"op": "graph", "graph": json.dumps(g.nodes), "source": "torch " + torch.__version__, "check": "tolerance",
                         "made": json.dumps({"kind": "graph", "seed": c.seed, "choices": c.known})})
    return "graph"


def write(kind, c, path):
    return write_graph(c, path) if kind == "graph" else write_operator(c, kind, path)


MISFITS = (ValueError, RuntimeError, IndexError, TypeError, KeyError)  # choices that do not fit each other, or that PyTorch refuses


def make(kinds, count, seed, folder):
    made, at = 0, 0
    while made < count:
        number = seed * 1_000_003 + at
        kind, at = kinds[at % len(kinds)], at + 1
        for attempt in range(60):
            path = os.path.join(folder, f"{kind}_{made:06d}.safetensors")
            try:
                write(kind, Choices(number * 64 + attempt), path)
            except MISFITS:
                continue
            made += 1
            break
        else:
            raise SystemExit(f"cases.py: no case of {kind} in 60 attempts")


def smaller(choices):
    """Choices that are smaller than given ones in one place."""
    for name, v in choices.items():
        if isinstance(v, bool):
            if v:
                yield {**choices, name: False}
        elif isinstance(v, int):
            for n in sorted({0, 1, 2, v // 2, v - 1}):
                if 0 <= n < v:
                    yield {**choices, name: n}
        elif isinstance(v, list) and all(isinstance(n, int) for n in v):
            for i, n in enumerate(v):
                for m in sorted({0, 1, 2, n // 2, n - 1}):
                    if 0 <= m < n:
                        yield {**choices, name: v[:i] + [m] + v[i + 1:]}
            for i in range(len(v)):
                yield {**choices, name: v[:i] + v[i + 1:]}
        elif isinstance(v, str) and name.startswith("values of ") and v not in ("normal", "ties"):
            yield {**choices, name: "ties"}
            yield {**choices, name: "normal"}


def shrink(path, folder):
    with open(path, "rb") as f:
        n = struct.unpack("<Q", f.read(8))[0]
        made = json.loads(json.loads(f.read(n))["__metadata__"]["made"])
    count = 0
    for choices in smaller(made["choices"]):
        try:
            write(made["kind"], Choices(made["seed"], choices), os.path.join(folder, f"{made['kind']}_{count:06d}.safetensors"))
        except MISFITS:
            continue
        count += 1
        if count == 60:
            break


def main(args):
    if len(args) == 3 and args[0] == "shrink":
        shrink(args[1], args[2])
    elif len(args) in (4, 5) and args[0] in ("operators", "graphs"):
        kinds = ["graph"] if args[0] == "graphs" else sorted(operators.OPERATORS)
        if len(args) == 5 and args[4]:
            kinds = [k for k in args[4].split(",") if k in operators.OPERATORS]
        make(kinds, int(args[1]), int(args[2]), args[3])
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
