"""Writes conformance cases: safetensors files as runtime/conform/testdata/README.md describes them."""

import json
import pathlib
import struct

import numpy as np

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "runtime/conform/testdata/ops/numpy"
TYPES = {"float32": "F32", "float64": "F64", "int64": "I64", "int32": "I32", "int8": "I8", "uint8": "U8", "bool": "BOOL"}
WIDE = np.longdouble

rng = np.random.default_rng(20)


def draw(*shape, low=-1.7, high=1.7):
    """Returns random numbers that float32 holds exactly."""
    return rng.uniform(low, high, shape).astype(np.float32)


def wide(x):
    """Returns floating-point numbers in the precision in which references are computed."""
    return x.astype(WIDE) if x.dtype.kind == "f" else x


def differences(function, tensors, name, grads):
    """Returns the gradient of the outputs, weighted by grads, with respect to a tensor: differences of fourth order."""
    at = tensors[name]
    out = np.zeros(at.shape, WIDE)
    step = WIDE(2) ** -10

    def total(x):
        outputs = function(**{**tensors, name: x})
        return sum((outputs[k] * wide(g)).sum() for k, g in grads.items())

    for i in np.ndindex(*at.shape):
        def moved(by):
            x = at.copy()
            x[i] += by * step
            return total(x)
        out[i] = (8 * (moved(1) - moved(-1)) - (moved(2) - moved(-2))) / (12 * step)
    return out


def case(op, name, function, attrs, inputs, weights=None, wrt=None, like="", grad=None, tags=(), rtol=1e-5, atol=1e-6, args=None):
    """Writes a case, and begins random numbers anew. function maps named tensors to named outputs. wrt lists the tensors whose gradients are differences,
    and grad gives other ones. args holds lists of the values that the caller passes. like names the function of PyTorch or ONNX that has the same results."""
    weights = weights or {}
    given = {k: np.asarray(v) for k, v in {**inputs, **weights}.items()}
    exact = {k: wide(v) for k, v in given.items()}
    with np.errstate(all="ignore"):
        outputs = function(**exact)
    tensors = {("weight." if k in weights else "in.") + k: v for k, v in given.items()}
    expected = {"out." + k: v for k, v in outputs.items()}
    if wrt or grad:
        seeds = {k: draw(*v.shape) for k, v in outputs.items() if v.dtype.kind == "f"}
        if grad:
            seeds = {k: np.ones(v.shape, np.float32) for k, v in seeds.items()}
        tensors.update({"grad_out." + k: v for k, v in seeds.items()})
        place = lambda k: ("grad_weight." if k in weights else "grad_in.") + k
        for k in wrt or ():
            expected[place(k)] = differences(function, exact, k, seeds)
        for k, v in (grad or {}).items():
            expected[place(k)] = np.asarray(v, WIDE)
    for k, v in expected.items():
        tensors[k] = v.astype(np.float64) if v.dtype.kind == "f" else v
    global rng
    rng = np.random.default_rng(20)
    write(FOLDER / op / (name + ".safetensors"), tensors, {
        "op": op, "sub": "", "case": name, "attrs": json.dumps(attrs, sort_keys=True), "check": "tolerance",
        "tol": json.dumps({k: {"rtol": rtol, "atol": atol} for k in sorted(expected)}), "tags": json.dumps(list(tags)),
        "source": "numpy", "api": like, **({"args": json.dumps(args, sort_keys=True)} if args else {})})


def write(path, tensors, metadata):
    """Writes a safetensors file."""
    header, data = {"__metadata__": metadata}, b""
    for name in sorted(tensors):
        t = np.ascontiguousarray(tensors[name])
        t = t.reshape(tensors[name].shape)
        b = t.tobytes()
        header[name] = {"dtype": TYPES[str(t.dtype)], "shape": list(t.shape), "data_offsets": [len(data), len(data) + len(b)]}
        data += b
    text = json.dumps(header, separators=(",", ":"), sort_keys=True).encode()
    text += b" " * (-len(text) % 8)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
