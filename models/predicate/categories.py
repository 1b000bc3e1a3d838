"""Categories: names with a dot between each level and the one below it."""

from itertools import accumulate

MAX_CATEGORY = 300


def expand(category: str) -> frozenset[str]:
    """Return the category and every category above it.

    Raises ValueError, naming the category, if a level is empty or the name is longer than 300 characters.

    >>> sorted(expand("Science.Biology.Birds"))
    ['Science', 'Science.Biology', 'Science.Biology.Birds']
    """
    if len(category) > MAX_CATEGORY:
        raise ValueError(f"category {category[:40]!r}...: {len(category)} characters, at most {MAX_CATEGORY}")
    levels = category.split(".")
    if any(not level.strip() for level in levels):
        raise ValueError(f"category {category!r}: expected names separated by single dots")
    return frozenset(accumulate(levels, "{}.{}".format))
