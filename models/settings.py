"""Settings of the roles that crawl; `streams.settings` has the others."""

from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    field_validator,
    model_validator,
)  # fmt: skip

from scentline.models.by_host import Route, header, route
from scentline.models.columns import Fields
from scentline.models.formats import Format
from scentline.models.papers.news import news_prefix
from scentline.models.papers.ways import RANKINGS, VISITS
from scentline.models.url import canonical

Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]  #: From 0 to 1; without the 0; without the 1.
SomeShare = Annotated[float, Field(gt=0, le=1)]
PartialShare = Annotated[float, Field(ge=0, lt=1)]
Count = Annotated[int, Field(ge=1)]
CountOrNone = Annotated[int, Field(ge=0)]
FourWeights = tuple[float, float, float, float]
PaperPolicy = Literal["combined", "collaborative", "linkage"]  #: The policies of Aggarwal (2004).
Policy = Literal["learned", PaperPolicy, "breadth-first", "random"]
Ordering = Literal[
    "predicates", "breadth-first", "backlink", "pagerank", "similarity", "location", "weighted",
    "behaviour-fetch", "behaviour-discovery", "volume", "overall-visit", "average-visit", "overall-referral",
    "average-referral", "visits",
]  # fmt: skip


def _canonical(url: str) -> str:
    if (known_as := canonical(url)) is None:
        raise ValueError(f"{url!r} can't be crawled; expected an http or https URL")
    return known_as


PageUrl = Annotated[str, AfterValidator(_canonical)]  #: URL of a page, made canonical.
AUTO = "auto"  #: Stands for the table of word vectors that comes with the program.


class Section(BaseModel):
    """A group of settings; a key that does not exist is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)


class BrowseSettings(Section):
    """Each user's last accesses."""

    window: Count = 64  #: Accesses kept for each user.
    reach: Count = 5  #: Accesses before and after an access that form its region of temporal locality.


class FrontierSettings(Section):
    """Choosing the next fetch."""

    policy: Policy = "learned"  #: Policy that orders the candidates.
    ordering: Ordering = "predicates"  #: Importance that orders the candidates; predicates: the policy does.
    #: Candidates of linkage, collaborative and combined; paper: those of papers/2004-aggarwal.md.
    candidates: Literal["all", "paper"] = "all"
    query: str = ""  #: Words of the ordering similarity; empty: each predicate's words.
    #: With an ordering, prefer candidates with the query in URL or anchor, and links of hits.
    hot: bool = False
    wanted: tuple[str, ...] = ()  #: Parts of URLs that the ordering location counts as one slash less each.
    #: Of the ordering weighted: weights of backlink, pagerank, similarity and location.
    weights: FourWeights = (1.0, 1.0, 1.0, 1.0)
    #: instant also revisits news hubs and fetches new links to news at once.
    mode: Literal["crawl", "instant"] = "crawl"
    #: Largest share of the fetches for revisits and new links to news, while others wait.
    instant_share: SomeShare = 0.5
    #: Largest share of the requests for visiting judged pages again, while others wait. Not with depth auto;
    #: without a budget, the crawl does not end.
    revisit: PartialShare = 0.0
    #: Pages to judge; 0 is no limit. Several workers may exceed it by what is in flight.
    budget: CountOrNone = 0
    requests: CountOrNone = 0  #: Requests for pages to be answered, likewise.
    host_budget: CountOrNone = 0  #: Pages to judge per host; 0 is no limit.
    #: Share of the latest 200 fetches above which a registered domain, /24 or /64 without a seed's trust yields
    #: to others worth a third as much.
    domain_share: SomeShare = 0.03
    #: Share above which the pages of such an owner teach nothing, while others wait.
    evidence_share: SomeShare = 0.5
    max_depth: CountOrNone = 0  #: Most links from a seed; 0 is no limit.
    #: auto crawls each host as deep as its users go, without users as deep as links bring new URLs.
    depth: Literal["", "auto"] = ""
    depth_share: PartialShare = 0.9  #: With depth auto: share of a host's page views within its depth.
    #: With depth auto and 100 sessions: by page views, or by a random surfer fitted to them.
    depth_by: Literal["views", "model"] = "views"
    threshold: float = -1000.0  #: Priority (sum of log interest ratios) below which a candidate is set aside.
    explore: Share = 0.01  #: Share of the fetches chosen at random.
    time: NotNegative = 0.0  #: Seconds of each run; 0 is no limit.
    #: With a budget and a policy that learns: most pages in flight, up to 16, as a share of those judged.
    window_share: Share = 0.05
    window_max: CountOrNone = 0  #: Most pages in flight; 0 leaves it to the crawl.
    rescored: Count = 50  #: Most candidates that a choice rescores.
    queue: Count = 100_000  #: Candidates kept in memory for each predicate.
    parents: Count = 32  #: In-links kept for each page.
    visitors: Count = 32  #: Visitors kept for each page.
    together: Count = 64  #: Co-visited pages kept for each page.
    lease_seconds: Positive = 120.0  #: Time a fetch may take before it is ordered again.
    attempts: Count = 4  #: Attempts to fetch a page.
    retry_seconds: Positive = 30.0  #: Wait before the second attempt; doubles with each further one.
    #: Features that a worker knows of others; the rarest are forgotten first.
    features: Count = 500_000
    traps: bool = True  #: Skip URLs in endless spaces.
    path_segments: Count = 20  #: Most path segments outside a trap.
    parameters: Count = 20  #: Most query parameters outside a trap.
    #: Most occurrences of a path segment or parameter; fewer in a row.
    repeats: Annotated[int, Field(ge=2)] = 3
    #: Copies but for numbers, and soft 404s, in a row that close a space of URLs with different numbers.
    barren_copies: Count = 20
    barren_dates: Count = 50  #: Dates in a row without a hit that close a calendar.
    barren_misses: Count = 1000  #: Pages in a row without a hit that close such a space.
    visited_patterns_only: bool = False  #: Skip URLs whose pattern has no visits in the log.

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
        """Return the settings of a crawl with this rule; raises `ValidationError` for an unknown one."""
        known = {"policy": rule} if rule in get_args(Policy) else {"ordering": rule}
        if rule not in get_args(PaperPolicy):
            known["candidates"] = "all"
        return self.model_validate(self.model_dump() | {"ordering": "predicates"} | known)


