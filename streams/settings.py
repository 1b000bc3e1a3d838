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

from scentline.models.accesslog.json_lines import JsonLines
from scentline.models.accesslog.recognise import parsers
from scentline.models.news.prefixes import news_prefix
from scentline.models.patterns.ranking import RANKINGS, VISITS
from scentline.models.url import canonical

Positive = Annotated[float, Field(gt=0)]
Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=1)]
#: The policies of Aggarwal (2004).
PaperPolicy = Literal["combined", "collaborative", "linkage"]
Policy = Literal["learned", PaperPolicy, "breadth-first", "random"]
Ordering = Literal[
    "predicates",
    "breadth-first",
    "backlink",
    "pagerank",
    "similarity",
    "location",
    "weighted",
    "behaviour-fetch",
    "behaviour-discovery",
    "volume",
    "overall-visit",
    "average-visit",
    "overall-referral",
    "average-referral",
    "visits",
]
PredicateName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,63}$")]
#: Stands for the table of word vectors that comes with the program.
AUTO = "auto"


class Section(BaseModel):
    """A group of settings; a key that does not exist is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)


class StreamSettings(Section):
    """Topics, the embedded log and the group-commit inbox."""

    partitions: Count = Field(1, description="Partitions of each sharded topic.")
    group_messages: Count = Field(256, description="Messages after which a commit group ends.")
    group_rows: Count = Field(20_000, description="Changed rows after which a commit group ends.")
    group_bytes: Count = Field(
        8 * 1024 * 1024, description="Bytes of messages after which a commit group ends."
    )
    group_seconds: Positive = Field(0.005, description="Seconds after which a commit group ends.")
    backlog: Count = Field(
        1_000,
        description="On Kafka: messages of a topic that may wait before feeding logs, and judging kept pages, "
        "pauses.",
    )
    cached_bytes: Count = Field(
        16 * 1024 * 1024,
        description="Bytes of the rows of a table that are kept decoded, as they are written, and 500 more for "
        "each. In memory they take about three times as much. Of rows hardly ever read again it is 1 MiB.",
    )
    commit_seconds: Positive = Field(0.5, description="Seconds between commits of consumed offsets.")
    deaths: Count = Field(
        3, description="Processes that may die while they have a message in hand, before it is quarantined."
    )


class LogSettings(Section):
    """Scentline's own log."""

    level: Literal["debug", "info", "warning", "error"] = Field("info", description="Lowest level written.")
    json_lines: bool = Field(False, description="Write each event as one JSON object.")


