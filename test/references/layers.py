"""Layers with weights, and rotary embeddings."""

import numpy as np

from cases import WIDE, case, draw


def group_norm(groups, eps):
    def compute(input, gamma=None, beta=None):
        x = input.reshape(input.shape[0], groups, -1)
        y = ((x - x.mean(2, keepdims=True)) / np.sqrt(x.var(2, keepdims=True) + WIDE(eps))).reshape(input.shape)
        each = [1, -1] + [1] * (input.ndim - 2)
        return {"output": y if gamma is None else y * gamma.reshape(each) + beta.reshape(each)}
    return compute


def instance_norm(eps):
    def compute(input, **weights):
        return group_norm(input.shape[1], eps)(input, **weights)
    return compute


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm_cell(input, hidden, cell, weight_ih, weight_hh, bias_ih=0, bias_hh=0, peephole=None):
    i, f, g, o = np.split(input @ weight_ih.T + hidden @ weight_hh.T + bias_ih + bias_hh, 4, axis=1)
    p = np.zeros((3, 1), WIDE) if peephole is None else peephole
    next_cell = sigmoid(f + p[1] * cell) * cell + sigmoid(i + p[0] * cell) * np.tanh(g)
    return {"next_hidden": sigmoid(o + p[2] * next_cell) * np.tanh(next_cell), "next_cell": next_cell}


