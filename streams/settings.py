"""Settings: one typed class; defaults stand here and nowhere else.

`streams.configuration` fills it from the file, the environment and the command line.
"""

from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    StringConstraints,
    field_validator,
    model_validator,
)
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from models.accesslog.json_lines import JsonLines
from models.accesslog.recognise import parsers
from models.news.prefixes import news_prefix
from models.url import canonical

Positive = Annotated[float, Field(gt=0)]
Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=1)]
Policy = Literal["learned", "combined", "collaborative", "linkage", "breadth-first", "random"]
Ordering = Literal[
    "predicates",
    "breadth-first",
    "backlink",
    "pagerank",
    "similarity",
    "location",
    "behaviour-fetch",
    "behaviour-discovery",
]
PredicateName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,63}$")]


class Section(BaseModel):
    """A group of settings; a key that does not exist is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)


class StreamSettings(Section):
    """Topics, the embedded log and the group-commit inbox."""

    partitions: Count = Field(1, description="Partitions of each topic that shards.")
    group_messages: Count = Field(256, description="Messages that end a commit group.")
    group_rows: Count = Field(20_000, description="Changed rows that end a commit group.")
    group_bytes: Count = Field(8 * 1024 * 1024, description="Bytes of messages that end a commit group.")
    group_seconds: Positive = Field(0.005, description="Seconds after which a commit group ends.")
    backlog: Count = Field(
        1_000,
        description="Messages of a topic that may wait on Kafka before the feeding of logs, or the judging of "
        "kept pages, waits.",
    )
    cached_rows: Count = Field(20_000, description="Decoded rows that a table partition keeps in memory.")
    commit_seconds: Positive = Field(0.5, description="Seconds between commits of consumed offsets.")
    deaths: Count = Field(
        3, description="Processes that may end while they take a message in, before it is buried."
    )


class LogSettings(Section):
    """The program's own log."""

    level: Literal["debug", "info", "warning", "error"] = Field("info", description="Least level written.")
    json_lines: bool = Field(False, description="Write each event as one JSON object.")


class ObserveSettings(Section):
    """Reading proxy logs."""

    format: str = Field(
        "auto",
        description="Log format: auto (recognised by the first lines), squid, combined, common, w3c, json, or "
        "one described as apache:LOGFORMAT, squid:LOGFORMAT or w3c:FIELDS.",
    )
    json_fields: tuple[str, ...] = Field(
        (),
        description="Names of the fields of JSON lines, such as url=page, where they are not the usual ones.",
    )
    user_key: SecretStr | None = Field(
        None, description="Key of the users' pseudonyms (HMAC-SHA256); a random one when there is none."
    )
    base_url: str | None = Field(
        None,
        description="Site of a log whose lines hold paths only, such as https://example.org; what lines say of "
        "other hosts is left out.",
    )
    user_field: bool = Field(
        True,
        description="A line counts as its user's; false: always as its address's, for servers that log names "
        "which nobody checked.",
    )
    client_users: Annotated[int, Field(ge=0)] = Field(
        8, description="Users of one address that count; further ones count as the address; 0 is no limit."
    )
    keep_query: bool = Field(True, description="Keep the query string of visited URLs, without its secrets.")
    secrets: tuple[str, ...] = Field(
        (), description="Names of parameters stripped from visited URLs, beside those that always are."
    )
    robots: bool = Field(True, description="Leave robots out.")
    robot_rate: Annotated[int, Field(ge=0)] = Field(
        120, description="Page views in a minute beyond which a user is taken for a robot; 0 is no limit."
    )
    client_rate: Annotated[int, Field(ge=0)] = Field(
        600,
        description="Page views in a minute beyond which an address is, with all its users; 0 is no limit.",
    )

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


class BrowseSettings(Section):
    """What is kept of each user's accesses."""

    window: Count = Field(64, description="Accesses kept for each user.")
    reach: Count = Field(
        5, description="Accesses before and after one that are its region of temporal locality."
    )


