"""A table of cases as one test, which names every case that fails.

Cases that are text and numbers stand in ``cases.txt`` beside the tests: below the name of their test, in JSON,
one or more on a line; a line that begins with # says why.
"""

import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

Test = Callable[..., None]


@cache
def written(file: Path) -> Mapping[str, list[Any]]:
    """Return the cases of a file by the names of their tests."""
    parts = file.read_text(encoding="utf-8").split("\n## ")[1:] if file.exists() else []
    lines = {
        part.partition("\n")[0]: [line for line in part.splitlines()[1:] if line[:1] != "#"] for part in parts
    }
    return {name: [case for line in of for case in json.loads(f"[{line}]")] for name, of in lines.items()}


def each_case(names: str | tuple[str, ...], cases: Iterable[Any] = ()) -> Callable[[Test], Test]:
    """Try a test with each case, as ``pytest.mark.parametrize`` does, but within one item of the suite.

    The cases are those that are written under the test's name, and those given. What fails does so at the end,
    as one group of all errors, each with its case. The cases share the test's fixtures: a test whose cases
    would meet in a directory of their own is no table.
    """
    single = isinstance(names, str) and "," not in names
    given = tuple(name.strip() for name in names.split(",")) if isinstance(names, str) else names

    def decorate(test: Test) -> Test:
        known = written(Path(inspect.getfile(inspect.unwrap(test))).with_name("cases.txt"))
        found = [*known.get(test.__name__, ()), *cases]
        table = [dict(zip(given, (case,) if single else case, strict=True)) for case in found]
        assert table, "a table without cases tests nothing"

        def run(*args: Any, **fixtures: Any) -> None:
            errors = [error for case in table if (error := failure(test, args, fixtures, case)) is not None]
            if errors:
                raise BaseExceptionGroup(f"{len(errors)} of {len(table)} cases", errors)

        signature = inspect.signature(test)
        rest = [parameter for name, parameter in signature.parameters.items() if name not in given]
        run.__signature__ = signature.replace(parameters=rest)  # type: ignore[attr-defined]
        run.__name__, run.__qualname__, run.__doc__ = test.__name__, test.__qualname__, test.__doc__
        run.__module__ = test.__module__
        return run

    return decorate


def failure(
    test: Test, args: tuple[Any, ...], fixtures: Mapping[str, Any], case: Mapping[str, Any]
) -> BaseException | None:
    """Return what fails at a case, with the case in a note; None where it holds."""
    try:
        test(*args, **fixtures, **case)
    except (Exception, pytest.fail.Exception) as error:
        error.add_note("case: " + ", ".join(f"{name}={value!r:.300}" for name, value in case.items()))
        return error
    return None
