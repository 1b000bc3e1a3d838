"""``scentline revisits``: how fresh revisits keep the copies of a simulated web, by each policy."""

from typing import Annotated

from scentline.agents.cli.options import command
from scentline_lab.cli.options import Jobs, OutDirectory, option, processes

_VISITS = option("--visits", "RATE", "Visits a page and day, in the mean.", min=0.001, max=100)
_RECALL = option("--recall", "PART", "Part of the changes that shows in the log.", min=0, max=0.9)


@command("revisits", "scentline revisits --pages 50 --seeds 1 --out revisits")
def revisits(
    pages: Annotated[int, option("--pages", "N", "Pages of each web.", min=10)] = 1000,
    visits: Annotated[float, _VISITS] = 0.1,
    recall: Annotated[float, _RECALL] = 0.5,
    seeds: Annotated[int, option("--seeds", "N", "Number of webs.", min=1)] = 3,
    out: OutDirectory = None,
    jobs: Jobs = None,
) -> None:
    """Crawl simulated webs whose pages change, again and again, and compare how fresh each policy keeps them.

    Works offline, and is the same each time. Freshness is the share of requests for pages whose copy is
    right, after 20 visits a page, during 10 more. Policies: uniform; in proportion to the rates of change; the
    adaptive intervals of Nutch and StormCrawler; what a crawl learns, without and with signals of changes; and,
    for both, the optimum, which knows the rates.
    """
    number = processes(jobs)
    from scentline_lab.revisits.command import Options, show

    show(Options(pages, visits, recall, seeds, number), out)
