"""The synthetic web that most whole crawls are crawls of."""

from collections.abc import Iterator

import pytest

from scentline_lab.synthetic.web import SyntheticWeb
from tests.e2e.crawls import SIZE, synthetic


@pytest.fixture(scope="session")
def web() -> SyntheticWeb:
    return SyntheticWeb(*SIZE)


@pytest.fixture(scope="module")
def proxy(web: SyntheticWeb) -> Iterator[str]:
    with synthetic(web) as served:
        yield served.origin
