"""The URLs of a site as a table of codes: a column for each key, a row for each URL."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from models.patterns.decompose import decompose, place

#: Keys that are looked at: the most frequent ones. Hostile URLs may have any number of parameters.
KEYS = 64
#: The code of a URL that has no such key.
ABSENT = 0


class Columns:
    """The values of each key of each URL, as codes that tell them apart.

    ``codes`` has for each key an array of shape (URLs,); the value of code c > 0 is ``values[key][c - 1]``.
    Left out are keys that fewer than ``support`` URLs have, and all but the 64 most frequent.
    """

    def __init__(self, urls: Sequence[str], support: int) -> None:
        frequencies: Counter[str] = Counter()
        for url in urls:
            frequencies.update(decompose(url).keys())
        frequent = sorted(frequencies, key=lambda key: (-frequencies[key], place(key)))[:KEYS]
        keys = sorted((key for key in frequent if frequencies[key] >= support), key=place)
        self.codes: dict[str, npt.NDArray[np.int32]] = {key: np.zeros(len(urls), np.int32) for key in keys}
        self.values: dict[str, list[str]] = {key: [] for key in keys}
        known: dict[str, dict[str, int]] = {key: {} for key in keys}
        for row, url in enumerate(urls):
            for key, value in decompose(url).items():
                codes = known.get(key)
                if codes is None:
                    continue
                code = codes.get(value)
                if code is None:
                    self.values[key].append(value)
                    code = codes[value] = len(self.values[key])
                self.codes[key][row] = code

    def value(self, key: str, code: int) -> str | None:
        """Return the value that a code stands for, None for that of a URL without the key."""
        return None if code == ABSENT else self.values[key][code - 1]
