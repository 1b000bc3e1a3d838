"""Settings of the roles that crawl; `streams.settings` has the others."""

from ipaddress import ip_network
from typing import Annotated, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from scentline.models.news.prefixes import news_prefix
from scentline.models.url import canonical

Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]
#: From 0 to 1; without the 0; without the 1.
Share = Annotated[float, Field(ge=0, le=1)]
SomeShare = Annotated[float, Field(gt=0, le=1)]
PartialShare = Annotated[float, Field(ge=0, lt=1)]
Count = Annotated[int, Field(ge=1)]
CountOrNone = Annotated[int, Field(ge=0)]
FourWeights = tuple[float, float, float, float]
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
#: Stands for the table of word vectors that comes with the program.
AUTO = "auto"


class Section(BaseModel):
    """A group of settings; a key that does not exist is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)


class BrowseSettings(Section):
    """Each user's last accesses."""

    #: Accesses kept for each user.
    window: Count = 64
    #: Accesses before and after an access that form its region of temporal locality.
    reach: Count = 5


class FrontierSettings(Section):
    """Choosing the next fetch."""

    #: Policy that orders the candidates.
    policy: Policy = "learned"
    #: Importance that orders the candidates instead of the policy; predicates means the policy.
    ordering: Ordering = "predicates"
    #: Candidates of linkage, collaborative and combined: all, or those of Aggarwal (2004), see
    #: papers/2004-aggarwal.md.
    candidates: Literal["all", "paper"] = "all"
    #: Words that the ordering similarity looks for; empty: each predicate's words.
    query: str = ""
    #: With an ordering by importance, prefer candidates with the query in URL or anchor, and links of hits.
    hot: bool = False
    #: Parts of a URL that the ordering location counts as one slash less each.
    wanted: tuple[str, ...] = ()
    #: Weights of backlink, pagerank, similarity and location in the ordering weighted.
    weights: FourWeights = (1.0, 1.0, 1.0, 1.0)
    #: instant also revisits news hubs and fetches new links to news at once.
    mode: Literal["crawl", "instant"] = "crawl"
    #: Largest share of the fetches for revisits and new links to news, while others wait.
    instant_share: SomeShare = 0.5
    #: Largest share of the requests for visiting judged pages again, while others wait; 0 turns it off. Not
    #: with depth auto; without a budget, the crawl does not end.
    revisit: PartialShare = 0.0
    #: Pages to judge in all, without failures and redirects; 0 is no limit. Several workers may exceed it by
    #: what is in flight.
    budget: CountOrNone = 0
    #: Requests for pages to have answered in all; 0 is no limit. Several workers may exceed it likewise.
    requests: CountOrNone = 0
    #: Pages to judge per host; 0 is no limit.
    host_budget: CountOrNone = 0
    #: Share of the latest 200 fetches above which a registered domain, /24 or /64 without a seed's trust yields
    #: to others worth a third as much; 1 is no limit.
    domain_share: SomeShare = 0.03
    #: Share above which the pages of an owner without as much trust from seeds teach nothing, while others
    #: wait; 1 is no limit.
    evidence_share: SomeShare = 0.5
    #: Largest depth in links from a seed; 0 is no limit.
    max_depth: CountOrNone = 0
    #: auto crawls each host as deep as its users go or, without users, as links bring new URLs.
    depth: Literal["", "auto"] = ""
    #: With depth auto: share of a host's page views within its depth.
    depth_share: PartialShare = 0.9
    #: With depth auto, what sets the depth of a host with 100 sessions: its page views, or a random surfer
    #: fitted to them.
    depth_by: Literal["views", "model"] = "views"
    #: Priority (sum of log interest ratios) below which a candidate is set aside.
    threshold: float = -1000.0
    #: Share of the fetches chosen at random.
    explore: Share = 0.01
    #: Seconds for which each run orders pages; 0 is no limit.
    time: NotNegative = 0.0
    #: While a budget is scarce, pages in flight under a policy that learns, as a share of those judged so far;
    #: 16 at most.
    window_share: Share = 0.05
    #: Most pages in flight; 0 leaves it to the crawl.
    window_max: CountOrNone = 0
    #: Candidates that a choice rescores at most.
    rescored: Count = 50
    #: Candidates kept in memory for each predicate.
    queue: Count = 100_000
    #: In-links kept for each page.
    parents: Count = 32
    #: Visitors kept for each page.
    visitors: Count = 32
    #: Co-visited pages kept for each page.
    together: Count = 64
    #: Time a fetch may take before it is ordered again.
    lease_seconds: Positive = 120.0
    #: Attempts to fetch a page.
    attempts: Count = 4
    #: Wait before the second attempt; doubles with each further one.
    retry_seconds: Positive = 30.0
    #: Features whose counts a worker keeps in memory; the rarest are forgotten first.
    features: Count = 500_000
    #: Skip URLs in endless spaces.
    traps: bool = True
    #: Most path segments outside a trap.
    path_segments: Count = 20
    #: Most query parameters outside a trap.
    parameters: Count = 20
    #: Times that a path segment or a parameter may occur; fewer in a row.
    repeats: Annotated[int, Field(ge=2)] = 3
    #: Copies and soft 404s in a row that close a space of URLs with different numbers.
    barren_copies: Count = 20
    #: Days or months of a calendar in a row without a hit that close it.
    barren_dates: Count = 50
    #: Pages in a row without a hit that close such a space.
    barren_misses: Count = 1000
    #: Skip URLs whose pattern, by the log of their site, has no visits.
    visited_patterns_only: bool = False

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

    #: Denominator of the significance test: n(E), or as in the paper n(C), and N for users.
    significance: Literal["binomial", "paper"] = "binomial"
    #: Significance threshold, in standard deviations.
    t: Positive = 2.0
    #: Weights of the logs of content, URL tokens, links and siblings.
    weights: FourWeights = (1.0, 1.0, 1.0, 1.0)
    #: Features counted in each partition; above that, the rarest are forgotten.
    features: Count = 1_000_000
    #: Features that all learners publish in a second, on average.
    told: Count = 20_000
    #: Table of word vectors for the learned policy: a file, auto (built in), or empty for none.
    semantic: str | None = AUTO

    @property
    def table(self) -> str | None:
        """The table of word vectors, a file or `AUTO`, None without one."""
        return self.semantic or None


