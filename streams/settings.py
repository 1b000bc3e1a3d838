"""Settings: one typed class, and where values come from. Defaults stand here and in `models.settings` alone.

The comment above a field, or behind it, is its meaning in docs/settings.md. Values come from a file, the
environment and the command line, the last one winning, each as `Given` under its dotted key: errors name it.
"""

import difflib
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic.fields import FieldInfo

from scentline.models.accesslog.entry import JsonLines
from scentline.models.accesslog.formats import parsers
from scentline.models.columns import Name
from scentline.models.errors import ScentlineError
from scentline.models.settings import (
    BrowseSettings,
    Count,
    CountOrNone,
    CrawlSettings,
    JudgeSettings,
    PageUrl,
    Positive,
    Section,
)  # fmt: skip

FILE = "scentline.toml"
PREFIX = "SCENTLINE_"
OPEN = ("predicates", "extract")  # the tables whose keys are the user's own
SHOWN = 80  # characters of a wrong value in a message

Port = Annotated[int, Field(ge=0, le=65_535)]  #: A port, or 0.


class StreamSettings(Section):
    """Topics, the embedded log and the group-commit inbox."""

    partitions: Count = 1  #: Partitions of each sharded topic.
    group_messages: Count = 256  #: Most messages of a commit group.
    group_rows: Count = 20_000  #: Most changed rows.
    group_bytes: Count = 8 * 1024 * 1024  #: Most bytes of its messages.
    group_seconds: Positive = 0.005  #: Longest time that it gathers.
    #: On Kafka: waiting messages at which feeding logs and judging kept pages pause.
    backlog: Count = 1_000
    #: Written bytes of the rows that a table keeps decoded, and 500 a row: a third of their memory.
    cached_bytes: Count = 16 * 1024 * 1024
    commit_seconds: Positive = 0.5  #: Seconds between commits of consumed offsets.
    deaths: Count = 3  #: Processes killed by a message before it is quarantined.


class LogSettings(Section):
    """Scentline's own log."""

    level: Literal["debug", "info", "warning", "error"] = "info"  #: Lowest level written.
    json_lines: bool = False  #: Write each event as one JSON object.


