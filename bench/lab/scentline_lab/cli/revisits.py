"""``scentline revisits``: how fresh revisits keep the copies of a simulated web, by each policy."""

from typing import TYPE_CHECKING, Annotated

from scentline.agents.cli.app import app, examples
from scentline.agents.cli.output import print_table
from scentline_lab.cli.options import Jobs, OutDirectory, finish, option, processes

if TYPE_CHECKING:
    from scentline_lab.revisits.command import Figures


_VISITS = "Visits a page and day, in the mean."
_RECALL = "Part of the changes that shows in the log."


@app.command(epilog=examples("revisits", "scentline revisits --pages 50 --seeds 1 --out revisits"))
def revisits(
    pages: Annotated[int, option("--pages", "N", "Pages of each web.", min=10)] = 1000,
    visits: Annotated[float, option("--visits", "RATE", _VISITS, min=0.001, max=100)] = 0.1,
    recall: Annotated[float, option("--recall", "PART", _RECALL, min=0, max=0.9)] = 0.5,
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
    from scentline_lab.revisits.command import Options, run

    _print(run(Options(pages, visits, recall, seeds, number), out))
    finish(out)


def _print(found: "list[Figures]") -> None:
    rows = ((each.policy, f"{each.freshness:.3f}", f"{each.least:.3f} to {each.most:.3f}") for each in found)
    print_table(("policy", "freshness", "webs"), rows)
