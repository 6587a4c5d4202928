"""Iterations per second of a sleep at the paper's settings, hidden replay, in plain eager PyTorch; prints one number.

The loop that one would write first: the same networks, batches, losses, clipping and Adam as `wakesleep.sleep`, buffers
as tensors, one Python iteration per gradient step. Run by sleep.py in an environment that has PyTorch.
"""

import copy
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

BATCH, FEATURES, LATENT, ACTIONS = 32, 256, 128, 6


class HiddenReplay(nn.Module):
    """Extractor, head and VAE, sizes of the paper's Minigrid agent."""

    def __init__(self) -> None:
        super().__init__()
        self.extractor = nn.Sequential(nn.Linear(147, 256), nn.ReLU(), nn.Linear(256, FEATURES), nn.ReLU())
        self.head = nn.Linear(FEATURES, ACTIONS)
        self.encoder = nn.Sequential(nn.Linear(FEATURES, 256), nn.ReLU(), nn.Linear(256, 2 * LATENT))
        self.decoder = nn.Sequential(nn.Linear(LATENT, 256), nn.ReLU(), nn.Linear(256, FEATURES))

    def loss(self, features: torch.Tensor, imitation: torch.Tensor) -> torch.Tensor:
        """Imitation, reconstruction and KL with the paper's weights."""
        mean, raw = self.encoder(features).chunk(2, dim=-1)
        log_variance = 5 * torch.tanh(raw / 5)
        latent = mean + torch.exp(log_variance / 2) * torch.randn_like(mean)
        error = F.mse_loss(self.decoder(latent), features.detach())
        kl = 0.5 * (mean**2 + log_variance.exp() - 1 - log_variance).mean()
        return 3.0 * imitation + error + 0.03 * kl


def main(seconds: float) -> None:
    """Measure the best of rounds of 200 iterations."""
    torch.set_num_threads(1)
    scale = torch.tensor([10.0, 5.0, 2.0]).repeat(49)
    seen, kept = (torch.randint(0, 3, (size, 147), dtype=torch.uint8) for size in (20_000, 4096))
    done, kept_done = (torch.randint(0, ACTIONS, (size,)) for size in (20_000, 4096))
    model = HiddenReplay()
    before = copy.deepcopy(model).requires_grad_(False)
    optimiser = torch.optim.Adam(model.parameters(), 1e-3)

    def iterate() -> None:
        total = torch.zeros(())
        for observations, labels in ((seen, done), (kept, kept_done)):
            rows = torch.randint(0, len(labels), (BATCH,))
            features = model.extractor(observations[rows] / scale)
            total = total + model.loss(features, F.cross_entropy(model.head(features), labels[rows]))
        with torch.no_grad():
            dreamed = before.decoder(torch.randn(BATCH, LATENT))
            target = before.head(dreamed).softmax(-1)
        total = total + model.loss(dreamed, F.cross_entropy(model.head(dreamed), target))
        optimiser.zero_grad()
        total.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        optimiser.step()

    best, start = 0.0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        begin = time.perf_counter()
        for _ in range(200):
            iterate()
        best = max(best, 200 / (time.perf_counter() - begin))
    print(best)


if __name__ == "__main__":
    main(float(sys.argv[1]))
