"""Where the command puts its files; another's files are never touched."""

from typing import ClassVar

from agents.output_directory import Outputs


class Place(Outputs):
    """The output directory of ``scentline patterns``.

    The tables are the patterns, what the trees came to, coverage over time, traffic, and the orderings.
    """

    command = "patterns"
    tables = ("patterns", "trees", "coverage", "traffic", "orderings", "curves")
    pictures: ClassVar = {"tree": "svg", "coverage": "png", "fetch": "png", "discovery": "png"}
