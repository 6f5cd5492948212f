"""One run: what changes from epoch to epoch, and the loop that changes it."""

import math
import time
from collections.abc import Iterator

import torch
from jaxtyping import Int64
from torch import Tensor, nn

from wtlib.corpus import Corpus
from wtlib.errors import WtlibError
from wtlib.training.parts import SmallModel, cross_entropy
from wtlib.training.results import Divergence, Epoch, Fit
from wtlib.training.settings import FitConfig

LANES = 16
"""Streams that a text is read in, side by side, when it is only measured."""


class DivergedError(Exception):
    """A number is no longer finite."""

    def __init__(self, divergence: Divergence) -> None:
        """Carry the record of it."""
        super().__init__(divergence)
        self.divergence = divergence


class Run:
    """A model in training: everything that a checkpoint must hold, and how it goes on."""

    def __init__(
        self, model: SmallModel, config: FitConfig, corpus: Corpus, order_seed: int
    ) -> None:
        """Stand before the first step.

        Raises:
            WtlibError: if a part of the corpus is too short for these settings.
        """
        self.model = model
        self.config = config
        self.corpus = corpus
        self.order = torch.Generator().manual_seed(order_seed)
        """The source of each epoch's starting point."""
        self.optimizer = _optimizer(model, config)
        self.best = {name: p.detach().clone() for name, p in model.named_parameters()}
        self.best_loss = math.inf
        self.initial_loss: float | None = None
        self.curve: list[Epoch] = []
        self.seconds = 0.0
        self.steps_per_epoch = _steps_per_epoch(corpus.train, config)
        for part in ("valid", "test"):
            if len(getattr(corpus, part)) <= LANES:
                raise WtlibError(f"corpus {corpus.name} has no {part} part to measure a fit on")

    @property
    def best_epoch(self) -> int:
        """The epoch, counted from one, with the lowest validation loss; the first of equals."""
        losses = [epoch.valid_loss for epoch in self.curve]
        return losses.index(min(losses)) + 1

    @property
    def stalls(self) -> int:
        """Epochs so far that lowered the least validation loss too little, or not at all."""
        losses = [math.inf, *(epoch.valid_loss for epoch in self.curve)]
        least = self.config.min_improvement
        return sum(min(losses[:i]) - losses[i] < least for i in range(1, len(losses)))

    @property
    def finished(self) -> bool:
        """Whether the run has had all its epochs, or lost patience."""
        patience = self.config.patience
        out_of_patience = patience is not None and self.stalls >= patience
        return len(self.curve) >= self.config.max_epochs or out_of_patience

    def measure_start(self) -> None:
        """Measure the validation loss before the first step."""
        start = time.perf_counter()
        loss = evaluate(self.model, self.corpus.valid, self.config.context)
        self.seconds += time.perf_counter() - start
        self._refuse_divergence(0, {"validation loss": loss})
        self.initial_loss = loss

    def epoch(self) -> None:
        """Read the training part once, then measure, and keep the weights if they are the best.

        Raises:
            DivergedError: as `train_once`, or if the validation loss is not finite.
        """
        start = time.perf_counter()
        train_loss, rate = self.train_once()
        valid_loss = evaluate(self.model, self.corpus.valid, self.config.context)
        last_step = (len(self.curve) + 1) * self.steps_per_epoch - 1
        self._refuse_divergence(last_step, {"validation loss": valid_loss})
        self.curve.append(Epoch(train_loss, valid_loss, rate))
        if valid_loss < self.best_loss:
            self.best_loss = valid_loss
            copy_weights(dict(self.model.named_parameters()), self.best)
        self.seconds += time.perf_counter() - start

    def train_once(self) -> tuple[float, float]:
        """Read the training part once; return the mean loss meanwhile and the last rate.

        Raises:
            DivergedError: at the first step whose loss or gradient is not finite.
        """
        self.model.train()
        state = self.model.start(self.config.batch_size)
        total = rate = 0.0
        first_step = len(self.curve) * self.steps_per_epoch
        for step, (input_ids, labels) in enumerate(self._batches(), first_step):
            rate = self._learning_rate(step)
            for group in self.optimizer.param_groups:
                group["lr"] = rate
            self.optimizer.zero_grad()
            logits, state = self.model(input_ids, state)
            loss = cross_entropy(logits, labels)
            (loss + self.model.head.penalty()).backward()
            norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.config.clip_norm)
            self._refuse_divergence(step, {"loss": loss.item(), "gradient norm": norm.item()})
            self.optimizer.step()
            total += loss.item()
        return total / self.steps_per_epoch, rate

    def result(self, diverged: Divergence | None) -> Fit:
        """Return what came out: the losses of the best epoch's weights, unless it diverged."""
        start = time.perf_counter()
        losses: list[float | None] = [None, None, None]
        best_epoch = None
        if diverged is None:
            best_epoch = self.best_epoch
            copy_weights(self.best, dict(self.model.named_parameters()))
            parts = (self.corpus.train, self.corpus.valid, self.corpus.test)
            losses = [evaluate(self.model, ids, self.config.context) for ids in parts]
        self.model.eval()
        train_loss, valid_loss, test_loss = losses
        return Fit(
            n_parameters=self.model.n_parameters(),
            initial_loss=self.initial_loss,
            curve=tuple(self.curve),
            steps=len(self.curve) * self.steps_per_epoch,
            best_epoch=best_epoch,
            train_loss=train_loss,
            valid_loss=valid_loss,
            test_loss=test_loss,
            diverged=diverged,
            seconds=self.seconds + time.perf_counter() - start,
            model=self.model,
        )

    def _batches(self) -> Iterator[tuple[Int64[Tensor, "B T"], Int64[Tensor, "B T"]]]:
        """One epoch of inputs and labels, from a starting point within the first context."""
        context = self.config.context
        offset = int(torch.randint(context, (), generator=self.order))
        length = self.steps_per_epoch * context
        ids = self.corpus.train[offset:]
        return streams(ids, lanes=self.config.batch_size, length=length, context=context)

    def _learning_rate(self, step: int) -> float:
        config = self.config
        rate = config.learning_rate
        if step < config.warmup_steps:
            rate *= (step + 1) / config.warmup_steps
        if config.schedule == "plateau":
            rate *= config.plateau_factor**self.stalls
        elif config.schedule == "cosine":
            done = step / (self.steps_per_epoch * config.max_epochs)
            rate *= 0.5 * (1 + math.cos(math.pi * done))
        return rate

    def _refuse_divergence(self, step: int, numbers: dict[str, float]) -> None:
        for name, number in numbers.items():
            if not math.isfinite(number):
                epochs = len(self.curve)
                raise DivergedError(Divergence(epochs=epochs, step=step, what=f"{name} {number}"))


