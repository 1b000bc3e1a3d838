"""The columns of exports; behind them come the fields of the settings `[extract]`, as strings."""

from typing import Annotated, Final, NamedTuple, TypeAlias

from pydantic import AfterValidator, StringConstraints

#: The name that people give to a predicate or a field.
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,63}$")]


class Column(NamedTuple):
    """A column by its name, the name of its type, and what it holds."""

    name: str
    type: str
    meaning: str


LINKS: Final = "list<struct<url, anchor>>"
VERDICTS: Final = "list<struct<name, holds, score, expected>>"

COLUMNS: Final = (
    Column("url", "string", "the URL that was asked for; where it redirects to the page, the first of several"),
    Column("final_url", "string", "the page's own URL"),
    Column("status", "int16", "the status of the answer: 200, as no other brings a page"),
    Column("time", "timestamp", "when it was fetched, in UTC"),
    Column("language", "string", "the language's ISO 639 code; null where the text does not show it"),
    Column("title", "string", "the title"),
    Column("text", "string", "the main text, without headings"),
    Column("headings", "list<string>", "the headings in their order"),
    Column("links", LINKS, "the links in their order, each with its text"),
    Column("predicates", VERDICTS, "each predicate that judged it, and whether it holds"),
    Column("depth", "int32", "links from a seed"),
    Column("referrer", "string", "a page that links to it; null where none was known"),
)


def _free(name: str) -> str:
    if any(name == column.name for column in COLUMNS):
        raise ValueError("expected another name: exports have a column of this one")
    return name


def _extracts(expression: str) -> str:
    # Imported on use: it brings lxml.
    from scentline.models.extract import compiled

    compiled(expression)
    return expression


#: Expressions by name.
Fields: TypeAlias = dict[Annotated[Name, AfterValidator(_free)], Annotated[str, AfterValidator(_extracts)]]
