"""Choices and values of random cases. A case is a function of its choices, so a smaller case is the same function of smaller choices."""
import hashlib
import random

import torch

FLOATS = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64}
TYPES = {**FLOATS, "i32": torch.int32, "i64": torch.int64, "bool": torch.bool}

# Extents on both sides of sizes at which kernels, loops and vectors change what they do.
EXTENTS = [0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 255, 256, 257, 1000, 1025, 4095, 4097]
SPECIAL = [0.0, -0.0, float("inf"), float("-inf"), float("nan"), 1.0, -1.0, 0.5, 88.0, -88.0, 104.0, -104.0, 710.0, -746.0]
EDGES = {  # the least denormal and normal number, and the largest
    "f16": [6e-8, 6.2e-5, 65504.0], "bf16": [1e-40, 1.2e-38, 3e38], "f32": [1e-45, 1.2e-38, 3.4e38], "f64": [5e-324, 2.3e-308, 1.7e308],
}


class Choices:
    """Choices by name. What is known already is taken; the rest is drawn."""

    def __init__(self, seed, known=None):
        self.seed, self.known = seed, dict(known or {})
        self.random = random.Random(seed)
        self.special = False  # whether a tensor holds special values
        self.edges = True  # whether these include the ends of the range, near which the order of additions decides

    def get(self, name, draw):
        if name not in self.known:
            self.known[name] = draw()
        return self.known[name]

    def pick(self, name, options):
        options = list(options)
        value = self.get(name, lambda: self.random.choice(options))
        if value not in options:
            raise ValueError(f"{name}: {value} is not one of {options}")
        return value

    def flag(self, name, chance=0.5):
        return self.get(name, lambda: self.random.random() < chance)

    def count(self, name, low, high):
        value = self.get(name, lambda: self.random.randint(low, high))
        if not low <= value <= high:
            raise ValueError(f"{name}: {value} is not from {low} to {high}")
        return value

    def real(self, name, low, high):
        return self.get(name, lambda: round(self.random.uniform(low, high), 3))

    def extent(self, name, least=0, most=4097):
        value = self.get(name, lambda: self.random.choice([n for n in EXTENTS if least <= n <= most]))
        if not least <= value <= most:
            raise ValueError(f"{name}: {value} is not from {least} to {most}")
        return value

    def shape(self, name, low, high, least=0, elements=20000):
        """A shape of low to high dimensions. Few are larger than a number of elements."""

        def draw():
            rank = self.random.randint(low, high)
            if self.random.random() < 0.03:
                left = 40 * elements
            else:
                left = self.random.choice([40, 300, 3000, elements])
            dims = []
            for _ in range(rank):
                fits = [n for n in EXTENTS if least <= n <= max(left, 1)]
                n = self.random.choice(fits)
                if n == 0 and self.random.random() < 0.8:
                    n = 1
                dims.append(n)
                left //= max(n, 1)
            self.random.shuffle(dims)
            return dims

        dims = self.get(name, draw)
        if not low <= len(dims) <= high or min(dims, default=least) < least:
            raise ValueError(f"{name}: {dims}")
        return list(dims)

    def dtype(self, types=("f16", "bf16", "f32", "f64")):
        weights = {"f32": 8, "f64": 7, "f16": 2, "bf16": 2, "i32": 2, "i64": 2, "bool": 1}
        types = list(types)
        name = self.get("dtype", lambda: self.random.choices(types, [weights[t] for t in types])[0])
        if name not in types:
            raise ValueError(f"dtype: {name}")
        return name

    def tensor(self, name, shape, dtype, kinds=None):
        """A tensor whose values are of a kind."""
        draw = torch.Generator().manual_seed(int.from_bytes(hashlib.sha256(f"{self.seed} {name}".encode()).digest()[:7], "big"))
        n = 1
        for d in shape:
            n *= d
        if dtype == "bool":
            return torch.rand(n, generator=draw).gt(0.5).reshape(shape)
        if not dtype in FLOATS:
            return torch.randint(-9, 10, (n,), generator=draw).to(TYPES[dtype]).reshape(shape)
        kinds = kinds or ["normal"] * 10 + ["ties"] * 3 + ["wide", "mean", "equal", "special"]
        kind = self.get("values of " + name, lambda: self.random.choice(kinds))
        x = torch.randn(n, generator=draw, dtype=torch.float64)
        if kind == "ties":
            x = (2 * x).round()
        elif kind == "positive":
            x = x.abs() + 0.1
        elif kind == "unit":
            x = torch.rand(n, generator=draw, dtype=torch.float64)
        elif kind == "wide":
            x = x * torch.pow(torch.tensor(10.0, dtype=torch.float64), torch.randint(-12, 5, (n,), generator=draw))
        elif kind == "mean":
            x = x + 100
        elif kind == "equal":
            x = torch.full((n,), float(x[0]) if n else 0.0, dtype=torch.float64)
        elif kind == "special" and n:
            edges = EDGES[dtype] if self.edges else []
            some = torch.tensor(SPECIAL + edges + [-e for e in edges], dtype=torch.float64)
            chosen = some[torch.randint(len(some), (n,), generator=draw)]
            x = torch.where(torch.rand(n, generator=draw) < self.get("special ones of " + name, lambda: self.random.choice([0.05, 0.3])), chosen, x)
            self.special = True
        return x.to(FLOATS[dtype]).reshape(shape)

    def below(self, name, shape, bound, dtype):
        """Integers from 0 to bound - 1."""
        if bound < 1 and 0 not in shape:
            raise ValueError(f"{name}: no integers below {bound}")
        draw = torch.Generator().manual_seed(int.from_bytes(hashlib.sha256(f"{self.seed} {name}".encode()).digest()[:7], "big"))
        return torch.randint(max(bound, 1), tuple(shape), generator=draw).to(TYPES[dtype])
