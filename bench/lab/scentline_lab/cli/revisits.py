"""``scentline revisits``: how fresh revisits keep the copies of a simulated web, by each policy."""

from typing import Annotated

from scentline.agents.cli.options import command
from scentline_lab.cli import Jobs, OutDirectory, option, processes


@command("revisits", "scentline revisits --pages 50 --seeds 1 --out revisits")
def revisits(
    pages: Annotated[int, option("--pages", "N", "Pages of each web.", min=10)] = 1000,
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
    from scentline_lab.revisits import show

    show(pages, seeds, number, out)
