"""The site that a command is told by ``--site``: the same for every command that reads a log."""

from scentline.models.url import canonical, host
from scentline.streams.configuration import ConfigurationError
from scentline.streams.settings import ObserveSettings

#: What to do where a log has no page view: the end of an error.
HINT = "if lines have only paths, name their site: --site example.org"


class Site:
    """The host of a canonical URL, whatever its port, and those beneath it; `base` is where its paths begin.

    >>> site = Site("https://example.org:8443/a")
    >>> site.host, site.base
    ('example.org', 'https://example.org:8443')
    >>> site.holds("http://www.example.org/a"), site.holds("http://notexample.org/")
    (True, False)
    """

    def __init__(self, url: str) -> None:
        self.host = _without_port(host(url))
        self.base = "/".join(url.split("/", 3)[:3])

    def holds(self, url: str) -> bool:
        """Return whether a canonical URL is of the site."""
        name = _without_port(host(url))
        return name == self.host or name.endswith(f".{self.host}")


def site_named(text: str) -> Site:
    """Return the site of a host; raises `streams.configuration.ConfigurationError` for another text.

    It may have the scheme of the site's pages before it, which is http otherwise.

    >>> site_named("Example.org").base, site_named("https://example.org").base
    ('http://example.org', 'https://example.org')
    """
    scheme, separator, name = text.rpartition("://")
    url = None if set(name) & set("/\\?#") else canonical(f"{scheme if separator else 'http'}://{name}/")
    if url is None or host(url) != _without_port(host(url)):
        raise ConfigurationError(f"--site {text!r}: expected a host, such as example.org")
    return Site(url)


def observed(settings: ObserveSettings, site: Site | None) -> ObserveSettings:
    """Return the settings by which a log's paths are those of the site, as they are where there is none."""
    return settings.model_copy(update={"base_url": base_url(site, settings.base_url)})


def base_url(site: Site | None, setting: str | None) -> str | None:
    """Return where a log's paths belong, None where that is not known.

    The setting ``observe.base_url`` holds where it is of the site: it may say more, such as the scheme.
    """
    known = None if setting is None else canonical(setting)
    if site is None or (known is not None and site.holds(known)):
        return setting
    return site.base


def _without_port(name: str) -> str:
    before, _, port = name.rpartition(":")
    return before if before and port.isdigit() else name
