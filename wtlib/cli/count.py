"""`python -m wtlib count`: parameters, bytes and FLOPs from a config alone."""

from __future__ import annotations

import argparse
import dataclasses
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wtlib.counting import Flops, ParameterCount, StackCount

NAME = "count"
HELP = "count a model's parameters, bytes and FLOPs from its config"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "target",
        nargs="?",
        metavar="TARGET",
        help="a config.json, a folder that holds one, a model of the census, or a specimen",
    )
    sizes = parser.add_argument_group("a GPT-2 of other sizes, instead of TARGET")
    sizes.add_argument("--vocab-size", type=int, metavar="V")
    sizes.add_argument("--d-model", type=int, metavar="D")
    sizes.add_argument("--layers", type=int, metavar="L")
    sizes.add_argument("--positions", type=int, metavar="P", help="1024 unless given")
    parser.add_argument(
        "--context-length",
        type=int,
        default=0,
        metavar="T",
        help="count attention's scores over T positions among the FLOPs",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Print the count as a table or as JSON."""
    from wtlib.counting import count_parameters

    name, config = _config(args)
    count = count_parameters(config)
    flops = count.flops_at(args.context_length)
    if args.json:
        print(json.dumps({"target": name} | _document(count, flops), indent=2))
    else:
        print(_table(name, count, flops))
    return 0


def _config(args: argparse.Namespace) -> tuple[str, dict[str, Any]]:
    from wtlib.errors import WtlibError

    sizes = {
        "--vocab-size": args.vocab_size,
        "--d-model": args.d_model,
        "--layers": args.layers,
    }
    given = [flag for flag, value in sizes.items() if value is not None]
    if args.target is not None:
        if given or args.positions is not None:
            raise WtlibError(f"give either TARGET ({args.target}) or sizes, not both")
        return args.target, _target(args.target)
    if len(given) < len(sizes):
        missing = ", ".join(flag for flag in sizes if flag not in given)
        raise WtlibError(f"give TARGET, or all of {', '.join(sizes)}; missing: {missing}")
    config = {
        "model_type": "gpt2",
        "vocab_size": args.vocab_size,
        "n_embd": args.d_model,
        "n_layer": args.layers,
        "n_head": 1,  # the number of heads changes no count
    }
    if args.positions is not None:
        config["n_positions"] = args.positions
    return "GPT-2 of the given sizes", config


def _target(target: str) -> dict[str, Any]:
    from wtlib import census
    from wtlib.counting import read_config
    from wtlib.errors import WtlibError
    from wtlib.paths import existing

    if existing(target) is not None:
        return read_config(target)
    try:
        return census.find(target).config()
    except WtlibError as not_in_census:
        from wtlib import specimens

        try:
            return specimens.config(target)
        except WtlibError as no_specimen:
            raise WtlibError(
                f"there is no file {target!r}; {not_in_census}. {no_specimen}"
            ) from no_specimen


def _document(count: ParameterCount, flops: Flops) -> dict[str, Any]:
    memory = count.memory
    return {
        "family": count.family,
        "tied": count.tied,
        "total": count.total,
        "if_tied": count.if_tied,
        "if_untied": count.if_untied,
        "saving": count.saving,
        "vocab_size": count.vocab_size,
        "embedding_dim": count.embedding_dim,
        "d_model": count.d_model,
        "vocabulary_matrix": count.vocabulary_matrix,
        "blocks": count.blocks,
        "positions": count.positions,
        "final_norm": count.final_norm,
        "head_bias": count.head_bias,
        "other": dict(count.other),
        "layers": count.layers,
        "stacks": [
            {
                "name": stack.name,
                "layers": stack.layers,
                "stored": stack.stored,
                "total": stack.total,
                "block": dataclasses.asdict(stack.block) | {"total": stack.block.total},
            }
            for stack in count.stacks
        ],
        "shares": dataclasses.asdict(count.shares),
        "memory": {
            "fp32": memory.fp32,
            "bf16": memory.bf16,
            "adam_fp32": memory.adam_fp32,
            "adam_mixed": memory.adam_mixed,
        },
        "flops": dataclasses.asdict(flops) | {"total": flops.total, "head_share": flops.head_share},
    }


def _table(name: str, count: ParameterCount, flops: Flops) -> str:
    from wtlib import display

    def percent(fraction: float) -> str:
        return f"{100 * fraction:.2f} %"

    rows: list[tuple[str, int | str]] = [
        ("total, " + ("tied" if count.tied else "untied"), count.total),
        ("if tied", count.if_tied),
        ("if untied", count.if_untied),
        (
            f"vocabulary matrix, {count.vocab_size:,} × {count.embedding_dim:,}",
            count.vocabulary_matrix,
        ),
        ("positions", count.positions),
        *(row for stack in count.stacks for row in _stack_rows(stack)),
        ("final norm", count.final_norm),
        ("head bias", count.head_bias),
        *count.other.items(),
        ("one matrix / tied total", percent(count.shares.one_of_tied)),
        ("one matrix / untied total", percent(count.shares.one_of_untied)),
        ("two matrices / untied total", percent(count.shares.two_of_untied)),
        ("bytes, fp32 weights", count.memory.fp32),
        ("bytes, bf16 weights", count.memory.bf16),
        ("bytes, mixed-precision Adam", count.memory.adam_mixed),
        ("forward FLOPs per token", flops.total),
        ("  of which the head", percent(flops.head_share)),
    ]
    return repr(display.table(rows, ("", name), align=("left", "right")))


def _stack_rows(stack: StackCount) -> list[tuple[str, int | str]]:
    stored = "" if stack.stored == stack.layers else f", {stack.stored} stored"
    return [
        (f"{stack.name}: {stack.layers} layers{stored}", stack.total),
        ("  one block", stack.block.total),
        ("    attention", stack.block.attention),
        ("    MLP", stack.block.mlp),
        ("    norms", stack.block.norms),
    ]
