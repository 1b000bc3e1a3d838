"""Certificates, and the Python that other crawlers run in: they are no part of our own environment."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import trustme

#: Names the Python that has Scrapy and Crawlee; without it, that of ``make bench`` is taken.
NAME = "SCENTLINE_SCRAPY"


def _python_with(name: str) -> str:
    """Return that Python if it has a package; else skip the test, naming what is missing."""
    python = os.environ.get(NAME) or f"{sys.prefix}/crawlers/bin/python"
    try:
        subprocess.run([python, "-c", f"import {name}"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip(f"no {name} in {python}; `make crawlers` installs it, {NAME} names another Python")
    return python


@pytest.fixture(scope="session")
def tls(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return PEM files: a certificate of this machine with its key, and its authority, also that of clients."""
    ours, place = trustme.CA(), tmp_path_factory.mktemp("tls")
    pair, authority = place / "pair.pem", place / "ca.pem"
    ours.cert_pem.write_to_path(str(authority))
    ours.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(str(pair))
    return {"certificate": pair, "key": pair, "clients": authority}


@pytest.fixture(scope="session")
def scrapy() -> str:
    """Return a Python that has Scrapy."""
    return _python_with("scrapy")


@pytest.fixture(scope="session")
def crawlee() -> str:
    """Return a Python that has Crawlee."""
    return _python_with("crawlee")