def rope(base=10000.0, start=0, interleaved=False):
    def compute(input, positions=None):
        s, c = input.shape[-2:]
        at = np.arange(start, start + s) if positions is None else positions
        angle = at[:, None] * WIDE(base) ** (-np.arange(c // 2).astype(WIDE) / (c // 2))
        x, y = (input[..., 0::2], input[..., 1::2]) if interleaved else (input[..., :c // 2], input[..., c // 2:])
        a, b = x * np.cos(angle) - y * np.sin(angle), y * np.cos(angle) + x * np.sin(angle)
        if not interleaved:
            return {"output": np.concatenate([a, b], -1)}
        return {"output": np.stack([a, b], -1).reshape(input.shape)}
    return compute


def conv_transpose_2d(stride_h=1, stride_w=1, padding_h=0, padding_w=0, output_padding_h=0, output_padding_w=0, dilation_h=1, dilation_w=1,
                      groups=1, **_):
    def compute(input, filter, bias=None):
        n, c, h, w = input.shape
        _, f, kh, kw = filter.shape
        k = c // groups
        full = np.zeros((n, f * groups, (h - 1) * stride_h + (kh - 1) * dilation_h + 1 + output_padding_h,
                         (w - 1) * stride_w + (kw - 1) * dilation_w + 1 + output_padding_w), WIDE)
        for g in range(groups):
            for i in range(h):
                for j in range(w):
                    for y in range(kh):
                        for x in range(kw):
                            full[:, g * f:(g + 1) * f, i * stride_h + y * dilation_h, j * stride_w + x * dilation_w] += \
                                input[:, g * k:(g + 1) * k, i, j] @ filter[g * k:(g + 1) * k, :, y, x]
        out = full[:, :, padding_h:full.shape[2] - padding_h, padding_w:full.shape[3] - padding_w]
        return {"output": out if bias is None else out + bias.reshape(1, -1, 1, 1)}
    return compute


def attention(num_heads, causal):
    def compute(query, key, value, q_proj, k_proj, v_proj, out_proj, in_proj_bias, out_proj_bias, bias_k=None, bias_v=None):
        width = len(out_proj)
        bias_q, bias_key, bias_value = np.split(in_proj_bias, 3)
        q, k, v = query @ q_proj.T + bias_q, key @ k_proj.T + bias_key, value @ v_proj.T + bias_value
        batch, queries, keys = len(q), q.shape[1], k.shape[1]
        if bias_k is not None:
            k, v = (np.concatenate([x, np.broadcast_to(b, (batch, 1, width))], 1) for x, b in ((k, bias_k), (v, bias_v)))
        q, k, v = (x.reshape(batch, -1, num_heads, width // num_heads).transpose(0, 2, 1, 3) for x in (q, k, v))
        score = q @ k.transpose(0, 1, 3, 2) / np.sqrt(WIDE(width // num_heads))
        if causal:  # the trained position is never hidden
            at = np.arange(score.shape[3])
            score[:, :, (np.arange(queries)[:, None] < at) & (at < keys)] = -np.inf
        e = np.exp(score - score.max(3, keepdims=True))
        y = (e / e.sum(3, keepdims=True)) @ v
        return {"output": y.transpose(0, 2, 1, 3).reshape(batch, queries, width) @ out_proj.T + out_proj_bias}
    return compute


def quantized_linear(output_type=None):
    def compute(input, input_scale, input_zero, weight, weight_scale, weight_zero, bias=0, output_scale=None, output_zero=None):
        x, w = input.astype(int) - int(input_zero), weight.astype(int) - weight_zero.astype(int)[:, None]
        y = (x @ w.T) * (input_scale * weight_scale) + bias
        if output_type is None:
            return {"output": y}
        ends = np.iinfo(output_type)
        return {"output": np.clip(np.rint(y / output_scale) + int(output_zero), ends.min, ends.max).astype(output_type)}
    return compute


def integers(type, *shape):
    """Returns numbers that cover the range of a type."""
    ends = np.iinfo(type)
    return np.rint(draw(*shape, low=ends.min - 0.5, high=ends.max + 0.5)).clip(ends.min, ends.max).astype(type)


def attentions():
    like = "torch.nn.MultiheadAttention with attn_mask"
    for name, heads, queries, keys, more in (("causal", 2, 4, 4, {}), ("causal_more_keys", 1, 2, 5, {}), ("causal_more_queries", 4, 5, 2, {}),
                                             ("causal_bias_kv", 2, 3, 3, {"bias_k": draw(1, 1, 4), "bias_v": draw(1, 1, 4)})):
        weights = {"q_proj": draw(4, 4), "k_proj": draw(4, 2), "v_proj": draw(4, 5), "out_proj": draw(4, 4), "in_proj_bias": draw(12), "out_proj_bias": draw(4), **more}
        inputs = {"query": draw(2, queries, 4), "key": draw(2, keys, 2), "value": draw(2, keys, 5)}
        case("multihead_attention", name, attention(heads, True), {"embed_dim": 4, "num_heads": heads, "causal": True, "add_bias_kv": bool(more)}, inputs, weights,
             wrt=[*inputs, *weights], like=like, rtol=2e-5, atol=1e-5)


def quantized():
    """Scales are powers of two where the output is quantized, so float32 rounds nothing that decides about an integer."""
    like = "onnx QLinearMatMul"
    one = lambda x: np.array(x, np.float32)
    for name, kinds, rows in (("numbers", (np.int8, np.int8), 1), ("rows", (np.uint8, np.int8), 5), ("unsigned", (np.uint8, np.uint8), 5)):
        scale, zero = draw(rows, low=0.01, high=0.1), integers(kinds[1], rows)
        case("quantized_linear", name, quantized_linear(), {}, {"input": integers(kinds[0], 2, 3, 4), "input_scale": one(0.037), "input_zero": integers(kinds[0]),
             "weight": integers(kinds[1], 5, 4), "weight_scale": scale, "weight_zero": zero, "bias": draw(5)}, like="torch.nn.functional.linear of dequantized tensors")
    for name, kind, output, rows in (("to_i8", np.int8, np.int8, 1), ("to_u8", np.uint8, np.uint8, 5), ("to_other", np.int8, np.uint8, 1)):
        case("quantized_linear", name, quantized_linear(output), {"output_type": "i8" if output == np.int8 else "u8"},
             {"input": integers(kind, 4, 6), "input_scale": one(0.25), "input_zero": integers(kind), "weight": integers(kind, 5, 6), "weight_scale": np.full(rows, 0.5, np.float32),
              "weight_zero": integers(kind, rows), "output_scale": one(16), "output_zero": integers(output)}, like=like, rtol=0, atol=0)


def generate():
    attentions()
    quantized()
    affine = {"gamma": draw(4), "beta": draw(4)}
    like = "torch.nn.functional.group_norm"
    case("group_norm", "two", group_norm(2, 1e-5), {"groups": 2}, {"input": draw(2, 4, 3)}, affine, wrt=["input", "gamma", "beta"], like=like)
    case("group_norm", "image", group_norm(4, 0.5), {"groups": 4, "eps": 0.5}, {"input": draw(1, 4, 2, 3)}, affine, wrt=["input", "gamma", "beta"], like=like)
    case("group_norm", "vectors", group_norm(1, 1e-5), {"groups": 1, "affine": False}, {"input": draw(3, 4)}, wrt=["input"], like=like)
    case("group_norm", "one_element", group_norm(4, 1e-5), {"groups": 4, "affine": False}, {"input": draw(2, 4)}, grad={"input": np.zeros((2, 4))}, like=like, tags=["size1"])
    like = "torch.nn.functional.instance_norm"
    case("instance_norm", "plain", instance_norm(1e-5), {}, {"input": draw(2, 3, 4)}, wrt=["input"], like=like)
    case("instance_norm", "affine", instance_norm(1e-5), {"affine": True}, {"input": draw(2, 4, 2, 3)}, affine, wrt=["input", "gamma", "beta"], like=like)

    steps = {"input": draw(2, 3), "hidden": draw(2, 2), "cell": draw(2, 2)}
    weights = {"weight_ih": draw(8, 3), "weight_hh": draw(8, 2)}
    biases = {"bias_ih": draw(8), "bias_hh": draw(8)}
    for name, attrs, more in (("biases", {}, biases), ("plain", {"use_bias": False}, {}), ("peepholes", {"peepholes": True}, {**biases, "peephole": draw(3, 2)})):
        case("lstm_cell", name, lstm_cell, {"hidden_size": 2, **attrs}, steps, {**weights, **more}, wrt=[*steps, *weights, *more],
             like="onnx LSTM" if name == "peepholes" else "torch.nn.LSTMCell")

    for name, attrs, shape in (("halves", {}, (2, 3, 4)), ("pairs", {"interleaved": True, "base": 100.0, "start": 7}, (2, 2, 3, 6)), ("two", {"start": 1}, (5, 2))):
        case("rope", name, rope(**attrs), attrs, {"input": draw(*shape)}, wrt=["input"], like="onnx RotaryEmbedding")
    case("rope", "positions", rope(), {}, {"input": draw(2, 3, 4), "positions": np.array([5, 0, 2])}, wrt=["input"], like="onnx RotaryEmbedding")

    for name, attrs, shape, filter in (("plain", {"kernel_h": 3, "kernel_w": 2}, (2, 3, 2, 3), (3, 2, 3, 2)),
                                       ("strides", {"kernel_h": 2, "kernel_w": 3, "stride_h": 2, "stride_w": 3, "padding_w": 1, "output_padding_h": 1, "groups": 2},
                                        (1, 4, 2, 2), (4, 2, 2, 3)),
                                       ("dilation", {"kernel_h": 2, "kernel_w": 2, "stride_h": 2, "padding_h": 1, "dilation_h": 3, "dilation_w": 2, "use_bias": False},
                                        (1, 2, 3, 2), (2, 1, 2, 2)),
                                       ("one", {"kernel_h": 1, "kernel_w": 1, "stride_h": 2}, (1, 1, 1, 1), (1, 1, 1, 1))):
        channels = filter[1] * attrs.get("groups", 1)
        bias = {} if "use_bias" in attrs else {"bias": draw(channels)}
        weights = {"filter": draw(*filter), **bias}
        case("conv_transpose_2d", name, conv_transpose_2d(**attrs), {"out_channels": channels, **attrs}, {"input": draw(*shape)}, weights,
             wrt=["input", *weights], like="torch.nn.functional.conv_transpose2d")