class ObserveSettings(Section):
    """Reading proxy logs."""

    #: auto (by the first lines), squid, combined, common, w3c, json, apache:LOGFORMAT, squid:LOGFORMAT or
    #: w3c:FIELDS.
    format: str = "auto"
    #: JSON fields with unusual names, such as url=page.
    json_fields: tuple[str, ...] = ()
    user_key: SecretStr | None = None  #: Key of the users' pseudonyms (HMAC-SHA256); by default random.
    #: Site of a log that has only paths, such as https://example.org; other hosts' lines are left out.
    base_url: str | None = None
    user_field: bool = True  #: Identify users by the user field; false: by address, for unverified names.
    client_users: CountOrNone = 8  #: Users of an address, beyond which all count as it; 0 is no limit.
    keep_query: bool = True  #: Keep the query string of visited URLs, without secrets.
    secrets: tuple[str, ...] = ()  #: More parameters to strip from visited URLs.
    robots: bool = True  #: Leave robots out.
    robot_rate: CountOrNone = 120  #: Page views a minute above which a user is a robot; 0 is no limit.
    client_rate: CountOrNone = 600  #: The same of an address with all its users.

    @field_validator("format")
    @classmethod
    def _read(cls, value: str) -> str:
        parsers(value)
        return value

    @field_validator("json_fields")
    @classmethod
    def _named(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        JsonLines(value)
        return value

    @property
    def key(self) -> bytes | None:
        """The bytes of ``user_key``, None where it is missing or empty."""
        given = "" if self.user_key is None else self.user_key.get_secret_value()
        return given.encode() or None


class KeepSettings(Section):
    """Fetched pages kept as WARC files in the data directory."""

    #: Pages to keep: matches of a predicate, all, or none.
    pages: Literal["matches", "all", "none"] = "matches"
    max_bytes: Count = 1_000_000_000  #: Most bytes, beyond which a sixteenth is dropped.
    #: Pages dropped first: the oldest, of the lowest priority, or of the fewest links.
    by: Literal["age", "priority", "links"] = "age"


class HarvestSettings(Section):
    """The harvest-rate stream."""

    window_pages: Count = 500  #: Pages in the sliding window.
    window_seconds: Positive = 60.0  #: Seconds in the sliding window.
    interval_seconds: Positive = 1.0  #: Least time between two points of a predicate.


class MetricsSettings(Section):
    """Prometheus metrics and health checks over HTTP."""

    port: Port = 0  #: Port of /metrics, /healthz and /readyz; 0 turns them off.
    host: str = "127.0.0.1"  #: Address to serve at; 0.0.0.0 is all.
    stuck_seconds: Positive = 30.0  #: Time that the event loop may stand still before /healthz fails.


class WindowSettings(Section):
    """The window: pages that show a crawl and steer it."""

    host: str = "127.0.0.1"  #: Address of the window; 0.0.0.0 is all.
    port: Port = 8420  #: Port; 0, or a default that is taken, means any free one.
    #: More names by which browsers reach the window, such as crawl.example:8420.
    hosts: tuple[str, ...] = ()
    #: Token of the window; by default one is made and kept with the data.
    token: SecretStr | None = Field(None, min_length=16)
    read_only: bool = False  #: Show the crawl without steering it.
    #: NAME:PORT of the metrics of all frontier workers on Kafka, each an address of the name.
    workers: str = ""


class KafkaSettings(Section):
    """Connecting to Kafka, if broker is kafka://."""

    #: How to connect: ssl encrypts, sasl uses a password.
    security: Literal["plaintext", "ssl", "sasl_plaintext", "sasl_ssl"] = "plaintext"
    ca_file: Path | None = None  #: PEM file of the brokers' authority; by default the system's.
    cert_file: Path | None = None  #: PEM file of this client's certificate, for mutual TLS.
    key_file: Path | None = None  #: PEM file of the certificate's private key.
    #: Mechanism of password authentication.
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = "SCRAM-SHA-512"
    username: str | None = None  #: User name at the broker.
    password: SecretStr | None = None  #: The user's password; a file is safer.
    password_file: Path | None = None  #: File with the user's password.
    #: Seconds of silence after which a worker counts as dead.
    session_seconds: Annotated[float, Field(ge=1, le=1800)] = 10.0
    heartbeat_seconds: Positive = 3.0  #: Seconds between two heartbeats of a worker.
    replication: Count = 1  #: Brokers that keep each message.
    #: Begins all names of topics and groups, for several crawls on one Kafka.
    prefix: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{0,64}$")] = ""

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.security.startswith("sasl") and (
            self.username is None or (self.password is None) == (self.password_file is None)
        ):
            raise ValueError(f"{self.security} needs username, and either password or password_file")
        if (self.cert_file is None) != (self.key_file is None):
            raise ValueError("cert_file and key_file go together")
        if self.heartbeat_seconds * 2 > self.session_seconds:
            raise ValueError("heartbeat_seconds: expected at most half of session_seconds")
        return self


def _embedded(validated: dict[str, Any]) -> str:
    return f"embedded://{Path(validated['data']).absolute()}"


class Settings(CrawlSettings):
    """All settings: a few keys of the whole crawl, and a section for each part."""

    seeds: tuple[PageUrl, ...] = ()  #: Pages from which `crawl` starts.
    data: Path = Path("scentline-data")  #: Directory of everything a crawl keeps.
    #: Where messages go: embedded://DIRECTORY or kafka://HOST:PORT.
    broker: str = Field(default_factory=_embedded, pattern=r"^(embedded|kafka)://.")
    streams: StreamSettings = StreamSettings()
    log: LogSettings = LogSettings()
    observe: ObserveSettings = ObserveSettings()
    browse: BrowseSettings = BrowseSettings()
    judge: JudgeSettings = JudgeSettings()
    keep: KeepSettings = KeepSettings()
    harvest: HarvestSettings = HarvestSettings()
    kafka: KafkaSettings = KafkaSettings()
    metrics: MetricsSettings = MetricsSettings()
    window: WindowSettings = WindowSettings()
    #: Predicates to look for: name and expression.
    predicates: dict[Name, str] = Field(default_factory=dict)

    @property
    def on_kafka(self) -> bool:
        """Whether the crawl is on Kafka, not on the embedded log."""
        return self.broker.startswith("kafka:")

    def named(self, name: str) -> str:
        """Return what the broker calls a topic or a consumer group: on Kafka ``kafka.prefix`` is before it.

        >>> crawl = Settings(broker="kafka://localhost", kafka=KafkaSettings(prefix="two-"))
        >>> crawl.named("pages"), Settings(kafka=crawl.kafka).named("pages")
        ('two-pages', 'pages')
        """
        return self.kafka.prefix + name if self.on_kafka else name


class ConfigurationError(ScentlineError, ValueError):
    """Settings that can't be used; the text names the key, where it came from and what was expected."""


class Given(NamedTuple):
    """A value that a source gives for a dotted key; ``where`` names the source as people know it."""

    key: str
    value: Any
    where: str


@dataclass(frozen=True)
class Loaded:
    """The effective settings, and for each dotted key the source of its value ("default" for most)."""

    settings: Settings
    origins: Mapping[str, str]

    def values(self) -> dict[str, Any]:
        """Return every key's effective value, fit for JSON; a secret shows only that it is set."""
        shown: dict[str, Any] = {}
        for key in self.origins:
            value: Any = self.settings
            for part in key.split(".", 1):
                value = value[part] if isinstance(value, dict) else getattr(value, part)
            shown[key] = _shown(value)
        return shown


def load(
    overrides: Mapping[str, Any] | None = None,
    *,
    config_file: Path | None = None,
    environ: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> Loaded:
    """Return the settings from all sources; ``overrides`` are the command line's, by dotted key.

    The file is ``config_file``, which must exist, or else a scentline.toml in ``cwd``. Raises
    `ConfigurationError`.
    """
    known = keys()
    given: dict[str, Given] = {}
    for value in (
        *_from_file(config_file, cwd or Path.cwd()),
        *_from_environment(os.environ if environ is None else environ),
        *(Given(key, value, "command line") for key, value in (overrides or {}).items()),
    ):
        _check_key(value, known)
        given[value.key] = value
    settings = _validated(given, known)
    origins = {key: given[key].where if key in given else "default" for key in known}
    origins |= {key: value.where for key, value in given.items() if key not in known}
    return Loaded(settings, origins)


def keys() -> dict[str, FieldInfo]:
    """Return every dotted key that is not the user's own with its field, as TOML wants them: sections last."""
    found: dict[str, FieldInfo] = {}
    alone: dict[str, FieldInfo] = {}
    for name, field in Settings.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, Section):
            found |= {f"{name}.{inner}": value for inner, value in field.annotation.model_fields.items()}
        elif name not in OPEN:
            alone[name] = field
    return alone | found


def assignment(text: str) -> tuple[str, str]:
    """Read a ``KEY=VALUE`` of the command line; raises `ConfigurationError`.

    >>> assignment("frontier.budget=100")
    ('frontier.budget', '100')
    """
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise ConfigurationError(f"command line: {_quoted(text)} is not KEY=VALUE, such as frontier.budget=100")
    return key.strip(), value


def _from_file(config_file: Path | None, cwd: Path) -> Iterator[Given]:
    path = config_file or cwd / FILE
    if config_file is None and not path.exists():
        return
    where = FILE if config_file is None else str(config_file)
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigurationError(f"{where}: can't be read: {error.strerror}") from error
    except ValueError as error:
        raise ConfigurationError(f"{where}: is not TOML in UTF-8: {error}") from error
    for name, value in tables.items():
        if isinstance(value, dict):
            yield from (Given(f"{name}.{inner}", setting, where) for inner, setting in value.items())
        else:
            yield Given(name, value, where)


def _from_environment(environ: Mapping[str, str]) -> Iterator[Given]:
    for name in sorted(environ):
        if name.startswith(PREFIX):
            key = name.removeprefix(PREFIX).lower().replace("__", ".", 1)
            yield Given(key, environ[name], f"environment {name}")


def _check_key(given: Given, known: Mapping[str, FieldInfo]) -> None:
    if given.key in known or given.key.startswith(tuple(f"{name}." for name in OPEN)):
        return
    nearest = _nearest(given.key, known)
    if given.where.startswith("environment"):
        nearest = PREFIX + nearest.upper().replace(".", "__")
    raise ConfigurationError(
        f"{_printable(given.where)}: there is no setting {_printable(given.key)}; did you mean {nearest}?"
    )


def _nearest(key: str, known: Mapping[str, FieldInfo]) -> str:
    """Return the known key most like ``key``: its last part may stand alone ("budget") or begun ("delay")."""
    section, _, name = key.rpartition(".")

    def likeness(candidate: str) -> tuple[float, float]:
        its_section, _, its_name = candidate.rpartition(".")
        if its_name.startswith(f"{name}_"):
            return 0.95, its_section == section
        last = difflib.SequenceMatcher(None, name, its_name).ratio()
        whole = difflib.SequenceMatcher(None, key, candidate).ratio()
        return max(last, whole), whole

    return max(known, key=likeness)


def _validated(given: Mapping[str, Given], known: Mapping[str, FieldInfo]) -> Settings:
    nested: dict[str, Any] = {}
    for key, value in given.items():
        section, dot, name = key.partition(".")
        data = _typed(value.value, known.get(key))
        if dot:
            nested.setdefault(section, {})[name] = data
        else:
            nested[section] = data
    try:
        return Settings(**nested)
    except ValidationError as error:
        raise ConfigurationError(_complaint(error, given)) from error


def _typed(value: Any, field: FieldInfo | None) -> Any:
    """Return text as the field takes it: a tuple's parts stand between commas, empty is no value."""
    if not isinstance(value, str) or field is None:
        return value
    accepts = str(field.annotation)
    if accepts.startswith("tuple"):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return None if value == "" and "None" in accepts else value


def _complaint(error: ValidationError, given: Mapping[str, Given]) -> str:
    first = error.errors(include_url=False)[0]
    key = ".".join(str(part) for part in first["loc"][:2])
    value = given.get(key) or given.get(key.partition(".")[0])
    expected = first["msg"].replace("Input should be", "expected", 1).removeprefix("Value error, ")
    if value is None:
        return f"{_printable(key)}: {expected}"
    secret = isinstance(value.value, SecretStr) or "SecretStr" in str(keys().get(value.key))
    shown = "the value given" if secret else _quoted(_shown(value.value))
    return f"{_printable(value.where)}: {_printable(value.key)} can't be {shown}: {expected}"


def _quoted(value: Any) -> str:
    text = ascii(value)
    return text if len(text) <= SHOWN else text[:SHOWN] + "..."


def _printable(text: str) -> str:
    return text if text.isprintable() and len(text) <= SHOWN else _quoted(text)


def _shown(value: Any) -> Any:
    if isinstance(value, SecretStr):
        return "set"
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, str):
        return re.sub(r"(?<=//)[^/@]*@", "", value)  # the login of a proxy or broker is a secret too
    return [_shown(each) for each in value] if isinstance(value, tuple | list) else value