class FrontierSettings(Section):
    """Choosing the next fetch."""

    policy: Policy = Field("learned", description="What orders the candidates.")
    ordering: Ordering = Field(
        "predicates",
        description="An importance that orders the candidates in the place of the policy; predicates is none.",
    )
    query: str = Field(
        "", description="Words that the ordering similarity looks for; empty: those of each predicate."
    )
    mode: Literal["crawl", "instant"] = Field(
        "crawl", description="With instant, news hubs are revisited, and new links to news fetched at once."
    )
    instant_share: Annotated[float, Field(gt=0, le=1)] = Field(
        0.5, description="Part of the fetches that revisits and new links to news take, where others wait."
    )
    budget: Annotated[int, Field(ge=0)] = Field(
        0,
        description="Pages to judge in all, 0 is no limit; what fails or redirects does not count. One worker "
        "keeps to it; several may pass it by what the others have in flight, and what is not told yet.",
    )
    host_budget: Annotated[int, Field(ge=0)] = Field(0, description="Pages to judge a host; 0 is no limit.")
    domain_share: Annotated[float, Field(gt=0, le=1)] = Field(
        0.03,
        description="Share of the latest 200 fetches beyond which a registered domain, /24 or /64 that no seed "
        "vouches for stands back for others that are worth a third as much at least; 1 is no limit.",
    )
    evidence_share: Annotated[float, Field(gt=0, le=1)] = Field(
        0.5,
        description="Share of the latest 200 fetches beyond which an owner's pages teach nothing but that they "
        "were judged, where others wait and no seed vouches for it as much; 1 is no limit.",
    )
    max_depth: Annotated[int, Field(ge=0)] = Field(0, description="Links from a seed at most; 0 is no limit.")
    depth: Literal["", "auto"] = Field(
        "", description="With auto, each host is crawled as deep as its users go, or else its links are new."
    )
    depth_share: Annotated[float, Field(ge=0, lt=1)] = Field(
        0.9, description="Share of a host's page views that lies within its depth, where that is auto."
    )
    threshold: float = Field(
        -1000.0, description="Priority (sum of log interest ratios) below which a candidate is left aside."
    )
    even: Annotated[float, Field(gt=0, le=1)] = Field(
        0.3, description="Part of the fetches that goes by shares alone; the rest goes to what finds more."
    )
    explore: Share = Field(0.01, description="Share of the fetches that chance alone chooses.")
    window_share: Share = Field(0.05, description="Pages in flight, as a share of the pages judged so far.")
    window_max: Count = Field(16, description="Pages in flight at most.")
    rescored: Count = Field(50, description="Best candidates scored anew at each choice.")
    queue: Count = Field(100_000, description="Candidates kept in memory for each predicate.")
    parents: Count = Field(32, description="In-links kept of each page.")
    visitors: Count = Field(32, description="Visitors kept of each page.")
    together: Count = Field(64, description="Other pages kept of each page that users visited near it.")
    lease_seconds: Positive = Field(120.0, description="Seconds a fetch may take before it is given again.")
    attempts: Count = Field(4, description="Attempts at a page before it is given up.")
    retry_seconds: Positive = Field(30.0, description="Wait before a second attempt; doubles with each.")
    settle_seconds: Positive = Field(
        0.05, description="Longest wait for the learner to hear of a verdict before the next choice."
    )
    traps: bool = Field(True, description="Leave URLs alone that belong to a space without end.")
    path_segments: Count = Field(20, description="Segments of a path beyond which a URL is such a one.")
    parameters: Count = Field(20, description="Parameters of a query beyond which a URL is such a one.")
    repeats: Annotated[int, Field(ge=2)] = Field(
        3, description="Times that a path segment or a parameter may be there, and less in a row."
    )
    barren_copies: Count = Field(
        20, description="Copies and soft 404s in a row of one URL but for its numbers that end it."
    )
    barren_dates: Count = Field(
        50, description="Days or months of a calendar in a row that satisfy no predicate and end it."
    )
    barren_misses: Count = Field(
        1000, description="Pages in a row of one URL but for its numbers that satisfy no predicate and end it."
    )
    visited_patterns_only: bool = Field(
        False, description="Leave URLs out whose pattern, by what users did on their site, has no visits."
    )
    ways: Count = Field(
        64, description="Records of users' ways to a page that are kept for patterns; of more, a sample is."
    )

    @property
    def rule(self) -> str:
        """What orders the candidates by name: the ordering, or the policy where there is none."""
        return self.policy if self.ordering == "predicates" else self.ordering

    def under(self, rule: str) -> Self:
        """Return the settings of a crawl with this rule; raises `ValidationError` where there is none such."""
        known = {"policy": rule} if rule in get_args(Policy) else {"ordering": rule}
        return self.model_validate(self.model_dump() | {"ordering": "predicates"} | known)


