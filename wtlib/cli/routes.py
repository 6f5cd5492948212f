"""`python -m wtlib routes`: the two-routes table of a specimen and a text."""

from __future__ import annotations

import argparse
import json
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wtlib.display import Table
    from wtlib.routes import Routes

NAME = "routes"
HELP = "the two gradient routes into a model's vocabulary matrix"
SENTENCE = "The sky is blue and the grass is green"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "specimen", metavar="SPECIMEN", help="auto, gpt2, smollm2-135m, a folder or a hub id"
    )
    parser.add_argument("--text", default=SENTENCE, help=f"what the model reads ({SENTENCE!r})")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Print both routes, with the largest difference between their sum and autograd's gradient."""
    from wtlib import specimens
    from wtlib.errors import WtlibError
    from wtlib.routes import measure_routes

    try:
        args.text.encode()
    except UnicodeEncodeError as error:  # Python keeps bytes it cannot decode as half characters
        raise WtlibError(f"--text {args.text!r} is not valid UTF-8; encode it again") from error
    specimen = specimens.load(args.specimen)
    ids = specimen.tokenizer(args.text, return_tensors="pt").input_ids
    routes = measure_routes(specimen.model, ids, verify=True)
    if args.json:
        print(json.dumps({"specimen": specimen.name, **_numbers(routes)}, indent=2))
    else:
        print(specimen)
        print(_table(routes))
    return 0


def _numbers(routes: Routes) -> dict[str, object]:
    return {
        "tokens": routes.tokens,
        "distinct_tokens": routes.distinct_tokens,
        "loss": routes.loss,
        "short": {"norm": routes.short.norm, "rows_touched": routes.short.rows_touched},
        "long": {"norm": routes.long.norm, "rows_touched": routes.long.rows_touched},
        "ratio": routes.ratio if math.isfinite(routes.ratio) else None,  # JSON has no infinity
        "max_difference": routes.max_difference,
    }


def _table(routes: Routes) -> Table:
    from wtlib import display

    into = "the tied gradient" if routes.tied else "the gradients of the two matrices"
    return display.table(
        [
            ("rows touched", routes.short.rows_touched, routes.long.rows_touched),
            ("norm", f"{routes.short.norm:.4g}", f"{routes.long.norm:.4g}"),
        ],
        ("quantity", "short route (head)", "long route (table)"),
        caption=(
            f"{routes.tokens} tokens, {routes.distinct_tokens} distinct; loss {routes.loss:.5f}; "
            f"ratio {routes.ratio:.3g}; largest difference from {into}: {routes.max_difference:g}"
        ),
        align=("left", "right", "right"),
    )
