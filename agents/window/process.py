"""The window as a process of its own, beside the crawl that starts it."""

import json

from agents.offline.process import ServerProcess
from agents.stored import write_stored
from streams.settings import Settings

#: Within a crawl's directory, what is the window's own; and within that the settings, until it has read them.
DIRECTORY, SETTINGS = "window", "settings"
#: What the window has a use for.
SECTIONS = {
    "data",
    "broker",
    "frontier",
    "learn",
    "fetch",
    "judge",
    "keep",
    "harvest",
    "revisit",
    "news",
    "window",
}


def beside(settings: Settings) -> ServerProcess:
    """Start the window of a crawl; it ends with this process, however that ends.

    Raises `agents.offline.process.ServerProcessError` where it can't be served.
    """
    directory = settings.data / DIRECTORY
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    token = settings.window.token
    told = settings.model_dump(mode="json", include=SECTIONS, exclude_unset=True)
    if token is not None:
        told["window"]["token"] = token.get_secret_value()
    write_stored(directory / SETTINGS, json.dumps(told).encode())
    return ServerProcess("agents.window", [str(directory / SETTINGS)])