class LearnSettings(Section):
    """Statistics and what is published of them."""

    significance: Literal["binomial", "paper"] = Field(
        "binomial", description="Denominator of the significance test: on n(E), or the paper's on n(C)."
    )
    t: Positive = Field(2.0, description="Significance threshold in standard deviations.")
    weights: tuple[float, float, float, float] = Field(
        (1.0, 1.0, 1.0, 1.0), description="Weights of the logs of content, URL tokens, links and siblings."
    )
    features: Count = Field(
        1_000_000, description="Features counted in each partition; beyond it the rarest are forgotten."
    )
    published: Count = Field(200_000, description="Features published at a time.")
    threshold: Positive = Field(0.1, description="Move of a log ratio that is published.")
    eager_pages: Count = Field(200, description="Judged pages up to which every move is published at once.")
    interval_seconds: Positive = Field(0.1, description="Least time between two publications of a feature.")
    combiner: Literal["bayesian", "river"] = Field(
        "bayesian",
        description="What the learned policy weighs its inputs by: Bayesian, or river's, logistic regression.",
    )
    fade: Annotated[float, Field(ge=0, lt=1)] = Field(
        0.0, description="Share by which a combiner's old evidence fades when a predicate's pages change."
    )
    semantic: str | None = Field(
        None,
        description="Table of word vectors by which the learned policy knows meanings; see scentline semantic.",
    )
    importance: bool = Field(False, description="Give the learned policy each page's PageRank as an input.")
    patterns: bool = Field(
        False, description="Give the learned policy each page's URL pattern, by what users do, as an input."
    )


