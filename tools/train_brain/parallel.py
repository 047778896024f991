"""One run in several processes: each takes its own batch of a step, and all take the mean of the gradients.

A process has one thread: on a busy machine two threads of one process wait for each other in every product, two
processes once a step. Every process holds all weights and makes the same update, so nothing else is ever exchanged.
"""

import os
import tempfile
from collections.abc import Callable, Iterable

import torch
import torch.distributed as dist
from torch import Tensor


def in_parallel(workers: int, work: Callable[[int], None]) -> None:
    """`work(worker)` runs to its end in each of `workers` processes; with one, in this very process.

    `work` must be picklable: a function of a module, or a `functools.partial` of one. A worker's exception ends the
    others and is raised here, as `torch.multiprocessing.ProcessRaisedException`.
    """
    if workers < 1:
        raise ValueError(f"workers is {workers}, expected 1 or more")
    if workers == 1:
        work(0)
        return
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(_joined, (workers, f"{folder}/meeting", work), nprocs=workers)


def _joined(worker: int, workers: int, meeting: str, work: Callable[[int], None]) -> None:
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=worker, world_size=workers)
    try:
        work(worker)
    finally:
        dist.destroy_process_group()


def average_gradients(weights: Iterable[Tensor], workers: int) -> None:
    """Every gradient is the workers' mean afterwards; a sum of two does not depend on who came first."""
    if workers == 1:
        return
    gradients = [weight.grad for weight in weights if weight.grad is not None]
    flat = torch.cat([gradient.reshape(-1) for gradient in gradients])
    dist.all_reduce(flat)
    flat /= workers
    for gradient, mean in zip(gradients, flat.split([gradient.numel() for gradient in gradients]), strict=True):
        gradient.copy_(mean.view_as(gradient))
