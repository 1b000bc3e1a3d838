"""Settings: one typed class. Defaults stand here and in `streams.crawl_settings`, and nowhere else.

The comment above a field is its meaning in docs/settings.md. `streams.configuration` reads the values from the
file, the environment and the command line.
"""

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    StringConstraints,
    field_validator,
    model_validator,
)

from scentline.models.accesslog.json_lines import JsonLines
from scentline.models.accesslog.recognise import parsers
from scentline.models.patterns.ranking import RANKINGS, VISITS
from scentline.streams.crawl_settings import (
    BrowseSettings,
    Count,
    CountOrNone,
    FetchSettings,
    FrontierSettings,
    JudgeSettings,
    LearnSettings,
    NewsSettings,
    Positive,
    Section,
)

PredicateName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,63}$")]
#: A port, or 0.
Port = Annotated[int, Field(ge=0, le=65_535)]


class StreamSettings(Section):
    """Topics, the embedded log and the group-commit inbox."""

    #: Partitions of each sharded topic.
    partitions: Count = 1
    #: Messages of a commit group at most.
    group_messages: Count = 256
    #: Changed rows of a commit group at most.
    group_rows: Count = 20_000
    #: Bytes of its messages at most.
    group_bytes: Count = 8 * 1024 * 1024
    #: Seconds that it gathers.
    group_seconds: Positive = 0.005
    #: On Kafka: waiting messages of a topic at which feeding logs and judging kept pages pause.
    backlog: Count = 1_000
    #: Bytes of a table's rows kept decoded, counted as written, plus 500 each: about a third of their memory.
    cached_bytes: Count = 16 * 1024 * 1024
    #: Seconds between commits of consumed offsets.
    commit_seconds: Positive = 0.5
    #: Processes that may die with a message in hand before it is quarantined.
    deaths: Count = 3


class LogSettings(Section):
    """Scentline's own log."""

    #: Lowest level written.
    level: Literal["debug", "info", "warning", "error"] = "info"
    #: Write each event as one JSON object.
    json_lines: bool = False


class ObserveSettings(Section):
    """Reading proxy logs."""

    #: Log format: auto (by the first lines), squid, combined, common, w3c, json, apache:LOGFORMAT,
    #: squid:LOGFORMAT or w3c:FIELDS.
    format: str = "auto"
    #: Names of JSON fields that differ from the usual ones, such as url=page.
    json_fields: tuple[str, ...] = ()
    #: Key of the users' pseudonyms (HMAC-SHA256); by default random.
    user_key: SecretStr | None = None
    #: Site of a log that has only paths, such as https://example.org; other hosts' lines are left out.
    base_url: str | None = None
    #: Identify users by the user field; false: by address, where names are unverified.
    user_field: bool = True
    #: Users of one address that count, all others as the address; 0 is no limit.
    client_users: CountOrNone = 8
    #: Keep the query string of visited URLs, without secrets.
    keep_query: bool = True
    #: Further parameters to strip from visited URLs.
    secrets: tuple[str, ...] = ()
    #: Leave robots out.
    robots: bool = True
    #: Page views a minute above which a user counts as a robot; 0 is no limit.
    robot_rate: CountOrNone = 120
    #: The same of an address with all its users.
    client_rate: CountOrNone = 600

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


class KeepSettings(Section):
    """Fetched pages kept as WARC files in the data directory."""

    #: Pages to keep: matches of a predicate, all, or none.
    pages: Literal["matches", "all", "none"] = "matches"
    #: Total bytes; above that, pages are dropped, a sixteenth of it at once.
    max_bytes: Count = 1_000_000_000
    #: Pages dropped first: the oldest, those of the lowest priority, or of the fewest links.
    by: Literal["age", "priority", "links"] = "age"


class HarvestSettings(Section):
    """The harvest-rate stream."""

    #: Pages in the sliding window.
    window_pages: Count = 500
    #: Seconds in the sliding window.
    window_seconds: Positive = 60.0
    #: Least time between two points of a predicate.
    interval_seconds: Positive = 1.0


class MetricsSettings(Section):
    """Prometheus metrics and health checks over HTTP."""

    #: Port of /metrics, /healthz and /readyz; 0 turns them off.
    port: Port = 0
    #: Address to serve them at; 0.0.0.0 is all.
    host: str = "127.0.0.1"
    #: Seconds that the event loop may stand still before /healthz reports it.
    stuck_seconds: Positive = 30.0


