"""The pieces of a name as programs write them: words, capitalised or not, and numbers."""

import re

_PIECE = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")


def pieces(name: str) -> list[str]:
    """Return the pieces of a name, without the signs between them.

    >>> pieces("resetKey"), pieces("X-Amz-Signature"), pieces("mobile_no2")
    (['reset', 'Key'], ['X', 'Amz', 'Signature'], ['mobile', 'no', '2'])
    """
    return _PIECE.findall(name)
