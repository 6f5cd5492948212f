"""Which weights: pinned, verified, loaded.

A *specimen* is a pretrained causal language model with an identity: name, source, revision,
sha256, licence, dtype. `resolve` says which one a name stands for and why, without loading it;
`load` returns it with its tokenizer; `config` and `random_init` need no weights at all.
"""

from wtlib.specimens.loading import Specimen, config, load, prepare, random_init
from wtlib.specimens.pins import GPT2, SMOLLM2, FilePin, HubPin, Identity, PackagePin, SpecimenError
from wtlib.specimens.resolving import Resolution, resolve

__all__ = [
    "GPT2",
    "SMOLLM2",
    "FilePin",
    "HubPin",
    "Identity",
    "PackagePin",
    "Resolution",
    "Specimen",
    "SpecimenError",
    "config",
    "load",
    "prepare",
    "random_init",
    "resolve",
]
