"""Sentence encoders as directories: a small one, and the one of a package that tests may find installed.

And tables of words that need no encoder.
"""

import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from scentline.models.learner.semantic import subject
from scentline.models.semantic.table import SemanticTable
from scentline_lab.semantic.build import write_table
from scentline_lab.semantic.encoder import EncoderError, packaged
from tests.models.encoders import SHAPE, VOCABULARY, tensors


def write_encoder(directory: Path) -> Path:
    """Write the small encoder and return its directory."""
    directory.mkdir()
    config = {
        "model_type": "bert", "hidden_size": SHAPE.hidden, "num_hidden_layers": SHAPE.layers,
        "num_attention_heads": SHAPE.heads, "intermediate_size": SHAPE.intermediate,
        "vocab_size": SHAPE.vocabulary, "layer_norm_eps": SHAPE.epsilon,
    }  # fmt: skip
    (directory / "config.json").write_text(json.dumps(config))
    (directory / "vocab.txt").write_text("".join(f"{piece}\n" for piece in VOCABULARY))
    save_file(tensors(), directory / "model.safetensors")
    return directory


def write_words(path: Path, urls: Iterable[str]) -> Path:
    """Write a table that knows the words of URLs' last segments, each with a vector by chance."""
    pieces = sorted({word for url in urls for word in subject(url, ()).split()})
    vectors = np.random.default_rng(2).integers(-127, 128, size=(len(pieces), 8)).astype(np.int8)
    write_table(path, SemanticTable(pieces, vectors, np.ones(len(pieces), np.float32)))
    return path


def packaged_model() -> Path:
    """Return the directory of all-MiniLM-L6-v2; the test is skipped where its package is not installed."""
    try:
        return packaged()
    except EncoderError as error:
        pytest.skip(str(error))
