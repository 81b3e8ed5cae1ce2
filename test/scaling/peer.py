"""Trains the network of main.go with torch.distributed and gloo: the ranks are processes that it starts.

Usage: peer.py RANKS BATCH WIDTH LAYERS STEPS
"""

import os
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def train(rank, ranks, batch, width, layers, steps):
    torch.set_num_threads(1)
    torch.manual_seed(1)
    model = torch.nn.Sequential(*[m for _ in range(layers) for m in (torch.nn.Linear(width, width), torch.nn.ReLU())])
    if ranks > 1:
        os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
        os.environ.setdefault("MASTER_PORT", "29613")
        dist.init_process_group("gloo", rank=rank, world_size=ranks)
        model = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    n = batch // ranks * width
    x = ((torch.arange(n) % 17) / 17 - 0.5).reshape(batch // ranks, width)
    took = []
    for step in range(steps + 5):
        start = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        loss = torch.nn.functional.mse_loss(model(x), x)
        loss.backward()
        optimizer.step()
        loss.item()
        if step >= 5:
            took.append(1e3 * (time.perf_counter() - start))
    if rank == 0:
        print("torch: %d ranks, batch %d: %.2f ms a step" % (ranks, batch, sorted(took)[len(took) // 2]), flush=True)


if __name__ == "__main__":
    args = [int(a) for a in sys.argv[1:]]
    if args[0] == 1:
        train(0, *args)
    else:
        mp.spawn(train, args=tuple(args), nprocs=args[0])
