"""A table of cases as one test, which names every case that fails."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pytest

Test = Callable[..., None]


def each_case(names: str | tuple[str, ...], cases: Iterable[Any]) -> Callable[[Test], Test]:
    """Try a test with each case, as ``pytest.mark.parametrize`` does, but within one item of the suite.

    What fails does so at the end, as one group of all errors, each with its case. The cases share the test's
    fixtures: a test whose cases would meet in a directory of their own is no table.
    """
    single = isinstance(names, str) and "," not in names
    given = tuple(name.strip() for name in names.split(",")) if isinstance(names, str) else names
    table = [dict(zip(given, (case,) if single else case, strict=True)) for case in cases]
    assert table, "a table without cases tests nothing"

    def decorate(test: Test) -> Test:
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
