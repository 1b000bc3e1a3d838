"""The policy of a data directory's crawl: figures of two policies must not be taken for one another's."""

from pathlib import Path

from streams.configuration import ConfigurationError
from streams.settings import FrontierSettings, Settings

FILE = "policy"


def keep_policy(data: Path, policy: str) -> None:
    """Note the policy of the crawl in the directory ``data``.

    Raises `ConfigurationError` when the crawl there has another one: going on would mix the two.
    """
    known = kept_policy(data)
    if known is None:
        (data / FILE).write_text(f"{policy}\n", encoding="utf-8")
    elif known != policy:
        raise ConfigurationError(
            f"{data} holds a crawl with the policy {known}: "
            f"give one with the policy {policy} a --data of its own"
        )


def kept_policy(data: Path) -> str | None:
    """Return the policy of the crawl in the directory ``data``, None where none was noted."""
    kept = data / FILE
    return kept.read_text(encoding="utf-8").strip() if kept.exists() else None


def of_crawl(settings: Settings) -> Settings:
    """Return the settings with the policy that the crawl in their data directory has."""
    known = kept_policy(settings.data)
    if known is None:
        return settings
    frontier = FrontierSettings.model_validate(settings.frontier.model_dump() | {"policy": known})
    return settings.model_copy(update={"frontier": frontier})
