"""A sentence encoder that is small enough for tests: forty word pieces, and weights by chance."""

import numpy as np
import numpy.typing as npt

from scentline_lab.semantic.encoder import Shape

SHAPE = Shape(layers=2, heads=2, hidden=8, intermediate=12, vocabulary=40, epsilon=1e-12)
VOCABULARY = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "##ing", *(f"word{n}" for n in range(35))]


def tensors() -> dict[str, npt.NDArray[np.float32]]:
    """Return the weights, the same each time."""
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
