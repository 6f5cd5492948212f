"""``python -m wtlib census``: who ties and who does not, from a shell."""

import argparse
import dataclasses
import json

NAME = "census"
HELP = "list the census of published models: sizes, ties, sources"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--family", metavar="NAME", help="only this family, such as Qwen3")
    parser.add_argument("--kind", metavar="KIND", help="causal, encoder-decoder or masked")
    tie = parser.add_mutually_exclusive_group()
    tie.add_argument(
        "--tied", action="store_const", const=True, dest="tie", help="only models that tie"
    )
    tie.add_argument(
        "--untied", action="store_const", const=False, dest="tie", help="only those that do not"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object, with sources")


def run(args: argparse.Namespace) -> int:
    """Print the chosen models as a table or as JSON."""
    from wtlib import census, census_page

    models = [
        model
        for model in census.load()
        if (args.family is None or model.family == _known(args.family, "family"))
        and (args.kind is None or model.kind == _known(args.kind, "kind"))
        and (args.tie is None or model.tie_word_embeddings == args.tie)
    ]
    if args.json:
        rows = [dataclasses.asdict(model) | {"layers": model.layers} for model in models]
        print(json.dumps({"models": rows}, ensure_ascii=False, indent=2))
        return 0
    print(census_page.page(models))
    tied = sum(model.tie_word_embeddings for model in models)
    unverified = sum(not model.verified for model in models)
    print(f"\n{len(models)} models: {tied} tied, {len(models) - tied} untied; ", end="")
    print(f"{unverified} of these flags not verified, marked with a question mark")
    return 0


def _known(name: str, column: str) -> str:
    """The census's own spelling of a family or a kind.

    Raises:
        WtlibError: the census has none of that name.
    """
    from difflib import get_close_matches

    from wtlib import census
    from wtlib.errors import WtlibError

    known = {getattr(model, column).lower(): getattr(model, column) for model in census.load()}
    if name.lower() in known:
        return str(known[name.lower()])
    near = get_close_matches(name.lower(), known, n=3) or sorted(known)
    raise WtlibError(
        f"the census has no {column} {name!r}; near it: {', '.join(known[key] for key in near)}"
    )
