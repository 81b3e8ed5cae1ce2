"""Times operators of PyTorch on a GPU, and prints a JSON object for each, on a line. The names are those of gpubench."""
import json
import time


def say(**row):
    print(json.dumps(row), flush=True)


def main():
    try:
        import torch
    except ImportError as e:
        return say(group="absent", name="there is no PyTorch: %s" % e)
    if not torch.cuda.is_available():
        return say(group="absent", name="PyTorch has no CUDA here")
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.manual_seed(1)

    def measure(group, name, call, uses):
        with torch.no_grad():
            for _ in range(3):
                call()
            torch.cuda.synchronize()
            took, begin = [], time.perf_counter()
            while len(took) < 5 or len(took) < 200 and time.perf_counter() - begin < 0.3:
                start = time.perf_counter()
                for _ in range(uses):
                    call()
                torch.cuda.synchronize()
                took.append((time.perf_counter() - start) / uses)
        say(group=group, name=name, seconds=sorted(took)[len(took) // 2])

    for n, size, uses in ((4 << 20, "4M", 32), (256 << 20, "256M", 4)):
        x = torch.rand(n // 1024, 1024, device="cuda") * 2 - 1
        y, half = x.clone(), x.bfloat16()
        rows = {
            "relu f32": lambda: torch.relu(x),
            "relu bf16": lambda: torch.relu(half),
            "add f32": lambda: x + y,
            "softmax f32": lambda: torch.softmax(x, 1),
            "layer_norm f32": lambda: torch.nn.functional.layer_norm(x, (1024,)),
            "sum of rows f32": lambda: x.sum(1),
            "sum of columns f32": lambda: x.sum(0),
            "sum of all f32": lambda: x.sum(),
            "transpose f32": lambda: x.t().contiguous(),
            "cumsum f32": lambda: torch.cumsum(x, 1),
        }
        for name, call in rows.items():
            measure("memory", "%s %s" % (name, size), call, uses)
        del x, y, half
    for kind, batch, n in (("f32", 1, 1024), ("f32", 1, 4096), ("f64", 1, 2048), ("f16", 1, 4096), ("bf16", 1, 4096), ("bf16", 1, 8192), ("f32", 64, 512)):
        t = {"f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16}[kind]
        x = (torch.rand(batch, n, n, device="cuda") * 2 - 1).to(t)
        name = "matmul %s %d" % (kind, n) if batch == 1 else "matmul %s %d x %d" % (kind, batch, n)
        measure("product", name, lambda: torch.bmm(x, x), 4)
    x = torch.rand(32, device="cuda")
    measure("launch", "a task of 32 elements", lambda: torch.relu(x), 1000)
    for name, make in (("MLP of 50 layers", mlp), ("encoder layer", encoder)):
        network(torch, measure, name, *make(torch))


def mlp(torch):
    """Layers of 32 features, with ReLU between them; the shape of a batch; and the rate of the training."""
    layers = []
    for _ in range(50):
        layers += [torch.nn.Linear(32, 32), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1]), (8, 32), 0.001


def encoder(torch):
    """A layer of a transformer's encoder with the norms behind; the shape of a batch; and the rate of the training."""
    class Encoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv, self.out = torch.nn.Linear(512, 1536), torch.nn.Linear(512, 512)
            self.wide, self.narrow = torch.nn.Linear(512, 2048), torch.nn.Linear(2048, 512)
            self.first, self.second = torch.nn.LayerNorm(512), torch.nn.LayerNorm(512)

        def forward(self, x):
            f = torch.nn.functional
            q, k, v = (t.reshape(8, 128, 8, 64).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
            if hasattr(f, "scaled_dot_product_attention"):
                mixed = f.scaled_dot_product_attention(q, k, v)
            else:
                mixed = torch.softmax(q @ k.transpose(2, 3) / 8, -1) @ v
            y = self.first(x + self.out(mixed.transpose(1, 2).reshape(8, 128, 512)))
            return self.second(y + self.narrow(f.gelu(self.wide(y))))

    return Encoder(), (8, 128, 512), 0.01


def network(torch, measure, name, model, shape, rate):
    """Measures a network and its training step, eagerly and in a CUDA graph. Batches come from the host each time."""
    model = model.cuda()
    optimizer = torch.optim.SGD(model.parameters(), rate)
    host = [(torch.rand(shape) * 2 - 1).pin_memory() for _ in range(2)]
    x, target = (t.cuda() for t in host)

    def give(tensors):
        for to, batch in zip(tensors, host):
            to.copy_(batch, non_blocking=True)

    def compute():
        optimizer.zero_grad(set_to_none=True)
        with torch.enable_grad():
            loss = torch.nn.functional.mse_loss(model(x), target)
            loss.backward()
        optimizer.step()
        return loss

    def train():
        give((x, target))
        return compute().item()

    def forward():
        give((x,))
        model(x)
        torch.cuda.synchronize()

    measure("network", name + " training step", train, 1)
    measure("network", name + " forward", forward, 1)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            compute()
    torch.cuda.current_stream().wait_stream(stream)
    step, ahead = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
    optimizer.zero_grad(set_to_none=True)
    with torch.cuda.graph(step):
        loss = compute()
    with torch.cuda.graph(ahead), torch.no_grad():
        model(x)

    def replay(graph, tensors, result):
        give(tensors)
        graph.replay()
        if result is not None:
            result.item()
        torch.cuda.synchronize()

    measure("network", name + " training step, CUDA graph", lambda: replay(step, (x, target), loss), 1)
    measure("network", name + " forward, CUDA graph", lambda: replay(ahead, (x,), None), 1)


main()
