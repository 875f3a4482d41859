"""RealNVP in zuko and normflows, for benchmarks.speed."""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np

from benchmarks.timing import Job

COUPLINGS, WIDTH = 6, 64


class MissingPackageError(Exception):
    """A peer is not installed."""


def zuko_flow():
    import zuko  # pyright: ignore[reportMissingImports]

    return zuko.flows.RealNVP(3, transforms=COUPLINGS, hidden_features=(WIDTH, WIDTH))


def zuko_log_prob(flow, x):
    return flow().log_prob(x)


def normflows_flow():
    import normflows  # pyright: ignore[reportMissingImports]
    import torch  # pyright: ignore[reportMissingImports]

    layers = []
    for _ in range(COUPLINGS):
        network = normflows.nets.MLP([2, WIDTH, WIDTH, 2], init_zeros=True)
        layers += [
            normflows.flows.AffineCouplingBlock(network),
            normflows.flows.Permute(3, mode="swap"),
        ]
    base = normflows.distributions.DiagGaussian(3, trainable=False)
    flow = normflows.NormalizingFlow(base, layers)
    return flow.to(torch.float32)


def normflows_log_prob(flow, x):
    return flow.log_prob(x)


PEERS: dict[str, tuple[Callable, Callable]] = {
    "zuko": (zuko_flow, zuko_log_prob),
    "normflows": (normflows_flow, normflows_log_prob),
}


def peer_jobs(
    name: str, rows: np.ndarray, *, steps: int, batch: int, points: int, chunk: int
) -> tuple[Job, Job, int]:
    """Return training job, log_prob job and number of parameters, as the peer's README has them."""
    make, log_prob = PEERS[name]
    try:
        import torch  # pyright: ignore[reportMissingImports]

        torch.set_num_threads(1)
        torch.manual_seed(0)
        flow = make()
    except ImportError as error:
        raise MissingPackageError(
            f"{name} is skipped: {error}. Install it by `pip install torch==2.13.0` and then "
            "`pip install 'foliax[benchmarks]'`."
        ) from error
    train = torch.tensor(rows)
    test = torch.tensor(np.asarray(jnp.resize(rows, (points, 3))))
    optimizer = torch.optim.Adam(flow.parameters(), lr=1e-3)

    def training():
        for _ in range(steps):
            some = train[torch.randint(len(train), (batch,))]
            loss = -log_prob(flow, some).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    def scoring():
        with torch.no_grad():
            return [log_prob(flow, part) for part in torch.split(test, chunk)]

    parameters = sum(p.numel() for p in flow.parameters() if p.requires_grad)
    return training, scoring, parameters
