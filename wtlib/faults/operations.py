"""Operations of deployment that a tie may not survive, beside those of ``wtlib.tying``."""

from __future__ import annotations

import contextlib
import copy
import io
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import fully_shard

from wtlib.surgery import quantised
from wtlib.tying import RefusedError, ends
from wtlib.tying.operations import Build, Operation


def torch_save(build: Build) -> nn.Module:
    """``torch.save`` and ``torch.load`` of a state dict, into a fresh model."""
    model, file = build(), io.BytesIO()
    torch.save(build().state_dict(), file)
    file.seek(0)
    model.load_state_dict(torch.load(file, weights_only=True))
    return model


def freeze_head(build: Build) -> nn.Module:
    """Take the head's gradient away, and with it the table's."""
    model = build()
    ends(model)[1].requires_grad_(False)
    return model


def copy_to_train(build: Build) -> nn.Module:
    """Put a copy of the head in its place, as an adapter that trains the head in full does."""
    model = build()
    model.lm_head = copy.deepcopy(model.lm_head)
    return model


def quantise_head(build: Build) -> nn.Module:
    """Round the head to four bits and keep the table as it is."""
    model = build()
    model.lm_head.weight = nn.Parameter(quantised(model.lm_head.weight, 4))
    return model


def init_empty_weights(build: Build) -> nn.Module:
    """Build inside accelerate's context, then give every Parameter memory and initialise it."""
    from accelerate import init_empty_weights

    with init_empty_weights():
        model = build()
    model.to_empty(device="cpu")
    for parameter in model.parameters():
        nn.init.normal_(parameter)
    return model


def two_groups(build: Build) -> nn.Module:
    """List the table in one group of an optimizer and the head in another."""
    model = build()
    table, head = ends(model)
    try:
        torch.optim.AdamW([{"params": [table]}, {"params": [head]}])
    except ValueError as error:
        raise RefusedError(str(error)) from error
    return model


def shard_apart(build: Build) -> nn.Module:
    """``fully_shard`` on the head by itself, then on the whole model with the table."""
    with _one_rank() as mesh:
        model = build()
        try:
            fully_shard(model.lm_head, mesh=mesh)
            fully_shard(model, mesh=mesh)
            model(torch.zeros(1, 2, dtype=torch.int64))  # groups are compared on first use
        except ValueError as error:
            raise RefusedError(str(error)) from error
        return model


def shard_together(build: Build) -> nn.Module:
    """``fully_shard`` on table and head as one group, then on the whole model."""
    with _one_rank() as mesh:
        model = build()
        fully_shard([model.get_input_embeddings(), model.lm_head], mesh=mesh)
        fully_shard(model, mesh=mesh)
        return model


@contextlib.contextmanager
def _one_rank() -> Iterator[DeviceMesh]:
    """A process group of this process alone: what sharding does to names needs no second one."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "ranks").as_uri()
        dist.init_process_group("gloo", init_method=place, rank=0, world_size=1)
        try:
            yield init_device_mesh("cpu", (1,))
        finally:
            dist.destroy_process_group()


OPERATIONS: Mapping[str, Operation] = {
    "torch.save, torch.load": torch_save,
    "head.weight.requires_grad_(False)": freeze_head,
    "two groups of an optimizer": two_groups,
    "a copy of the head to train (adapter)": copy_to_train,
    "four bits for the head alone": quantise_head,
    "accelerate's init_empty_weights": init_empty_weights,
    "fully_shard: head and table apart": shard_apart,
    "fully_shard: both in one group": shard_together,
}
"""Operations on any module with a table and a head named ``lm_head``."""
