"""``scentline semantic build``: a table of word vectors for the learned policy."""

from pathlib import Path
from typing import Annotated

import typer

from agents.cli.app import app, examples

semantic = typer.Typer(no_args_is_help=True)
app.add_typer(semantic, name="semantic", help="Make tables that tell the learned policy what words mean.")


@semantic.callback()
def group() -> None:
    """Make tables that tell the learned policy what words mean."""


@semantic.command(
    epilog=examples("semantic build", "scentline semantic build --model all-MiniLM-L6-v2 --out words.table")
)
def build(
    model: Annotated[
        Path, typer.Option(metavar="DIR", help="A sentence encoder: config.json, vocab.txt, model.safetensors.")
    ],
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where to put the table, or to replace one.")],
) -> None:
    """Distil a BERT-like sentence encoder into a table of about 2 MB, which `evaluate --semantic` takes.

    The encoder looks at each word piece of its vocabulary alone, which takes about a minute. It must be one in
    lower case. Reading it takes the package safetensors: pip install 'scentline[semantic]'.
    """
    import sys

    import numpy as np

    from agents.lab.progress import progress
    from agents.semantic.encoders import read_encoder
    from agents.semantic.tables import check_place, write_table
    from models.semantic.build import batches, distilled

    check_place(out)
    encoder = read_encoder(model)
    texts = batches(encoder.vocabulary)
    found = []
    with progress(sys.stderr) as bars:
        bars.phase("encode word pieces", sum(map(len, texts)))
        for batch in texts:
            found.append(encoder.bert.encode(batch))
            bars.advance(len(batch))
    table = distilled(encoder.vocabulary, np.concatenate(found))
    size = write_table(out, table)
    typer.echo(f"{out}: {len(table.pieces):,} word pieces, {table.size} numbers each, {size:,} bytes")
