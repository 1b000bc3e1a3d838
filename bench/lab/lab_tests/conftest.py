"""What the laboratory's tests share with the crawler's."""

from tests.conftest import browser, nothing_is_left_open

__all__ = ["browser", "nothing_is_left_open"]
