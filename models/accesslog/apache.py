"""Formats described as in Apache's ``LogFormat`` (mod_log_config)."""

import re

from models.accesslog.layout import Field, FormatTextError, Layout, time_fields

#: What the directives tell; those that are known and tell nothing of use are passed over.
_TOLD = {
    **{"a": "client", "h": "client", "u": "user", "r": "request", "m": "method", "U": "url", "q": "query"},
    **{"s": "status", "b": "size", "B": "size", "v": "host", "V": "host", "p": "port"},
}
_PASSED = frozenset("AcCDefHIklLnOPRSTxX")
_HEADERS = {"referer": "referrer", "referrer": "referrer", "user-agent": "agent", "host": "host"}
_MODIFIERS = r"(?:[<>]|!?\d{3}(?:,\d{3})*)*"
_TOKEN = re.compile(rf"([^%]+)|(%{_MODIFIERS}(?:\{{([^}}]*)\}})?(\^[A-Za-z]{{2}}|.?))", re.DOTALL)
_DEFAULT_TIME = "[%d/%b/%Y:%H:%M:%S %z]"
_EPOCHS = {"sec": "epoch", "msec": "epoch milliseconds", "usec": "epoch microseconds"}
_ESCAPES = {r"\"": '"', r"\t": "\t", r"\\": "\\"}


def layout(text: str) -> Layout:
    r"""Return the reader of the lines that a ``LogFormat`` describes; raises `FormatTextError`.

    >>> read = layout(r'%h %l %u %t \"%r\" %>s %b')
    >>> read('192.0.2.7 - - [17/May/2015:10:05:03 +0000] "GET /a HTTP/1.1" 200 5').url
    '/a'
    >>> layout("%h %Q")
    Traceback (most recent call last):
    ...
    models.accesslog.layout.FormatTextError: %Q is no directive of Apache's LogFormat
    """
    text = re.sub(r'\\["t\\]', lambda escape: _ESCAPES[escape[0]], text)
    tokens: list[str | Field] = []
    for literal, written, argument, code in _TOKEN.findall(text):
        if literal or written == "%%":
            tokens.append(literal or "%")
        elif code == "t":
            tokens += _time(argument, written)
        else:
            tokens.append(Field(_name(code, argument, written), written))
    return Layout(_joined(tokens))


def _time(argument: str, written: str) -> list[str | Field]:
    if argument in _EPOCHS:
        return [Field(_EPOCHS[argument], written)]
    if argument == "msec_frac":
        return [Field("thousandths", written)]
    argument = argument.removeprefix("begin:").removeprefix("end:")
    return time_fields(argument or _DEFAULT_TIME, written)


def _name(code: str, argument: str, written: str) -> str:
    if code == "i":
        return _HEADERS.get(argument.lower(), "")
    if code == "o":
        return "type" if argument.lower() == "content-type" else ""
    if code not in _TOLD and code not in _PASSED and not code.startswith("^"):
        raise FormatTextError(f"{written} is no directive of Apache's LogFormat")
    return _TOLD.get(code, "")


def _joined(tokens: list[str | Field]) -> list[str | Field]:
    """Return the tokens with ``%U%q``, which have nothing between them, as one URL."""
    found: list[str | Field] = []
    for token in tokens:
        before = found[-1] if found else ""
        if isinstance(token, Field) and token.name == "query" and isinstance(before, Field):
            found[-1] = Field(before.name, before.written + token.written)
        else:
            found.append(token)
    return found
