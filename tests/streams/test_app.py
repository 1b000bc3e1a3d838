"""What the app takes for granted of Faust."""

import inspect
import re

from faust.tables import TableManager

from streams.app import Tables, create_app
from streams.settings import Settings


def test_faust_s_tables_sleep_nowhere_but_at_their_start() -> None:
    asleep = [
        (name, found)
        for name, method in inspect.getmembers(TableManager, inspect.isfunction)
        if method.__module__ == TableManager.__module__
        for found in re.findall(r"self\.sleep\((.*)\)", inspect.getsource(method))
    ]
    assert asleep == [("on_start", "1.0")]


def test_the_app_has_tables_that_start_at_once() -> None:
    assert isinstance(create_app(Settings()).tables, Tables)
