"""Several webs in one evaluation: the file that names them, and what their results come to together."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from scentline.streams.configuration import ConfigurationError
from scentline.streams.crawl_settings import Count, Section
from scentline.streams.settings import PredicateName
from scentline_lab.evaluate.results import Results
from scentline_lab.evaluate.run import Options
from scentline_lab.evaluate.tables import (
    against_best,
    area,
    area_by_request,
    learned_against,
    log_worth,
    write_comparisons,
    write_webs,
)
from scentline_lab.output import OutputDirectory


class WebSpec(Section):
    """One web of the file: what the options of the command are for one alone.

    ``settings`` are by dotted key. Paths are relative to the current directory.
    """

    archives: tuple[Path, ...]
    logs: tuple[str, ...] = ()
    labels: Path | None = None
    predicates: dict[PredicateName, str]
    policies: tuple[str, ...] = Options.policies
    budget: Count = Options.budget
    starts: Count = Options.starts
    seeds: Count = Options.seeds
    seed_file: Path | None = None
    settings: Mapping[str, Any] = Field(default_factory=dict)

    def options(self) -> Options:
        """Return what an evaluation of this web is given."""
        return Options(
            self.archives,
            self.logs,
            self.policies,
            self.budget,
            self.starts,
            self.seeds,
            seed_file=self.seed_file,
        )

    def overrides(self) -> dict[str, Any]:
        """Return the settings of this web by dotted key; None is one that is not given."""
        predicates = {f"predicates.{name}": text for name, text in self.predicates.items()}
        labels = None if self.labels is None else str(self.labels)
        return {**self.settings, "judge.labels": labels, **predicates}


class _File(Section):
    """What a file of webs holds; their names serve as those of directories."""

    webs: dict[PredicateName, WebSpec]


class WebsOutput(OutputDirectory):
    """The output directory of an evaluation of several webs: its tables, and each web's own directory."""

    command = "evaluate-webs"
    files = ("webs.csv", "comparisons.csv")
    directories = ("webs",)
    others = "files that no evaluation of several webs made"
    earlier = "an earlier evaluation's of several webs"

    def web(self, name: str) -> Path:
        """Return the directory of a web."""
        return self.directory / "webs" / name


def read_webs(path: Path, chosen: Sequence[str] = ()) -> dict[str, WebSpec]:
    """Return the webs of a TOML file by name, those ``chosen`` or all.

    Each is a table ``[webs.NAME]``; keys before the tables stand for all webs that don't say otherwise.
    Raises `streams.configuration.ConfigurationError` for what is no such file, and for a name it has not.
    """
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigurationError(f"--webs {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"--webs {path}: expected TOML: {error}") from error
    tables = found.pop("webs", None)
    if not isinstance(tables, dict) or not tables:
        raise ConfigurationError(f"--webs {path}: expected at least one table [webs.NAME]")
    for name in chosen:
        if name not in tables:
            raise ConfigurationError(f"--web {name}: {path} has {', '.join(tables)}")
    try:
        file = _File.model_validate(
            {"webs": {name: {**found, **_table(table)} for name, table in tables.items()}}
        )
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        raise ConfigurationError(f"--webs {path}: {key}: {first['msg']}") from error
    return {name: spec for name, spec in file.webs.items() if not chosen or name in chosen}


def _table(given: object) -> Mapping[str, Any]:
    return given if isinstance(given, dict) else {"": given}


def write_tables(output: WebsOutput, webs: Mapping[str, Results], random_seed: int) -> None:
    """Write the figures of each policy on each web and on the mean, and policies against each other."""
    results = list(webs.values())
    write_webs(output.table("webs"), webs, random_seed)
    compared = [
        (name, compare(results, random_seed, figure))
        for name, figure in (("auc", area), ("auc_by_request", area_by_request))
        for compare in (against_best, learned_against, log_worth)
    ]
    write_comparisons(output.table("comparisons"), compared)
