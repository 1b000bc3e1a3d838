"""Where the command puts its files; another's files are never touched."""

from agents.output_directory import Outputs

#: The tables, as CSV: pages, hubs, prefixes, how well news were told, and the daily clicks that are drawn.
TABLES = ("pages", "hubs", "prefixes", "measures", "daily")
#: The pictures.
PICTURES = ("daily", "concentration")


class Place(Outputs):
    """The output directory of ``scentline news``."""

    command = "news"
    tables = TABLES
    pictures = dict.fromkeys(PICTURES, "png")
