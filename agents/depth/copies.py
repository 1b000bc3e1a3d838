"""Pages whose texts are alike."""

from collections import defaultdict

from models.duplicates.sketch import Sketch, bands, likeness, sketch


class Copies:
    """Finds pages that are like a page before, as the judge does; ``originals`` gets which page that is."""

    def __init__(self, threshold: float, least_words: int, originals: dict[str, str]) -> None:
        self._threshold = threshold
        self._least = least_words
        self._bands: defaultdict[bytes, list[tuple[str, Sketch]]] = defaultdict(list)
        self._originals = originals

    def take(self, name: str, text: str) -> bool:
        """Take in a page, and tell whether it is like one before."""
        found = sketch(text, self._least)
        if found is None:
            return False
        keys = list(bands(found))
        for key in keys:
            for other, known in self._bands[key]:
                if likeness(found, known) >= self._threshold:
                    self._originals[name] = other
                    return True
        for key in keys:
            self._bands[key].append((name, found))
        return False