class LearnSettings(Section):
    """Counting, learning and publishing."""

    #: Denominator of the significance test: n(E); in the paper n(C), N for users.
    significance: Literal["binomial", "paper"] = "binomial"
    t: Positive = 2.0  #: Significance threshold, in standard deviations.
    #: Weights of the logs of content, URL tokens, links and siblings.
    weights: FourWeights = (1.0, 1.0, 1.0, 1.0)
    #: Features that a worker counts, once in each partition; the rarest are forgotten first.
    features: Count = 1_000_000
    told: Count = 50_000  #: Features that all frontiers publish in a second.
    #: Word vectors of the learned policy: a file, auto (built in), or empty for none.
    semantic: str | None = AUTO

    @property
    def table(self) -> str | None:
        """The table of word vectors, a file or `AUTO`, None without one."""
        return self.semantic or None


LONGEST_LEASE = 600.0  #: Seconds for which a client of the door may hold an order at most.
#: HOST:PORT, or nothing.
Address = Annotated[str, Field(pattern=r"^$|^[^\s:]+:\d{1,5}$|^\[[0-9a-fA-F:.]+\]:\d{1,5}$")]


class DoorSettings(Section):
    """The door: other crawlers fetch what the frontier orders."""

    address: Address = ""  #: HOST:PORT of the door, such as 127.0.0.1:7070; empty for none.
    #: HOST:PORT on this machine for URLFrontier's gRPC beside the door, such as 127.0.0.1:7071; empty for none.
    urlfrontier: Address = ""
    #: Crawls that URLFrontier's clients may begin beside this one, by their names: data/crawls has their data.
    crawls: CountOrNone = 0
    #: Token of the door; by default one is made and kept in door/token with the data.
    token: SecretStr | None = Field(None, min_length=16)
    certificate: Path | None = None  #: PEM file of the door's certificate, for TLS; needed beyond loopback.
    key: Path | None = None  #: PEM file of the certificate's private key.
    clients: Path | None = None  #: PEM file of the authority of clients' certificates, for mutual TLS.


