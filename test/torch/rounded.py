"""What results are if each operation is rounded otherwise."""
import functools
import random

import torch
from torch.utils._python_dispatch import TorchDispatchMode

# Operations that move and choose numbers without rounding them. Gradients of extremes look for elements that are equal to them. A number with the other
# sign is none of them: it may be one of the parts of a gradient, which are added up in any order.
EXACT = {"adaptive_max_pool2d", "amax", "amin", "cat", "clone", "col2im", "constant_pad_nd", "copy", "embedding", "flip", "gather", "im2col", "index", "index_select", "lift_fresh",
         "max", "max_pool2d_with_indices", "min", "new_zeros", "ones", "ones_like", "repeat", "scatter", "sort", "stack", "topk", "where", "zeros", "zeros_like", "_to_copy"}


NOISE = 2 * torch.rand(100_003, generator=torch.Generator().manual_seed(1), dtype=torch.float64) - 1


@functools.cache
def factors(step):
    return 1 + step * NOISE


class Rounded(TorchDispatchMode):
    """Moves each number that an operation computes, forward and backward, by a random part of it, of at most step."""

    def __init__(self, step, seed):
        super().__init__()
        self.factors, self.random = factors(step), random.Random(seed)
        self.largest = 0.0  # of the finite numbers that operations compute

    def moved(self, x):
        if not isinstance(x, torch.Tensor) or not x.is_floating_point():
            return x
        n, at = x.numel(), self.random.randrange(len(NOISE))
        some = self.factors[at:at + n]
        if len(some) < n:
            some = torch.cat([some] + [self.factors] * (n // len(NOISE) + 1))[:n]
        if n:
            self.largest = max(self.largest, float(x.abs().nan_to_num(0, 0, 0).max()))
        return x * some.reshape(x.shape)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if func.overloadpacket.__name__ == "add_":  # adds gradients up
            return out.copy_(self.moved(out))
        if func.overloadpacket.__name__ in EXACT or any(r.alias_info for r in func._schema.returns):
            return out
        return tuple(self.moved(y) for y in out) if isinstance(out, (tuple, list)) else self.moved(out)
