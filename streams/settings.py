"""Settings: one typed class. Defaults stand here and in `models.settings`, and nowhere else.

The comment above a field, or behind it, is its meaning in docs/settings.md. `streams.configuration` reads the
values from the file, the environment and the command line.
"""

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    Field,
    SecretStr,
    StringConstraints,
    field_validator,
    model_validator,
)

from scentline.models.accesslog.entry import JsonLines
from scentline.models.accesslog.formats import parsers
from scentline.models.settings import (
    BrowseSettings,
    Count,
    CountOrNone,
    CrawlSettings,
    JudgeSettings,
    Positive,
    Section,
)

PredicateName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,63}$")]
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
    predicates: dict[PredicateName, str] = Field(default_factory=dict)

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