class ObserveSettings(Section):
    """Reading proxy logs."""

    format: str = Field(
        "auto",
        description="Log format: auto (recognised by the first lines), squid, combined, common, w3c, json, or "
        "a description: apache:LOGFORMAT, squid:LOGFORMAT or w3c:FIELDS.",
    )
    json_fields: tuple[str, ...] = Field(
        (),
        description="Names of JSON fields that differ from the usual ones, such as url=page.",
    )
    user_key: SecretStr | None = Field(
        None, description="Key of the users' pseudonyms (HMAC-SHA256); by default a random one."
    )
    base_url: str | None = Field(
        None,
        description="Site of a log that has only paths, such as https://example.org; lines about other hosts "
        "are left out.",
    )
    user_field: bool = Field(
        True,
        description="Identify users by the user field; false: by address, for servers that log unverified "
        "names.",
    )
    client_users: Annotated[int, Field(ge=0)] = Field(
        8, description="Users of one address that count; all others count as the address; 0 is no limit."
    )
    keep_query: bool = Field(True, description="Keep the query string of visited URLs, without secrets.")
    secrets: tuple[str, ...] = Field((), description="Names of further parameters to strip from visited URLs.")
    robots: bool = Field(True, description="Leave robots out.")
    robot_rate: Annotated[int, Field(ge=0)] = Field(
        120, description="Page views a minute above which a user counts as a robot; 0 is no limit."
    )
    client_rate: Annotated[int, Field(ge=0)] = Field(
        600,
        description="Page views a minute above which an address, with all its users, counts as a robot; 0 is "
        "no limit.",
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
    """Each user's last accesses."""

    window: Count = Field(64, description="Accesses kept for each user.")
    reach: Count = Field(
        5, description="Accesses before and after an access that form its region of temporal locality."
    )


class FrontierSettings(Section):
    """Choosing the next fetch."""

    policy: Policy = Field("learned", description="Policy that orders the candidates.")
    ordering: Ordering = Field(
        "predicates",
        description="Importance that orders the candidates instead of the policy; predicates means the policy.",
    )
    candidates: Literal["all", "paper"] = Field(
        "all",
        description="Candidates of linkage, collaborative and combined: all, or those of the paper alone "
        "(Aggarwal 2004): link targets, pages of the log, or the log's and the links of pages that satisfy; "
        "seeds come first.",
    )
    query: str = Field(
        "", description="Words that the ordering similarity looks for; empty: each predicate's words."
    )
    hot: bool = Field(
        False,
        description="With an ordering by importance: candidates that mention the query in URL or anchor, or "
        "that a page satisfying a predicate links to, come first.",
    )
    wanted: tuple[str, ...] = Field(
        (), description="Parts of a URL each of which the ordering location takes for one slash less."
    )
    weights: tuple[float, float, float, float] = Field(
        (1.0, 1.0, 1.0, 1.0),
        description="Weights of backlink, pagerank, similarity and location in the ordering weighted.",
    )
    mode: Literal["crawl", "instant"] = Field(
        "crawl", description="instant also revisits news hubs and fetches new links to news at once."
    )
    instant_share: Annotated[float, Field(gt=0, le=1)] = Field(
        0.5, description="Largest share of the fetches for revisits and new links to news, while others wait."
    )
    revisit: Annotated[float, Field(ge=0, lt=1)] = Field(
        0.0,
        description="Largest share of the requests for visiting judged pages again, while others wait; 0 "
        "turns it off. It does not go with depth auto. Without a budget such a crawl does not end.",
    )
    budget: Annotated[int, Field(ge=0)] = Field(
        0,
        description="Pages to judge in all, without failures and redirects; 0 is no limit. One worker never "
        "exceeds it; several may, by what the others have in flight or have not reported yet.",
    )
    requests: Annotated[int, Field(ge=0)] = Field(
        0,
        description="Requests for pages to have answered in all, with failures, redirects and further "
        "attempts; 0 is no limit. Several workers may exceed it as they may the budget of pages.",
    )
    host_budget: Annotated[int, Field(ge=0)] = Field(0, description="Pages to judge per host; 0 is no limit.")
    domain_share: Annotated[float, Field(gt=0, le=1)] = Field(
        0.03,
        description="Share of the latest 200 fetches above which a registered domain, /24 or /64 without a "
        "seed's trust is held back for others worth at least a third as much; 1 is no limit.",
    )
    evidence_share: Annotated[float, Field(gt=0, le=1)] = Field(
        0.5,
        description="Share of the latest 200 fetches above which an owner without as much trust from seeds "
        "teaches nothing but that its pages were judged, while others wait; 1 is no limit.",
    )
    max_depth: Annotated[int, Field(ge=0)] = Field(
        0, description="Largest depth in links from a seed; 0 is no limit."
    )
    depth: Literal["", "auto"] = Field(
        "",
        description="auto crawls each host as deep as its users go or, without users, as links bring new URLs.",
    )
    depth_share: Annotated[float, Field(ge=0, lt=1)] = Field(
        0.9, description="With depth auto: share of a host's page views within its depth."
    )
    depth_by: Literal["views", "model"] = Field(
        "views",
        description="With depth auto, what tells the depth of a host with 100 sessions: its page views, or the "
        "random surfer A, B or C that is fitted to them.",
    )
    threshold: float = Field(
        -1000.0, description="Priority (sum of log interest ratios) below which a candidate is set aside."
    )
    explore: Share = Field(0.01, description="Share of the fetches chosen at random.")
    time: Annotated[float, Field(ge=0)] = Field(
        0.0, description="Seconds for which a run orders pages; 0 is no limit. The next run has as many again."
    )
    window_share: Share = Field(
        0.05,
        description="Pages in flight under a policy that learns while a budget is scarce, as a share of the "
        "pages judged so far, 16 at most.",
    )
    window_max: Annotated[int, Field(ge=0)] = Field(
        0,
        description="Most pages in flight; 0 leaves it to what is scarce, to fetch.connections and to how fast "
        "this machine judges.",
    )
    rescored: Count = Field(50, description="Candidates that a choice rescores at most.")
    queue: Count = Field(100_000, description="Candidates kept in memory for each predicate.")
    parents: Count = Field(32, description="In-links kept for each page.")
    visitors: Count = Field(32, description="Visitors kept for each page.")
    together: Count = Field(64, description="Co-visited pages kept for each page.")
    lease_seconds: Positive = Field(120.0, description="Time a fetch may take before it is ordered again.")
    attempts: Count = Field(4, description="Attempts to fetch a page.")
    retry_seconds: Positive = Field(
        30.0, description="Wait before the second attempt; doubles with each further one."
    )
    features: Count = Field(
        500_000, description="Features whose counts a worker keeps in memory; the rarest are forgotten first."
    )
    traps: bool = Field(True, description="Skip URLs in endless spaces.")
    path_segments: Count = Field(20, description="Path segments above which a URL is trapped.")
    parameters: Count = Field(20, description="Query parameters above which a URL is trapped.")
    repeats: Annotated[int, Field(ge=2)] = Field(
        3, description="Times that a path segment or a parameter may occur; fewer in a row."
    )
    barren_copies: Count = Field(
        20, description="Copies and soft 404s in a row that close a space of URLs that differ only in numbers."
    )
    barren_dates: Count = Field(
        50, description="Days or months of a calendar in a row without a hit that close it."
    )
    barren_misses: Count = Field(
        1000, description="Pages in a row without a hit that close a space of URLs that differ only in numbers."
    )
    visited_patterns_only: bool = Field(
        False, description="Skip URLs whose pattern, by the log of their site, has no visits."
    )

    @model_validator(mode="after")
    def _counted_once(self) -> Self:
        # What a page's links add to the levels of a site is counted when it is first judged.
        if self.revisit and self.depth:
            raise ValueError('revisit: expected 0 with depth = "auto", whose levels are not counted again')
        return self

    @model_validator(mode="after")
    def _by_the_paper(self) -> Self:
        if self.candidates == "paper" and self.rule not in get_args(PaperPolicy):
            known = ", ".join(get_args(PaperPolicy))
            raise ValueError(f"candidates: expected all with {self.rule}; paper goes with the policies {known}")
        return self

    @property
    def rule(self) -> str:
        """What orders the candidates by name: the ordering, or the policy where there is none."""
        return self.policy if self.ordering == "predicates" else self.ordering

    @property
    def learns(self) -> bool:
        """Whether what orders the candidates learns from verdicts."""
        return self.rule in ("learned", *get_args(PaperPolicy))

    @property
    def wordy(self) -> bool:
        """Whether the ordering goes by the words of links."""
        importance = self.ordering not in ("predicates", "breadth-first")
        return self.ordering in ("similarity", "weighted") or (self.hot and importance)

    def under(self, rule: str) -> Self:
        """Return the settings of a crawl with this rule; raises `ValidationError` where there is none such."""
        known = {"policy": rule} if rule in get_args(Policy) else {"ordering": rule}
        if rule not in get_args(PaperPolicy):
            known["candidates"] = "all"
        return self.model_validate(self.model_dump() | {"ordering": "predicates"} | known)


class LearnSettings(Section):
    """Counting, learning and publishing."""

    significance: Literal["binomial", "paper"] = Field(
        "binomial",
        description="Denominator of the significance test: n(E), or as in the paper n(C), and N for users.",
    )
    t: Positive = Field(2.0, description="Significance threshold, in standard deviations.")
    weights: tuple[float, float, float, float] = Field(
        (1.0, 1.0, 1.0, 1.0), description="Weights of the logs of content, URL tokens, links and siblings."
    )
    features: Count = Field(
        1_000_000, description="Features counted in each partition; above that, the rarest are forgotten."
    )
    told: Count = Field(20_000, description="Features that all learners publish in a second, on average.")
    semantic: str | None = Field(
        AUTO,
        description="Table of word vectors that gives the learned policy word meanings: a file, auto for the "
        "one that comes with the program, or empty for none.",
    )

    @property
    def table(self) -> str | None:
        """The table of word vectors, a file or `AUTO`, None without one."""
        return self.semantic or None


class FetchSettings(Section):
    """Downloading pages."""

    user_agent: str = Field(
        "Scentline/0.2 (+https://example.org/scentline)",
        description="User-Agent with your contact, a URL or an e-mail address. Without one, only the hosts of "
        "fetch.allow and a proxy on this machine are contacted.",
    )
    proxy: str | None = Field(None, description="Forward proxy for every fetch, such as http://localhost:3128.")
    delay_seconds: Annotated[float, Field(ge=0)] = Field(
        1.0, description="Least time between two requests to a host, or to hosts that share an address."
    )
    delay_factor: Annotated[float, Field(ge=0)] = Field(
        2.0,
        description="Least time between two requests to a host, as a multiple of the usual duration of its "
        "answers; at most a minute, and none if fetch.delay_seconds is 0.",
    )
    robots: bool = Field(True, description="Obey robots.txt.")
    connections: Count = Field(64, description="Most connections in all.")
    host_connections: Count = Field(
        16, description="Simultaneous requests to a host without a delay; with a delay it is 1."
    )
    timeout_seconds: Positive = Field(30.0, description="Total time for one request.")
    first_byte_seconds: Positive = Field(10.0, description="Time until the response headers have arrived.")
    max_bytes: Count = Field(5_000_000, description="Largest body, before and after decompression.")
    max_ratio: Count = Field(
        200, description="Largest decompressed size, as a multiple of the size sent, above 100 kB."
    )
    redirects: Count = Field(5, description="Redirects followed in a row, for pages and robots.txt.")
    sitemaps: bool = Field(
        False, description="Take candidates from the sitemaps in robots.txt; needs fetch.robots."
    )
    sitemap_urls: Count = Field(10_000, description="URLs taken from the sitemaps of a host.")
    allow: tuple[str, ...] = Field(
        (), description="Hosts and addresses to allow although they are not on the open internet."
    )
    deny: tuple[str, ...] = Field(
        (),
        description="Hosts (with subdomains), addresses and networks to refuse; overrides fetch.allow.",
    )
    ports: tuple[Annotated[int, Field(ge=1, le=65_535)], ...] = Field(
        (),
        description="Ports to allow, such as 80 and 443; empty: all except those that browsers "
        "block, such as 22 and 25.",
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
    """Reading and judging pages."""

    labels: str | None = Field(None, description="TSV file of URL and category for the judge of categories.")
    classifier: str | None = Field(
        None, description="File of a trained text classifier for the judge of categories."
    )
    python: str | None = Field(None, description="Name of a judge of categories in an installed package.")
    seconds: Positive = Field(
        60.0, description="Time for reading and judging a page; a page that needs more is refused."
    )
    cpu_seconds: Annotated[int, Field(ge=1)] = Field(
        15, description="CPU time for reading and judging a page, all threads together."
    )
    memory_bytes: Annotated[int, Field(ge=100_000_000)] = Field(
        600_000_000, description="Memory for a page, beyond what its judges need before their first page."
    )
    words: Count = Field(200, description="Distinct words of a page that are used.")
    links: Count = Field(2000, description="Links of a page that are used.")
    context: Annotated[int, Field(ge=0)] = Field(8, description="Words kept on each side of a link.")
    soft_404: bool = Field(True, description="Refuse soft 404s.")
    duplicates: bool = Field(True, description="Refuse near-duplicates of judged pages.")
    likeness: Annotated[float, Field(gt=0, le=1)] = Field(
        0.9, description="Least overlap of two near-duplicates."
    )
    least_words: Count = Field(50, description="Least words of a text that is compared with others.")


class KeepSettings(Section):
    """Fetched pages kept as WARC files in the data directory."""

    pages: Literal["matches", "all", "none"] = Field(
        "matches", description="Pages to keep: matches of a predicate, all, or none."
    )
    max_bytes: Count = Field(
        1_000_000_000, description="Total bytes; above that, pages are dropped, a sixteenth of it at once."
    )
    by: Literal["age", "priority", "links"] = Field(
        "age",
        description="Pages dropped first: the oldest, those chosen with the lowest priority, or those with the "
        "fewest links.",
    )


class HarvestSettings(Section):
    """The harvest-rate stream."""

    window_pages: Count = Field(500, description="Pages in the sliding window.")
    window_seconds: Positive = Field(60.0, description="Seconds in the sliding window.")
    interval_seconds: Positive = Field(1.0, description="Least time between two points of a predicate.")


class MetricsSettings(Section):
    """Prometheus metrics and health checks over HTTP."""

    port: Annotated[int, Field(ge=0, le=65_535)] = Field(
        0, description="Port of /metrics, /healthz and /readyz; 0 turns them off."
    )
    host: str = Field("127.0.0.1", description="Address to serve them at; 0.0.0.0 is all.")
    stuck_seconds: Positive = Field(
        30.0, description="Seconds without a turn of the event loop after which /healthz reports a stall."
    )


class WindowSettings(Section):
    """The window: pages that show a crawl and steer it."""

    host: str = Field("127.0.0.1", description="Address to serve the window at; 0.0.0.0 is all.")
    port: Annotated[int, Field(ge=0, le=65_535)] = Field(
        8420,
        description="Port of the window; 0 takes any that is free. So does the usual one if it is taken.",
    )
    hosts: tuple[str, ...] = Field(
        (), description="Further names by which browsers reach the window, such as crawl.example:8420."
    )
    token: SecretStr | None = Field(
        None, min_length=16, description="Token of the window; by default one is made and kept with the data."
    )
    read_only: bool = Field(False, description="Show the crawl without steering it.")


class KafkaSettings(Section):
    """Connecting to Kafka, if broker is kafka://."""

    security: Literal["plaintext", "ssl", "sasl_plaintext", "sasl_ssl"] = Field(
        "plaintext", description="How to connect: ssl encrypts, sasl uses a password."
    )
    ca_file: Path | None = Field(
        None, description="PEM file of the brokers' certificate authority; by default the system's."
    )
    cert_file: Path | None = Field(None, description="PEM file of this client's certificate, for mutual TLS.")
    key_file: Path | None = Field(None, description="PEM file of the certificate's private key.")
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = Field(
        "SCRAM-SHA-512", description="Mechanism of password authentication."
    )
    username: str | None = Field(None, description="User name at the broker.")
    password: SecretStr | None = Field(None, description="The user's password; a file is safer.")
    password_file: Path | None = Field(None, description="File with the user's password.")
    session_seconds: Annotated[float, Field(ge=1, le=1800)] = Field(
        10.0, description="Seconds of silence after which a worker counts as dead."
    )
    heartbeat_seconds: Positive = Field(3.0, description="Seconds between two heartbeats of a worker.")
    replication: Count = Field(1, description="Brokers that keep each message.")
    prefix: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{0,64}$")] = Field(
        "", description="What the names of topics and groups begin with: crawls of one Kafka have one each."
    )

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

    first_days: Count = Field(
        3, description="First days of a page's life, in which clicks on news concentrate."
    )
    window: Count = Field(60, description="Days of clicks to keep.")
    threshold: Positive = Field(1.91, description="Concentration of clicks above which a page is news.")
    least: Annotated[float, Field(ge=0)] = Field(
        1.0, description="Clicks a day below which a page is not classified."
    )
    hubs: Count = Field(100, description="Number of hub pages, those that lead to the most news.")
    share: Share = Field(0.8, description="Share of news above which a folder or program is a news prefix.")
    prefix_least: Count = Field(3, description="News pages that a news prefix must have; 1 in the paper.")
    pages: Count = Field(
        100_000, description="Pages whose clicks are kept; those with the fewest a day are forgotten first."
    )
    visitors: Count = Field(
        1_000_000, description="Visitors remembered for a day, so that each counts once a page."
    )
    links: Annotated[int, Field(ge=2000)] = Field(
        500_000,
        description="Pairs of a page and a page it leads to; the pages with the fewest are forgotten first.",
    )
    hubs_given: tuple[str, ...] = Field(
        (), description="URLs of hubs to revisit in the mode instant, whatever the log says."
    )
    prefixes_given: tuple[str, ...] = Field(
        (),
        description="News prefixes, whatever the log says: folders such as example.org/news/ and programs "
        "such as example.org/view?.",
    )
    visits_a_minute: Positive = Field(
        30.0, description="Visits to hubs a minute, all workers together; hubs that bring more get more."
    )
    shortest_seconds: Positive = Field(60.0, description="Shortest time between two visits to a hub.")
    longest_seconds: Positive = Field(86_400.0, description="Longest time between two visits to a hub.")
    refresh_seconds: Positive = Field(
        300.0, description="Time between two searches of the log for hubs and prefixes, while it grows little."
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


class RevisitSettings(Section):
    """When judged pages are visited again; frontier.revisit turns it on."""

    importance: Literal["both", "matches", "requests"] = Field(
        "both", description="What makes a page worth visiting again: matches, requests in the log, or both."
    )
    change_days: Positive = Field(
        7.0, description="Days between two changes of a page that are expected before anything is known."
    )
    shortest_seconds: Positive = Field(600.0, description="Shortest time between two visits to a page.")
    longest_seconds: Positive = Field(
        864_000.0,
        description="Time after which a page is due, however seldom it changes; of one that is not visited for "
        "30 days `matches` knows nothing any more.",
    )
    tell_seconds: Positive = Field(
        60.0, description="Time between two estimates of how current the matches are, in the harvest's points."
    )

    @model_validator(mode="after")
    def _intervals(self) -> Self:
        if self.shortest_seconds > self.longest_seconds:
            raise ValueError("shortest_seconds: expected at most longest_seconds")
        return self


class Settings(BaseModel):
    """All settings: a few keys of the whole crawl, and a section for each part."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)

    data: Path = Field(Path("scentline-data"), description="Directory of everything a crawl keeps.")
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
    window: WindowSettings = WindowSettings()
    news: NewsSettings = NewsSettings()
    revisit: RevisitSettings = RevisitSettings()
    predicates: dict[PredicateName, str] = Field(
        default_factory=dict, description="Predicates to look for: name and expression."
    )

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
