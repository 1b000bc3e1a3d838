"""A judge of categories by the length of a page."""

from scentline.models.page import Page


def judge(page: Page) -> list[str]:
    """Return the category of a page: long where it has a hundred distinct words or more."""
    return ["Length.Long" if len(page.words) >= 100 else "Length.Short"]
