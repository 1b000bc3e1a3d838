"""What the laboratory's tests share with the crawler's."""

from tests.conftest import nothing_is_left_open

__all__ = ["nothing_is_left_open"]
