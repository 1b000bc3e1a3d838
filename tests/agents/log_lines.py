"""Lines of access logs, as servers write them."""


def combined(
    url: str = "/a", *, user: str = "-", method: str = "GET", status: int = 200, referrer: str = "-",
    agent: str = "agent", client: str = "192.0.2.7", time: str = "10:05:03",
) -> bytes:  # fmt: skip
    head = f"{client} - {user} [17/May/2015:{time} +0000]"
    return f'{head} "{method} {url} HTTP/1.1" {status} 5 "{referrer}" "{agent}"\n'.encode()


def squid(
    url: str, time: float = 1431857103.0, *, user: str = "-", client: str = "192.0.2.7", size: int = 507,
    result: str = "TCP_MISS/200",
) -> bytes:  # fmt: skip
    return f"{time:.3f} 9 {client} {result} {size} GET {url} {user} HIER_DIRECT/- text/html\n".encode()
