"""Runs operators and networks with PyTorch, and matrix products with OpenBLAS. It reads commands from standard input, one JSON object a
line, and answers each with one line."""

import ctypes, itertools, json, os, sys, time

threads = int(sys.argv[1])
answers = os.fdopen(os.dup(1), "w", buffering=1)  # nothing else goes there
os.dup2(2, 1)


def answer(**values):
    answers.write(json.dumps(values) + "\n")


try:
    import torch
    import torch.nn.functional as F

    import formulas

    torch.set_num_threads(threads)
except ImportError as e:
    torch, torch_missing = None, str(e)
try:
    blas = ctypes.CDLL("libopenblas.so.0")
    blas.openblas_set_num_threads(threads)
    blas.openblas_get_corename.restype = ctypes.c_char_p
except OSError as e:
    blas, blas_missing = None, str(e)


def rope(x):
    """Rotary position embedding, whose angles are computed for each call, as the operator does."""
    pairs = x.shape[-1] // 2
    angles = torch.arange(x.shape[-2])[:, None] * 10000.0 ** (-torch.arange(pairs) / pairs)
    cos, sin = angles.cos(), angles.sin()
    low, high = x[..., :pairs], x[..., pairs:]
    return torch.cat([low * cos - high * sin, high * cos + low * sin], -1)


def attention(query, key, value, wq, wk, wv, bias, wo, bo, heads):
    """Multi-head attention as PyTorch's module computes it, with separate weights."""
    return F.multi_head_attention_forward(
        query.transpose(0, 1), key.transpose(0, 1), value.transpose(0, 1), query.shape[2], heads, None, bias, None, None, False, 0.0,
        wo, bo, need_weights=False, use_separate_proj_weight=True, q_proj_weight=wq, k_proj_weight=wk, v_proj_weight=wv)[0].transpose(0, 1)


def fastest(run, budget):
    """The least nanoseconds of as many runs as fit the budget in seconds, at least three."""
    best, begin = float("inf"), time.perf_counter()
    for n in itertools.count(1):
        before = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - before)
        if n >= 3 and time.perf_counter() - begin > budget:
            return best * 1e9


def tensor(t):
    """A tensor from a file of little endian elements."""
    kind = {"f32": "float32", "f64": "float64", "i32": "int32", "i64": "int64", "bool": "bool"}[t["type"]]
    with open(t["file"], "rb") as f:
        return torch.frombuffer(bytearray(f.read()), dtype=getattr(torch, kind)).reshape(t["shape"])


def memory(t):
    """Where the memory of a tensor begins, which views of it share."""
    return (t.untyped_storage() if hasattr(t, "untyped_storage") else t.storage()).data_ptr()


class Operator:
    """An operator, given as an expression over tensors."""

    def __init__(self, command):
        self.names = {**vars(formulas), "attention": attention, "rope": rope}
        for t in command["tensors"] or []:
            self.names[t["name"]] = tensor(t)
        with torch.no_grad():
            exec(command["setup"], self.names)
        self.trained = [self.names[n] for n in command["trained"] or []]
        self.code = compile(command["torch"], "expression", "eval")
        out = self.outputs()
        self.sum = sum(x.double().abs().sum().item() for x in out)
        for x in self.trained:
            x.requires_grad_()
        if self.trained:
            self.grads = [torch.rand_like(x) for x in self.outputs() if x.requires_grad]

    def outputs(self):
        out = eval(self.code, self.names)
        return [] if out is None else out if isinstance(out, list) else [out]

    def forward(self):
        with torch.no_grad():
            self.outputs()

    def both(self):
        return torch.autograd.grad([x for x in self.outputs() if x.requires_grad], self.trained, self.grads)

    def views(self):
        """Whether all gradients lie in the memory of those that are given, so that nothing is computed."""
        given = {memory(g) for g in self.grads}
        return all(memory(g) in given for g in self.both())