class FetchSettings(Section):
    """Asking the web."""

    user_agent: str = Field(
        "Scentline/0.1 (+https://example.org/scentline)",
        description="User-Agent with a contact of yours, a URL or a mail address; without one, nothing is "
        "asked but the hosts of fetch.allow and a proxy on this machine.",
    )
    proxy: str | None = Field(None, description="Forward proxy for every fetch, such as http://localhost:3128.")
    delay_seconds: Annotated[float, Field(ge=0)] = Field(
        1.0, description="Least time between two fetches of a host, or of hosts that share an address."
    )
    delay_factor: Annotated[float, Field(ge=0)] = Field(
        5.0,
        description="Least time between two fetches of a host, as a multiple of the time its last answer took; "
        "at most a minute, and none where fetch.delay_seconds is 0.",
    )
    robots: bool = Field(True, description="Obey robots.txt.")
    connections: Count = Field(64, description="Connections in all.")
    host_connections: Count = Field(
        16, description="Fetches of one host at a time where it is asked without delay; with one, it is 1."
    )
    timeout_seconds: Positive = Field(30.0, description="Time for one fetch in all.")
    first_byte_seconds: Positive = Field(10.0, description="Time until the head of a response has come.")
    max_bytes: Count = Field(5_000_000, description="Body size at most, before and after decompression.")
    max_ratio: Count = Field(
        200, description="Decompressed size at most, as a multiple of the size sent, of what is over 100 kB."
    )
    redirects: Count = Field(5, description="Redirects followed in a row, for a page and for robots.txt.")
    sitemaps: bool = Field(
        False, description="Take candidates from the sitemaps that robots.txt names; needs fetch.robots."
    )
    sitemap_urls: Count = Field(10_000, description="URLs taken from the sitemaps of one host.")
    allow: tuple[str, ...] = Field(
        (), description="Hosts and addresses that may be asked although they are not on the open internet."
    )
    deny: tuple[str, ...] = Field(
        (),
        description="Hosts, with all names below them, addresses and networks that are never asked, even if "
        "fetch.allow names them.",
    )
    ports: tuple[Annotated[int, Field(ge=1, le=65_535)], ...] = Field(
        (),
        description="Ports that may be asked, such as 80 and 443; when there are none, all but those that "
        "browsers block, such as 22 and 25.",
    )

    @field_validator("allow", "deny")
    @classmethod
    def _hosts(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for entry in value:
            try:
                ip_network(entry.strip("[]"), strict=False)
            except ValueError:
                if "/" in entry or canonical(f"http://{entry}/") is None:
                    raise ValueError(
                        f"{entry!r} is no host, address or network, such as corp.example or 192.0.2.0/24"
                    ) from None
        return value


class JudgeSettings(Section):
    """Reading pages."""

    labels: str | None = Field(None, description="TSV file of url and category for the judge of categories.")
    classifier: str | None = Field(
        None, description="File of a trained text classifier for the judge of categories."
    )
    python: str | None = Field(
        None, description="Judge of categories that an installed package offers, by its name."
    )
    seconds: Positive = Field(
        60.0, description="Time that reading and judging a page may take; beyond it the page is refused."
    )
    cpu_seconds: Annotated[int, Field(ge=1)] = Field(
        15, description="CPU time that reading and judging a page may take, in all threads."
    )
    memory_bytes: Annotated[int, Field(ge=100_000_000)] = Field(
        600_000_000, description="Memory that a page may take, beyond what its judges take before they see one."
    )
    words: Count = Field(200, description="Distinct words used of a page.")
    links: Count = Field(2000, description="Links used of a page.")
    context: Annotated[int, Field(ge=0)] = Field(8, description="Words around a link that are kept.")
    soft_404: bool = Field(True, description="Pass over pages that say that there is no page.")
    duplicates: bool = Field(True, description="Pass over pages that are near-duplicates of a judged one.")
    likeness: Annotated[float, Field(gt=0, le=1)] = Field(
        0.9, description="Overlap of two texts from which on one is a near-duplicate of the other."
    )
    least_words: Count = Field(50, description="Words that a text must have to be compared with others.")


class KeepSettings(Section):
    """Fetched pages that are kept, as WARC files in the data directory."""

    pages: Literal["matches", "all", "none"] = Field(
        "matches", description="Which: those that satisfy a predicate, all, or none."
    )
    max_bytes: Count = Field(1_000_000_000, description="Bytes in all; beyond them the oldest are dropped.")


class HarvestSettings(Section):
    """The harvest-rate stream."""

    window_pages: Count = Field(500, description="Pages in the sliding window.")
    window_seconds: Positive = Field(60.0, description="Seconds in the sliding window.")
    interval_seconds: Positive = Field(1.0, description="Least time between two points of a predicate.")


class MetricsSettings(Section):
    """Metrics for Prometheus, and whether the process is well, over HTTP."""

    port: Annotated[int, Field(ge=0, le=65_535)] = Field(
        0, description="Port of /metrics, /healthz and /readyz; 0 is none."
    )
    host: str = Field("127.0.0.1", description="Address that they are served at; 0.0.0.0 is all.")
    stuck_seconds: Positive = Field(
        30.0, description="Seconds without a turn of the event loop after which /healthz says that it is stuck."
    )


class KafkaSettings(Section):
    """Connecting to a Kafka broker, where broker is kafka://."""

    security: Literal["plaintext", "ssl", "sasl_plaintext", "sasl_ssl"] = Field(
        "plaintext", description="How to connect: encrypted with ssl, with a password with sasl."
    )
    ca_file: Path | None = Field(
        None, description="PEM file of who vouches for the brokers; the system's own when there is none."
    )
    cert_file: Path | None = Field(None, description="PEM file of this program's certificate, for mutual TLS.")
    key_file: Path | None = Field(None, description="PEM file of the certificate's private key.")
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = Field(
        "SCRAM-SHA-512", description="How the password is shown to the broker."
    )
    username: str | None = Field(None, description="User at the broker.")
    password: SecretStr | None = Field(None, description="The user's password; better given in a file.")
    password_file: Path | None = Field(None, description="File that holds the user's password.")
    session_seconds: Annotated[float, Field(ge=1, le=1800)] = Field(
        10.0, description="Seconds of silence after which a worker counts as dead."
    )
    heartbeat_seconds: Positive = Field(3.0, description="Seconds between two signs of life of a worker.")
    replication: Count = Field(1, description="Brokers that keep each message.")

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


class NewsSettings(Section):
    """News pages, the hubs that lead to them, and the prefixes of their URLs."""

    first_days: Count = Field(3, description="First days of a page's life, in which clicks on news gather.")
    window: Count = Field(60, description="Days of clicks that are kept.")
    threshold: Positive = Field(1.91, description="Concentration of clicks above which a page is news.")
    least: Annotated[float, Field(ge=0)] = Field(
        1.0, description="Clicks a day of its life below which a page is not judged."
    )
    hubs: Count = Field(100, description="Hub pages: those that lead to the most news.")
    share: Share = Field(0.8, description="Share of news above which a folder or program is a news prefix.")
    prefix_least: Count = Field(3, description="News pages that a news prefix must have; 1 in the paper.")
    pages: Count = Field(
        100_000, description="Pages whose clicks are kept; those with the fewest a day are forgotten first."
    )
    visitors: Count = Field(
        1_000_000, description="Visitors of pages remembered within a day, so that each counts once."
    )
    links: Annotated[int, Field(ge=2000)] = Field(
        500_000, description="Pairs of a page and one it leads to; the pages with the fewest are forgotten."
    )
    hubs_given: tuple[str, ...] = Field(
        (), description="Hubs that a crawl in the mode instant revisits whatever the log says: URLs."
    )
    prefixes_given: tuple[str, ...] = Field(
        (),
        description="News prefixes that hold whatever the log says: folders such as example.org/news/ and "
        "programs such as example.org/view?.",
    )
    visits_a_minute: Positive = Field(
        30.0, description="Visits of hubs in a minute, by all workers; those that bring more are visited more."
    )
    shortest_seconds: Positive = Field(60.0, description="Shortest time between two visits of a hub.")
    longest_seconds: Positive = Field(86_400.0, description="Longest time between two visits of a hub.")
    refresh_seconds: Positive = Field(
        300.0, description="Time between two looks at the log for hubs and prefixes, while it grows little."
    )

    @field_validator("hubs_given")
    @classmethod
    def _pages(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        found = [canonical(url) for url in value]
        for url, known_as in zip(value, found, strict=True):
            if known_as is None:
                raise ValueError(f"{url!r} can't be crawled; expected an http or https URL")
        return tuple(known_as for known_as in found if known_as is not None)

    @field_validator("prefixes_given")
    @classmethod
    def _prefixes(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(news_prefix(text) for text in value)

    @model_validator(mode="after")
    def _intervals(self) -> Self:
        if self.shortest_seconds > self.longest_seconds:
            raise ValueError("shortest_seconds: expected at most longest_seconds")
        return self


class Settings(BaseSettings):
    """Everything that can be set: a few keys of the whole crawl and one section a part of it."""

    model_config = SettingsConfigDict(
        env_prefix="SCENTLINE_",
        env_nested_delimiter="__",
        extra="forbid",
        frozen=True,
        validate_default=True,
    )

    data: Path = Field(Path("scentline-data"), description="Directory of everything that a crawl keeps.")
    broker: str = Field(
        default_factory=_embedded,
        pattern=r"^(embedded|kafka)://.",
        description="Where messages go: embedded://DIRECTORY or kafka://HOST:PORT.",
    )
    random_seed: int = Field(0, description="Seed of every random choice.")
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
    news: NewsSettings = NewsSettings()
    predicates: dict[PredicateName, str] = Field(
        default_factory=dict, description="What to look for: a name and its expression."
    )

    @property
    def semantic(self) -> str | None:
        """The table of word vectors, None where the policy has no use for one."""
        return self.learn.semantic if self.frontier.rule == "learned" else None

    @property
    def behaviour(self) -> bool:
        """Whether what users do on a site makes patterns of its URLs."""
        by_patterns = self.frontier.ordering.startswith("behaviour-") or self.frontier.visited_patterns_only
        return by_patterns or self.patterns

    @property
    def importance(self) -> bool:
        """Whether PageRank is an input of the learned policy."""
        return self.learn.importance and self.frontier.rule == "learned"

    @property
    def patterns(self) -> bool:
        """Whether URL patterns are an input of the learned policy."""
        return self.learn.patterns and self.frontier.rule == "learned"

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Take only what `streams.configuration` hands over: it reads the sources and knows their origins."""
        return (init_settings,)
