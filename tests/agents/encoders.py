"""Sentence encoders as directories: a small one, and the one of a package that tests may find installed.

And tables of words that need no encoder.
"""

import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt
from safetensors.numpy import save_file

from scentline.models.semantic import SemanticTable, last_words
from scentline_lab.encoder import Shape, write_table

#: An encoder that is small enough for tests: forty word pieces, and weights by chance.
SHAPE = Shape(layers=2, heads=2, hidden=8, intermediate=12, vocabulary=40, epsilon=1e-12)
VOCABULARY = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "##ing", *(f"word{n}" for n in range(35))]


def tensors() -> dict[str, npt.NDArray[np.float32]]:
    size, inner = SHAPE.hidden, SHAPE.intermediate
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (SHAPE.vocabulary, size),
        "embeddings.position_embeddings.weight": (16, size),
        "embeddings.token_type_embeddings.weight": (2, size),
    }
    dense = {f"attention.self.{part}": (size, size) for part in ("query", "key", "value")}
    dense |= {"attention.output.dense": (size, size), "output.dense": (size, inner)}
    dense["intermediate.dense"] = (inner, size)
    norms = ["embeddings.LayerNorm"]
    for layer in range(SHAPE.layers):
        at = f"encoder.layer.{layer}."
        for name, shape in dense.items():
            shapes |= {f"{at}{name}.weight": shape, f"{at}{name}.bias": shape[:1]}
        norms += [f"{at}attention.output.LayerNorm", f"{at}output.LayerNorm"]
    for name in norms:
        shapes |= {f"{name}.weight": (size,), f"{name}.bias": (size,)}
    rng = np.random.default_rng(4)
    return {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}


def write_encoder(directory: Path) -> Path:
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
    pieces = sorted({word for url in urls for word in last_words(url).split()})
    vectors = np.random.default_rng(2).integers(-127, 128, size=(len(pieces), 8)).astype(np.int8)
    write_table(path, SemanticTable(pieces, vectors, np.ones(len(pieces), np.float32)))
    return path
