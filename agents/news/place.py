"""Where the command puts its files."""

from agents.lab.output import OutputDirectory

#: The tables, as CSV: pages, hubs, prefixes, how well news were told, and the daily clicks that are drawn.
TABLES = ("pages", "hubs", "prefixes", "measures", "daily")
#: The pictures.
PICTURES = ("daily", "concentration")


class Output(OutputDirectory):
    """The output directory of ``scentline news``."""

    command = "news"
    files = (*(f"{name}.csv" for name in TABLES), *(f"{name}.png" for name in PICTURES))