class FetchSettings(Section):
    """Downloading pages."""

    #: User-Agent with your contact, a URL or an e-mail address. Without one, only the hosts of fetch.allow and
    #: a proxy on this machine are contacted.
    user_agent: str = "Scentline/0.2 (+https://example.org/scentline)"
    #: Forward proxy for every fetch, such as http://localhost:3128.
    proxy: str | None = None
    #: Least time between two requests to a host, or to hosts that share an address.
    delay_seconds: NotNegative = 1.0
    #: The same, as a multiple of the usual duration of its answers; at most a minute, none if
    #: fetch.delay_seconds is 0.
    delay_factor: NotNegative = 2.0
    #: Obey robots.txt.
    robots: bool = True
    #: Most connections in all.
    connections: Count = 64
    #: Simultaneous requests to a host without a delay; with a delay it is 1.
    host_connections: Count = 16
    #: Total time for one request.
    timeout_seconds: Positive = 30.0
    #: Time until the response headers have arrived.
    first_byte_seconds: Positive = 10.0
    #: Largest body, before and after decompression.
    max_bytes: Count = 5_000_000
    #: Largest decompressed size, as a multiple of the size sent, above 100 kB.
    max_ratio: Count = 200
    #: Redirects followed in a row, for pages and robots.txt.
    redirects: Count = 5
    #: Take candidates from the sitemaps in robots.txt; needs fetch.robots.
    sitemaps: bool = False
    #: URLs taken from the sitemaps of a host.
    sitemap_urls: Count = 10_000
    #: Hosts and addresses to allow although they are not on the open internet.
    allow: tuple[str, ...] = ()
    #: Hosts (with subdomains), addresses and networks to refuse; overrides fetch.allow.
    deny: tuple[str, ...] = ()
    #: Ports to allow, such as 80 and 443; empty: all but those that browsers block.
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


class JudgeSettings(Section):
    """Reading and judging pages."""

    #: TSV file of URL and category for the judge of categories.
    labels: str | None = None
    #: File of a trained text classifier for the judge of categories.
    classifier: str | None = None
    #: Name of a judge of categories in an installed package.
    python: str | None = None
    #: Time for reading and judging a page; one that needs more is refused.
    seconds: Positive = 60.0
    #: CPU time for that, all threads together.
    cpu_seconds: Count = 15
    #: Memory for a page, beyond what its judges need before their first page.
    memory_bytes: Annotated[int, Field(ge=100_000_000)] = 600_000_000
    #: Distinct words of a page that are used.
    words: Count = 200
    #: Links of a page that are used.
    links: Count = 2000
    #: Words kept on each side of a link.
    context: CountOrNone = 8
    #: Refuse soft 404s.
    soft_404: bool = True
    #: Refuse near-duplicates of judged pages.
    duplicates: bool = True
    #: Least overlap of two near-duplicates.
    likeness: SomeShare = 0.9
    #: Least words of a text that is compared with others.
    least_words: Count = 50


class NewsSettings(Section):
    """News pages, the hubs that lead to them, and the prefixes of their URLs."""

    #: First days of a page's life, in which clicks on news concentrate.
    first_days: Count = 3
    #: Days of clicks to keep.
    window: Count = 60
    #: Concentration of clicks above which a page is news.
    threshold: Positive = 1.91
    #: Clicks a day below which a page is not classified.
    least: NotNegative = 1.0
    #: Number of hub pages, those that lead to the most news.
    hubs: Count = 100
    #: Share of news above which a folder or program is a news prefix.
    share: Share = 0.8
    #: News pages that a news prefix must have; 1 in the paper.
    prefix_least: Count = 3
    #: Pages whose clicks are kept; those with the fewest a day are forgotten first.
    pages: Count = 100_000
    #: Visitors remembered for a day, to count each once a page.
    visitors: Count = 1_000_000
    #: Pairs of linked pages; the pages with the fewest are forgotten first.
    links: Annotated[int, Field(ge=2000)] = 500_000
    #: URLs of hubs to revisit in the mode instant, whatever the log says.
    hubs_given: tuple[str, ...] = ()
    #: News prefixes, whatever the log says, such as example.org/news/ and example.org/view?.
    prefixes_given: tuple[str, ...] = ()
    #: Visits to hubs a minute, all workers together; hubs that bring more get more.
    visits_a_minute: Positive = 30.0
    #: Shortest time between two visits to a hub.
    shortest_seconds: Positive = 60.0
    #: Longest time between two visits to a hub.
    longest_seconds: Positive = 86_400.0
    #: Time between two searches for hubs and prefixes, while the log grows little.
    refresh_seconds: Positive = 300.0

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
