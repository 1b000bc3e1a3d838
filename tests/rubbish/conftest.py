"""The synthetic web of whole crawls."""

from tests.e2e.conftest import proxy, web

__all__ = ["proxy", "web"]