class FetchSettings(Section):
    """Downloading pages."""

    #: User-Agent with your contact, a URL or e-mail address. Without one, only the hosts of fetch.allow and a
    #: proxy on this machine are contacted.
    user_agent: str = "Scentline/0.2 (+https://example.org/scentline)"
    proxy: str | None = None  #: Forward proxy for every fetch, such as http://localhost:3128.
    #: Other proxies for hosts with their subdomains, such as "de = http://proxy.de:3128", or none, as in
    #: "corp.example = direct"; the first that fits holds.
    proxies: tuple[str, ...] = ()
    #: Netscape file of cookies, as curl and browsers' extensions write it; each goes where it belongs.
    cookies: Path | None = None
    #: Headers of all requests to a host, such as "corp.example = Authorization: Bearer abc"; not over http, but
    #: with "http://corp.example = ..." instead.
    headers: tuple[SecretStr, ...] = ()
    #: Accept-Language of every request, such as "de, en;q=0.5".
    languages: Annotated[str, Field(pattern=r"^[A-Za-z0-9*;=., -]*$")] = ""
    #: Least time between two requests to a host, or to hosts that share an address; 0 for crawl --archive.
    delay_seconds: NotNegative = 1.0
    #: The same, as a multiple of the usual duration of its answers, up to a minute.
    delay_factor: NotNegative = 2.0
    robots: bool = True  #: Obey robots.txt.
    connections: Count = 64  #: Most connections in all.
    host_connections: Count = 16  #: Simultaneous requests to a host without a delay.
    timeout_seconds: Positive = 30.0  #: Total time for one request.
    first_byte_seconds: Positive = 10.0  #: Time until the response headers have arrived.
    max_bytes: Count = 5_000_000  #: Largest body, before and after decompression.
    max_ratio: Count = 200  #: Largest decompressed size, as a multiple of the size sent, above 100 kB.
    redirects: Count = 5  #: Redirects followed in a row, for pages and robots.txt.
    sitemaps: bool = False  #: Take candidates from the sitemaps in robots.txt; needs fetch.robots.
    sitemap_urls: Count = 10_000  #: URLs taken from the sitemaps of a host.
    allow: tuple[str, ...] = ()  #: Hosts and addresses to allow outside the open internet.
    #: Hosts (with subdomains), addresses and networks to refuse; overrides fetch.allow.
    deny: tuple[str, ...] = ()
    #: The only ports to allow, such as 80,443; by default all but those that browsers block.
    ports: tuple[Annotated[int, Field(ge=1, le=65_535)], ...] = ()

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

    @field_validator("proxies")
    @classmethod
    def _routed(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return value if all(map(route, value)) else ()

    @field_validator("headers")
    @classmethod
    def _headed(cls, value: tuple[SecretStr, ...]) -> tuple[SecretStr, ...]:
        return value if all(header(rule.get_secret_value()) for rule in value) else ()

    @property
    def routes(self) -> tuple[Route, ...]:
        """The rules of ``proxies``, as they are read."""
        return tuple(map(route, self.proxies))

    def of_archive(self, proxy: str) -> Self:
        """Return the settings for recorded pages, served by a proxy here: the delay is 0 unless given.

        It alone is asked, and without log-ins.
        """
        delay = self.delay_seconds if "delay_seconds" in self.model_fields_set else 0.0
        live = {"proxies": (), "cookies": None, "headers": ()}
        return self.model_copy(update={"proxy": proxy, "delay_seconds": delay, **live})


class RenderSettings(Section):
    """Rendering pages in a browser, which runs their scripts; it needs the extra `scentline[render]`."""

    #: Pages to render: those that need scripts for their content, every page, or none.
    pages: Literal["never", "where-needed", "always"] = "never"
    browser: str = ""  #: Path of Chromium; empty looks for chromium-headless-shell, chromium or google-chrome.
    slots: Count = 2  #: Pages rendered at the same time.
    seconds: Positive = 15.0  #: Time for a page's scripts; what they have made by then is taken.
    requests: Count = 100  #: Requests of a page's scripts, beyond which they get no answers.
    max_bytes: Count = 20_000_000  #: Bytes of the answers to them, likewise.
    #: Memory that a process of the browser may take; a page whose process takes more is refused.
    memory_bytes: Annotated[int, Field(ge=500_000_000)] = 1_500_000_000
    #: With where-needed: share of the other pages rendered by chance; fewer of a pattern with each in vain.
    chance: Share = 0.01


class JudgeSettings(Section):
    """Reading and judging pages."""

    labels: str | None = None  #: TSV file of URL and category for the judge of categories.
    #: File of a trained text classifier for the judge of categories.
    classifier: str | None = None
    python: str | None = None  #: Name of a judge of categories in an installed package.
    seconds: Positive = 60.0  #: Time for reading and judging a page, beyond which it is refused.
    cpu_seconds: Count = 15  #: CPU time for that, all threads together.
    #: Memory for that, beyond what the judges need before their first page.
    memory_bytes: Annotated[int, Field(ge=100_000_000)] = 600_000_000
    words: Count = 200  #: Distinct words of a page that are used.
    links: Count = 2000  #: Links of a page that are used.
    formats: tuple[Format, ...] = ("pdf",)  #: Documents read beside HTML and text; feed is RSS and Atom.
    context: CountOrNone = 8  #: Words kept on each side of a link.
    soft_404: bool = True  #: Refuse soft 404s.
    duplicates: bool = True  #: Refuse near-duplicates of judged pages.
    likeness: SomeShare = 0.9  #: Least overlap of two near-duplicates.
    least_words: Count = 50  #: Least words of a text that is compared with others.


def _with_intervals(found: Any) -> Any:
    if found.shortest_seconds > found.longest_seconds:
        raise ValueError("shortest_seconds: expected at most longest_seconds")
    return found


class NewsSettings(Section):
    """News pages, the hubs that lead to them, and the prefixes of their URLs."""

    first_days: Count = 3  #: First days of a page, in which clicks on news concentrate.
    window: Count = 60  #: Days of clicks to keep.
    threshold: Positive = 1.91  #: Concentration of clicks above which a page is news.
    least: NotNegative = 1.0  #: Clicks a day below which a page is not classified.
    hubs: Count = 100  #: Pages that lead to the most news.
    share: Share = 0.8  #: Share of news above which a folder or program is a news prefix.
    prefix_least: Count = 3  #: News pages that a news prefix must have; 1 in the paper.
    pages: Count = 100_000  #: Pages whose clicks are kept; the least clicked are forgotten first.
    #: Pairs of linked pages; the pages with the fewest are forgotten first.
    links: Annotated[int, Field(ge=2000)] = 500_000
    hubs_given: tuple[PageUrl, ...] = ()  #: URLs of hubs to revisit in the mode instant, whatever the log says.
    #: News prefixes, likewise, such as example.org/news/ and example.org/view?.
    prefixes_given: tuple[Annotated[str, AfterValidator(news_prefix)], ...] = ()
    #: Visits to hubs a minute, all workers together; hubs that bring more get more.
    visits_a_minute: Positive = 30.0
    shortest_seconds: Positive = 60.0  #: Shortest time between two visits to a hub.
    longest_seconds: Positive = 86_400.0  #: Longest time between two visits.
    #: Time between two searches for hubs and prefixes, while the log grows little.
    refresh_seconds: Positive = 300.0

    _intervals = model_validator(mode="after")(_with_intervals)


class RevisitSettings(Section):
    """When judged pages are visited again; frontier.revisit turns it on."""

    #: What makes a page worth visiting again: matches, requests in the log, or both.
    importance: Literal["both", "matches", "requests"] = "both"
    change_days: Positive = 7.0  #: Days expected between two changes of an unknown page.
    shortest_seconds: Positive = 600.0  #: Shortest time between two visits to a page.
    #: Longest time between two visits; `matches` forgets a page after 30 days.
    longest_seconds: Positive = 864_000.0
    #: Time between two estimates of the matches' freshness in the harvest's points.
    tell_seconds: Positive = 60.0

    _intervals = model_validator(mode="after")(_with_intervals)


class CrawlSettings(Section):
    """What a frontier goes by."""

    random_seed: int = 0  #: Seed of every random choice.
    frontier: FrontierSettings = FrontierSettings()
    learn: LearnSettings = LearnSettings()
    fetch: FetchSettings = FetchSettings()
    render: RenderSettings = RenderSettings()
    door: DoorSettings = DoorSettings()
    news: NewsSettings = NewsSettings()
    revisit: RevisitSettings = RevisitSettings()
    #: Fields of pages that satisfy a predicate, for `export`: name, and css:SELECTOR or xpath:EXPRESSION.
    extract: Fields = Field(default_factory=dict)

    @property
    def semantic(self) -> str | None:
        """The table of word vectors, None without one and where the policy has no use for one."""
        return self.learn.table if self.frontier.rule == "learned" else None

    @property
    def behaviour(self) -> bool:
        """Whether what users do on a site makes patterns of its URLs."""
        by_patterns = self.frontier.ordering in (*RANKINGS, VISITS)
        return by_patterns or self.frontier.visited_patterns_only
