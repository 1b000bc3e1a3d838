"""Pages written from code say what the code says, and the examples in docstrings print what they claim."""

import doctest
import importlib
import pkgutil
from itertools import chain
from pathlib import Path

import scentline
import scentline_lab
from scentline.streams.configuration import OPEN, keys
from scentline.streams.settings_docs import markdown, meanings

PAGE = Path(__file__).parents[1] / "docs" / "settings.md"


def test_settings_page_is_what_the_class_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == markdown(), "run `make docs`"


def test_every_setting_has_a_meaning() -> None:
    assert meanings().keys() == keys().keys() | {OPEN}


def test_examples_in_docstrings_print_what_they_claim() -> None:
    packages = (scentline, scentline_lab)
    walked = (pkgutil.walk_packages(package.__path__, f"{package.__name__}.") for package in packages)
    modules = [found.name for found in chain.from_iterable(walked)]
    runnable = [importlib.import_module(name) for name in modules if not name.endswith("__main__")]
    results = {module.__name__: doctest.testmod(module) for module in runnable}
    assert {name: result.failed for name, result in results.items() if result.failed} == {}
    assert sum(result.attempted for result in results.values()) > 300  # they were found
