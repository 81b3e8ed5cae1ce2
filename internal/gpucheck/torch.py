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


main()
