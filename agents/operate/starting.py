"""The settings that a new crawl starts with: a commented file for each of its common uses."""

import inspect
import json
import re
import shlex
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from scentline.agents.fetch.guard import names_contact
from scentline.models.settings import CrawlSettings, Section
from scentline.models.url import canonical, host
from scentline.streams.settings import OPEN, PREFIX, ConfigurationError, Settings, keys


class _Start(NamedTuple):
    """What a use is and how its file is adapted, the settings there, and the commands to type next.

    ``shown`` are settings with their defaults, in comments.
    """

    what: str
    values: Mapping[str, object]
    shown: tuple[str, ...]
    commands: tuple[str, ...]


_SEED = "http://example.org/"
_WHICH = '[predicates] says what they have: "words", title("crawl*"), url("REGEX"), lang("en"), and, or, not.'
_TOPIC: Final = {"predicates.topic": '"example" or title("example*")', "frontier.budget": 500}
_STARTS: Final[Mapping[str, _Start]] = {
    "topic": _Start(
        f"Pages on a topic. {_WHICH}",
        _TOPIC, ("frontier.max_depth",), (f"scentline judge {_SEED}", "scentline crawl"),
    ),
    "watch-list": _Start(
        "What changes on the pages of a list, the seeds, and on those that they link to, until Ctrl-C.",
        {"predicates.pages": 'url.prefix("http")', "frontier.revisit": 0.5, "frontier.max_depth": 1},
        ("revisit.shortest_seconds", "revisit.longest_seconds"),
        ("scentline crawl", "scentline changes --since 1d"),
    ),
    "data-set": _Start(
        "Fields of a site's pages, for scentline export. [predicates] says which pages have them, as "
        'url("/products/") does by their URL, and [extract] where in a page each field is.',
        {
            "predicates.items": f'host("{host(_SEED)}")', "extract.heading": "css:h1",
            "extract.description": "css:meta[name=description]::attr(content)", "frontier.budget": 500,
        },
        ("frontier.barren_copies", "keep.max_bytes"),
        (f"scentline judge {_SEED}", "scentline crawl", "scentline export --out pages"),
    ),
    "proxy-log": _Start(
        f"Pages on a topic, found by the log of a proxy too. {_WHICH}",
        _TOPIC, ("observe.format", "observe.base_url", "observe.user_key"),
        ("scentline crawl --log access.log", "scentline matches topic"),
    ),
}  # fmt: skip
_REPLACE = (
    " Replace what names example.org: the pages to start from, and the address at which site owners reach you, "
    "without which the open web is not asked."
)
_FIELD = re.compile(r"((?:^    #: .*\n)*)^    (\w+): .*?(?:  #: (.*))?$", re.MULTILINE)


def beginning(use: str, seeds: Sequence[str], contact: str | None) -> tuple[str, list[str]]:
    """Return the text of a file of settings for a use, and the commands to type next.

    Without ``seeds``, URLs, and ``contact``, a URL or an e-mail address, it has examples. Raises
    `ConfigurationError` for a contact that is neither.
    """
    default, start = Settings().fetch.user_agent, _STARTS[use]
    agent = default if contact is None else f"{default.partition('(')[0]}(+{contact})"
    if contact is not None and not names_contact(agent):
        raise ConfigurationError(f"--contact {contact!r}: expected a URL or an e-mail address of yours")
    found = [canonical(url) or "" for url in seeds or (_SEED,)]
    if "" in found:
        raise ConfigurationError(f"--seed {seeds[found.index('')]!r}: expected an http or https URL")
    commands = [line.replace(_SEED, shlex.quote(found[0])) for line in start.commands]
    given: dict[str, Any] = {} if use == "proxy-log" and not seeds else {"seeds": found}
    for key, value in start.values.items():
        given[key] = value.replace(host(_SEED), host(found[0])) if isinstance(value, str) else value
    given["fetch.user_agent"] = agent
    head = start.what + ("" if seeds and contact else _REPLACE) + " Then type:"
    names = ("seeds", *start.values, *start.shown, "fetch.user_agent", "fetch.delay_seconds", "fetch.languages")
    lines = [*_comment(head), *map("#     {}".format, commands), "", *commented(given, names), ""]
    return "\n".join(lines), commands


def meanings() -> dict[str, str]:
    """Return each dotted key's meaning: the comment above or behind its field."""
    sections: list[tuple[str, type]] = [("", CrawlSettings), ("", Settings)]
    sections += [(f"{name}.", type(value)) for name, value in Settings() if isinstance(value, Section)]
    return {
        prefix + name: behind or re.sub(r"\s*#: ", " ", above).strip()
        for prefix, section in sections
        for above, name, behind in _FIELD.findall(inspect.getsource(section))
        if above or behind
    }


def commented(given: Mapping[str, Any], names: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a file of settings: the ``names`` by section, with their meanings as comments.

    A setting that is not ``given`` stands there with its default, as a comment.
    """
    known, meaning, section = keys(), meanings(), ""
    for key in names:
        here, _, name = key.rpartition(".")
        if here != section:
            section = here
            yield from ("", *(_comment(meaning[here]) if here in OPEN else ()), f"[{here}]")
        if here not in OPEN:
            yield from _comment(meaning[key])
        if key in given:
            yield f"{name} = {_toml(given[key])}"
        elif "SecretStr" in str(known[key].annotation):
            yield f"# {name}: from the environment, {PREFIX}{key.upper().replace('.', '__')}"
        else:
            default = known[key].default
            yield f"# {name}: none" if default is None else f"# {name} = {_toml(default)}"


def _comment(text: str) -> list[str]:
    return textwrap.wrap(text, 108, initial_indent="# ", subsequent_indent="# ")


def _toml(value: Any) -> str:
    literal = isinstance(value, str) and '"' in value and "'" not in value
    return f"'{value}'" if literal else json.dumps(value)