class WindowSettings(Section):
    """The window: pages that show a crawl and steer it."""

    #: Address to serve the window at; 0.0.0.0 is all.
    host: str = "127.0.0.1"
    #: Port of the window; 0, or a default that is taken, means any free one.
    port: Port = 8420
    #: Further names by which browsers reach the window, such as crawl.example:8420.
    hosts: tuple[str, ...] = ()
    #: Token of the window; by default one is made and kept with the data.
    token: SecretStr | None = Field(None, min_length=16)
    #: Show the crawl without steering it.
    read_only: bool = False


class KafkaSettings(Section):
    """Connecting to Kafka, if broker is kafka://."""

    #: How to connect: ssl encrypts, sasl uses a password.
    security: Literal["plaintext", "ssl", "sasl_plaintext", "sasl_ssl"] = "plaintext"
    #: PEM file of the brokers' certificate authority; by default the system's.
    ca_file: Path | None = None
    #: PEM file of this client's certificate, for mutual TLS.
    cert_file: Path | None = None
    #: PEM file of the certificate's private key.
    key_file: Path | None = None
    #: Mechanism of password authentication.
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = "SCRAM-SHA-512"
    #: User name at the broker.
    username: str | None = None
    #: The user's password; a file is safer.
    password: SecretStr | None = None
    #: File with the user's password.
    password_file: Path | None = None
    #: Seconds of silence after which a worker counts as dead.
    session_seconds: Annotated[float, Field(ge=1, le=1800)] = 10.0
    #: Seconds between two heartbeats of a worker.
    heartbeat_seconds: Positive = 3.0
    #: Brokers that keep each message.
    replication: Count = 1
    #: Start of all names of topics and groups, for several crawls on one Kafka.
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


class RevisitSettings(Section):
    """When judged pages are visited again; frontier.revisit turns it on."""

    #: What makes a page worth visiting again: matches, requests in the log, or both.
    importance: Literal["both", "matches", "requests"] = "both"
    #: Days expected between two changes of a page before anything is known.
    change_days: Positive = 7.0
    #: Shortest time between two visits to a page.
    shortest_seconds: Positive = 600.0
    #: Longest time between two visits to a page; `matches` forgets a page after 30 days.
    longest_seconds: Positive = 864_000.0
    #: Time between two estimates of the matches' freshness in the harvest's points.
    tell_seconds: Positive = 60.0

    @model_validator(mode="after")
    def _intervals(self) -> Self:
        if self.shortest_seconds > self.longest_seconds:
            raise ValueError("shortest_seconds: expected at most longest_seconds")
        return self


def _embedded(validated: dict[str, Any]) -> str:
    return f"embedded://{Path(validated['data']).absolute()}"


class Settings(BaseModel):
    """All settings: a few keys of the whole crawl, and a section for each part."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)

    #: Directory of everything a crawl keeps.
    data: Path = Path("scentline-data")
    #: Where messages go: embedded://DIRECTORY or kafka://HOST:PORT.
    broker: str = Field(default_factory=_embedded, pattern=r"^(embedded|kafka)://.")
    #: Seed of every random choice.
    random_seed: int = 0
    streams: StreamSettings = StreamSettings()
    log: LogSettings = LogSettings()
    observe: ObserveSettings = ObserveSettings()
    browse: BrowseSettings = BrowseSettings()
    frontier: FrontierSettings = FrontierSettings()
    learn: LearnSettings = LearnSettings()
    fetch: FetchSettings = FetchSettings()
    judge: JudgeSettings = JudgeSettings()
    keep: KeepSettings = KeepSettings()
    harvest: HarvestSettings = HarvestSettings()
    kafka: KafkaSettings = KafkaSettings()
    metrics: MetricsSettings = MetricsSettings()
    window: WindowSettings = WindowSettings()
    news: NewsSettings = NewsSettings()
    revisit: RevisitSettings = RevisitSettings()
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

    @property
    def semantic(self) -> str | None:
        """The table of word vectors, None without one and where the policy has no use for one."""
        return self.learn.table if self.frontier.rule == "learned" else None

    @property
    def behaviour(self) -> bool:
        """Whether what users do on a site makes patterns of its URLs."""
        by_patterns = self.frontier.ordering in (*RANKINGS, VISITS)
        return by_patterns or self.frontier.visited_patterns_only