def streams(
    ids: Int64[Tensor, " N"], *, lanes: int, length: int, context: int
) -> Iterator[tuple[Int64[Tensor, "B T"], Int64[Tensor, "B T"]]]:
    """Yield inputs and labels (the next tokens) of `lanes` streams, `context` tokens at a time."""
    inputs = ids[: lanes * length].view(lanes, length)
    labels = ids[1 : lanes * length + 1].view(lanes, length)
    yield from zip(inputs.split(context, dim=1), labels.split(context, dim=1), strict=True)


@torch.no_grad()
def evaluate(model: SmallModel, ids: Int64[Tensor, " N"], context: int) -> float:
    """Return the mean loss over a text in nats per token, without dropout or penalty.

    The text is read in 16 streams side by side, `context` tokens at a time; the last few tokens,
    fewer than there are streams, are left out.
    """
    model.eval()
    length = (len(ids) - 1) // LANES
    state = model.start(LANES)
    total = 0.0
    for input_ids, labels in streams(ids, lanes=LANES, length=length, context=context):
        logits, state = model(input_ids, state)
        total += cross_entropy(logits, labels).item() * labels.numel()
    return total / (LANES * length)


def copy_weights(source: dict[str, Tensor], target: dict[str, Tensor]) -> None:
    """Copy values into tensors that stay where they are, name by name."""
    with torch.no_grad():
        for name, tensor in target.items():
            tensor.copy_(source[name])


def _optimizer(model: SmallModel, config: FitConfig) -> torch.optim.Optimizer:
    matrices = [p for p in model.parameters() if p.ndim > 1]
    vectors = [p for p in model.parameters() if p.ndim == 1]
    groups = [
        {"params": matrices, "weight_decay": config.weight_decay},
        {"params": vectors, "weight_decay": 0.0},
    ]
    if config.optimizer == "sgd":
        return torch.optim.SGD(groups, lr=config.learning_rate)
    return torch.optim.AdamW(groups, lr=config.learning_rate, fused=True)


def _steps_per_epoch(ids: Int64[Tensor, " N"], config: FitConfig) -> int:
    steps = (len(ids) - config.context) // (config.batch_size * config.context)
    if steps < 1:
        raise WtlibError(
            f"batch_size={config.batch_size} times context={config.context} is more than the "
            f"{len(ids):,} training tokens hold"
        )
    return steps