class MLP:
    """Layers of 32 features, with ReLU between them, and their training step."""

    def __init__(self, tensors):
        self.x, self.target = tensors["x"], tensors["target"]
        self.weights = [tensors[f"weight{i}"] for i in range(50)]
        self.biases = [torch.zeros(32) for _ in range(50)]
        for p in self.weights + self.biases:
            p.requires_grad_()
        self.optimizer = torch.optim.SGD(self.weights + self.biases, 0.001)

    def forward(self):
        x = self.x
        for i, (w, b) in enumerate(zip(self.weights, self.biases)):
            x = F.linear(x, w, b)
            if i < 49:
                x = F.relu(x)
        return x

    def train(self):
        self.optimizer.zero_grad(set_to_none=True)
        loss = F.mse_loss(self.forward(), self.target)
        loss.backward()
        self.optimizer.step()
        return loss


class Encoder(MLP):
    """One layer of a transformer's encoder with the norms behind, and its training step."""

    def __init__(self, tensors):
        self.x, self.target = tensors["x"], tensors["target"]
        self.w = [tensors[k] for k in ("qkv", "out", "wide", "narrow")]
        self.b = [torch.zeros(n) for n in (1536, 512, 2048, 512)]
        self.gamma, self.beta = [torch.ones(512) for _ in range(2)], [torch.zeros(512) for _ in range(2)]
        parameters = self.w + self.b + self.gamma + self.beta
        for p in parameters:
            p.requires_grad_()
        self.optimizer = torch.optim.SGD(parameters, 0.01)

    def forward(self):
        def heads(t):
            return t.reshape(8, 128, 8, 64).transpose(1, 2)

        x = self.x
        q, k, v = (heads(t) for t in F.linear(x, self.w[0], self.b[0]).chunk(3, -1))
        mixed = F.softmax(q @ k.transpose(2, 3) / 8, -1) @ v
        y = F.linear(mixed.transpose(1, 2).reshape(8, 128, 512), self.w[1], self.b[1])
        y = F.layer_norm(x + y, (512,), self.gamma[0], self.beta[0])
        z = F.linear(F.gelu(F.linear(y, self.w[2], self.b[2])), self.w[3], self.b[3])
        return F.layer_norm(y + z, (512,), self.gamma[1], self.beta[1])


def network(command):
    kinds = {"mlp": MLP, "encoder": Encoder}
    n = kinds[command["network"]]({t["name"]: tensor(t) for t in command["tensors"]})
    n.losses = []
    n.both = lambda: n.losses.append(n.train().detach())
    return n


def gemm(n, double):
    """A product of square matrices by OpenBLAS."""
    kind, size, f = (ctypes.c_double, 8, blas.cblas_dgemm) if double else (ctypes.c_float, 4, blas.cblas_sgemm)
    memory = [(kind * (n * n + 64 // size))() for _ in range(3)]
    for m in memory[:2]:
        m[: n * n] = [i % 7 / 7 for i in range(n * n)]

    def run():
        x, y, z = (ctypes.c_void_p(ctypes.addressof(m) + -ctypes.addressof(m) % 64) for m in memory)
        f(101, 111, 111, n, n, n, kind(1), x, n, y, n, kind(0), z, n)

    return run


def peak():
    """The most memory, in bytes, that the process had in use, or 0 if the system does not tell."""
    try:
        with open("/proc/self/status") as f:
            return next((int(line.split()[1]) * 1024 for line in f if line.startswith("VmHWM:")), 0)
    except OSError:
        return 0


current = None
for line in sys.stdin:
    c = json.loads(line)
    try:
        match c["do"]:
            case "versions":
                answer(torch=torch.__version__ if torch else "", torchMissing="" if torch else torch_missing,
                       blas=blas.openblas_get_corename().decode() if blas else "", blasMissing="" if blas else blas_missing)
            case "operator":
                current = Operator(c)
                answer(sum=current.sum, views=bool(current.trained) and current.views())
            case "network":
                current = network(c)
                answer()
            case "product":
                current = gemm(c["n"], c["double"])
                answer()
            case "forward":
                with torch.inference_mode():
                    answer(ns=fastest(current.forward, c["budget"]))
            case "both":
                answer(ns=fastest(current.both, c["budget"]))
            case "multiply":
                answer(ns=fastest(current, c["budget"]))
            case "losses":
                answer(losses=[x.item() for x in current.losses[:100]])
            case "memory":
                answer(peak=peak())
    except Exception as e:
        answer(error=f"{type(e).__name__}: {e}")
