"""What can be wrong with a tie: stable codes, their severity, and what to do about each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True)
class Code:
    """One kind of finding: how grave, what is the case when it is found, what to do."""

    severity: Severity
    when: str
    do: str


@dataclass(frozen=True)
class Finding:
    """One thing found: its code, what is wrong here in one sentence, what to do in another."""

    code: str
    severity: Severity
    message: str
    do: str


def finding(code: str, message: str) -> Finding:
    """Make a finding of a known code; ``message`` says what is wrong here, with its values."""
    return Finding(code, CODES[code].severity, message, CODES[code].do)


_SET_FALSE = "Set tie_word_embeddings to false in config.json"
_RETIE = "Tie again before you train or save: head.weight = table.weight, or model.tie_weights()"

# The order is that of the reference page: config, file, live model, optimizer.
CODES: Mapping[str, Code] = {
    "flag-keys-disagree": Code(
        "warning",
        "Two keys of one config say different things about the tie.",
        "Make the keys agree: loaders differ in which they read.",
    ),
    "flag-overruled": Code(
        "warning",
        "transformers' config class makes another flag of the file than the file says.",
        "Do not count or build from the config alone; look at what the loaded model ties.",
    ),
    "flag-not-boolean": Code(
        "error",
        'The flag is neither true nor false; Python takes "false" for true.',
        "Write true or false, without quotes.",
    ),
    "flag-unknown": Code(
        "note",
        "The config has no flag, and its family's default is not known.",
        "Write tie_word_embeddings into the config.",
    ),
    "scale-missing": Code(
        "warning",
        "A family that multiplies embeddings or logits has no multiplier in its config.",
        "Copy the multiplier from the original config: the class default is another model's.",
    ),
    "scale-contradicts-flag": Code(
        "warning",
        "A T5 config says untied, and that the decoder's output is scaled as for a tied head.",
        "Divide by the root of d_model when the head is tied, and only then.",
    ),
    "head-random": Code(
        "error",
        "The flag says untied and the file holds no head: it will be initialised at random.",
        "Set tie_word_embeddings to true if the model is tied, else restore the head's tensor.",
    ),
    "table-random": Code(
        "error",
        "The flag says untied and the file holds no input table: it will be random.",
        "Set tie_word_embeddings to true if the model is tied, else restore the table's tensor.",
    ),
    "table-under-the-heads-name": Code(
        "note",
        "Tied, and the one matrix is stored under the head's name.",
        "Nothing in transformers 5, which swaps the two; elsewhere rename the tensor.",
    ),
    "no-vocabulary": Code(
        "warning",
        "No tensor of the file has the name of an input table or a head.",
        "Compare the two tensors by hand with tie_between, or rename them.",
    ),
    "tied-flag-unequal-copies": Code(
        "error",
        "The flag says tied and the file holds a table and a head that differ.",
        f"{_SET_FALSE}: loaders that believe it discard the head.",
    ),
    "untied-flag-equal-copies": Code(
        "warning",
        "The flag says untied and the file's table and head are equal.",
        "Set tie_word_embeddings to true, or know that training will part the two.",
    ),
    "equal-copies": Code(
        "warning",
        "A tied matrix is stored twice.",
        "Save again with the head tied: one copy is enough.",
    ),
    "alias-recorded": Code(
        "note",
        "A name is left out of the file and recorded in its metadata as another's alias.",
        "Load with load_model of safetensors.torch; other loaders do not read the note.",
    ),
    "partial-tie": Code(
        "note",
        "Some uses of the vocabulary matrix share it and others have their own.",
        "Count the groups, not the flag; expect fewer shared names than uses.",
    ),
    "rows-differ": Code(
        "error",
        "The table and the head have different numbers of rows.",
        "Resize both ends with model.resize_token_embeddings on the model that has the head.",
    ),
    "vocab-size-differs": Code(
        "error",
        "The config's vocab_size is not the number of rows of the table.",
        "Write the number of rows into vocab_size; padding counts.",
    ),
    "bias-length": Code(
        "error",
        "A bias of the logits is not as long as the vocabulary.",
        "Resize the bias with the matrix: pad it with zeros, or cut it.",
    ),
    "bias-unequal": Code(
        "warning",
        "Two names of the head's bias hold different values.",
        "Tie them (decoder.bias = predictions.bias), or drop the one that is not used.",
    ),
    "tokens-without-rows": Code(
        "error",
        "The tokenizer has ids for which the table has no row.",
        "Call resize_token_embeddings(len(tokenizer)) on the model that has the head.",
    ),
    "padded-rows": Code(
        "note",
        "The table has rows that no token uses.",
        "Mask them in the loss or the logits: they still get the output route's gradient.",
    ),
    "identical-last-rows": Code(
        "note",
        "The last rows of the table are identical: padding, or new tokens not trained yet.",
        "Mask padding in the logits; initialise and train the rows of new tokens.",
    ),
    "forms-differ": Code(
        "warning",
        "The table and the head are stored or held in different types: one side is quantised.",
        f"{_SET_FALSE}, or keep both uses in one type: quantising one side adds a copy.",
    ),
    "low-bit-tied-matrix": Code(
        "warning",
        "A tied matrix is quantised below six bits, and it also makes the logits.",
        "Quantise it as an output matrix: six or eight bits.",
    ),
    "replicas-differ": Code(
        "error",
        "A pipeline's two copies of the table have drifted apart.",
        "All-reduce both copies' gradients before the optimizer, and step both alike.",
    ),
    "equal-blocks": Code(
        "note",
        "Blocks hold equal matrices: layer sharing that an export has unrolled.",
        "Store one block and run it several times.",
    ),
    "equal-matrices": Code(
        "note",
        "Matrices outside the vocabulary are stored twice.",
        "Save one of them, if they are one parameter in the model.",
    ),
    "name-in-two-shards": Code(
        "error",
        "Two shards hold a tensor of the same name.",
        "Write the shards again: which of the two a loader takes is chance.",
    ),
    "index-disagrees": Code(
        "error",
        "The index names tensors that its shards do not hold.",
        "Write the index again with save_pretrained.",
    ),
    "tie-missing": Code(
        "error",
        "The flag says tied; the live model has two matrices with different values.",
        "Call model.tie_weights() if the head is to be the table; else set the flag to false.",
    ),
    "tie-broken": Code(
        "error",
        "The flag says tied; the live model has two equal copies, which training will part.",
        f"{_RETIE}.",
    ),
    "tied-against-flag": Code(
        "error",
        "The live model is tied and its config says untied: saved, it comes back untied.",
        "Set config.tie_word_embeddings to true before you save.",
    ),
    "two-parameters-one-storage": Code(
        "error",
        "Two Parameters lie on one storage: counted twice, and stepped twice.",
        "Assign the Parameter itself: head.weight = table.weight.",
    ),
    "overlapping-views": Code(
        "warning",
        "Parameters are views that share some elements and not others.",
        "Share whole Parameters, or copy the part that differs.",
    ),
    "not-materialised": Code(
        "warning",
        "Parameters have no memory yet: what shares memory cannot be known.",
        "Load or materialise the model, tie again, and then inspect it.",
    ),
    "devices-differ": Code(
        "error",
        "The flag says tied and the two ends lie on different devices.",
        "Give both names one entry in the device map.",
    ),
    "frozen-on-one-side": Code(
        "warning",
        "Two names of one memory disagree about requires_grad.",
        "Untie first (clone the head, set the flag to false), then freeze one side.",
    ),
    "adapter-unties": Code(
        "error",
        "An adapter trains its own copy of an end of a tied model.",
        "Train both ends with ensure_weight_tying=True, or set the flag to false on merging.",
    ),
    "sparse-lookup": Code(
        "warning",
        "A tied table asks for sparse gradients, and the output route makes them dense.",
        "Use sparse=False; SparseAdam refuses the dense gradient.",
    ),
    "max-norm": Code(
        "warning",
        "A tied table has max_norm: each lookup rewrites rows, and so changes the head.",
        "Set max_norm=None.",
    ),
    "padding-row-moves": Code(
        "note",
        "A tied table has padding_idx: the row still gets the output route's gradient.",
        "Mask the padding token's logit if its row is to stay as it is.",
    ),
    "default-init": Code(
        "warning",
        "The head, tied or not, is standard normal like a new nn.Embedding: too large for logits.",
        "Initialise it once, with a standard deviation of one over the root of d_model, or less.",
    ),
    "shared-block": Code(
        "note",
        "One block stands under several names or runs several times.",
        "Count it once; exporters may unroll it into copies.",
    ),
    "live-and-file-disagree": Code(
        "error",
        "The live model and the checkpoint beside it are not tied alike.",
        "Load again and check the warnings, or save the model as it is now.",
    ),
    "optimizer-steps-twice": Code(
        "error",
        "An optimizer steps one matrix twice in a step.",
        "List each Parameter once: take model.parameters(), which does.",
    ),
    "optimizer-two-groups": Code(
        "error",
        "One matrix is listed in two groups of an optimizer.",
        "Group by Parameter, not by name; decide once for both uses.",
    ),
    "optimizer-leaves-out": Code(
        "error",
        "An optimizer does not hold a vocabulary matrix that is to be trained.",
        "Make the optimizer after the last change of the model (resize, load, tie).",
    ),
}
