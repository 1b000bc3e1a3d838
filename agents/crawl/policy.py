"""The policy of a data directory's crawl: figures of two policies must not be taken for one another's."""

from pathlib import Path

from streams.configuration import ConfigurationError

FILE = "policy"


def keep_policy(data: Path, policy: str) -> None:
    """Note the policy of the crawl in the directory ``data``.

    Raises `ConfigurationError` when the crawl there has another one: going on would mix the two.
    """
    kept = data / FILE
    if not kept.exists():
        kept.write_text(f"{policy}\n", encoding="utf-8")
        return
    known = kept.read_text(encoding="utf-8").strip()
    if known != policy:
        raise ConfigurationError(
            f"{data} holds a crawl with the policy {known}: "
            f"give one with the policy {policy} a --data of its own"
        )
