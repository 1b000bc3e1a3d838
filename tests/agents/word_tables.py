"""Tables of word meanings, and a static model that one is made of."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from model2vec import StaticModel
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from scentline.agents.stored import write_stored
from scentline.models.semantic import SemanticTable, last_words, pack

VOCABULARY = ["[PAD]", "[UNK]", "##ing", *(f"word{n}" for n in range(35)), "Word"]


def write_model(directory: Path, kind: type = models.WordPiece) -> Path:
    """Write a model whose vectors are by chance."""
    numbers = {piece: number for number, piece in enumerate(VOCABULARY)}
    pieces = Tokenizer(kind(numbers, unk_token="[UNK]"))
    pieces.normalizer = normalizers.BertNormalizer(lowercase=True)
    pieces.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    vectors = np.random.default_rng(4).normal(size=(len(VOCABULARY), 8)).astype(np.float32)
    StaticModel(vectors, pieces).save_pretrained(directory)
    return directory


def write_words(path: Path, urls: Iterable[str]) -> Path:
    """Write a table that knows the words of URLs' last segments, each with a vector by chance."""
    pieces = sorted({word for url in urls for word in last_words(url).split()})
    vectors = np.random.default_rng(2).integers(-127, 128, size=(len(pieces), 8)).astype(np.int8)
    write_stored(path, pack(SemanticTable(pieces, vectors, np.ones(len(pieces), np.float32))))
    return path
