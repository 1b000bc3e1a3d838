"""What must not be kept of a visited URL: tokens, keys, passwords, session identifiers and mail addresses."""

import re
from collections.abc import Iterable
from urllib.parse import unquote

from models.chance import by_chance
from models.one_time import one_time
from models.secret_names import LONG, names_a_secret, plain

_MAIL = re.compile(r"[A-Za-z0-9_+-](?:[A-Za-z0-9._+-]{0,63})@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8}")
#: What stands before a point, from its beginning and possessively: each sign of a text is read once.
_BEFORE_POINT = re.compile(r"(?<![A-Za-z0-9_-])[A-Za-z0-9_-]{11,}+(?=\.[A-Za-z0-9_-]{8})")
_JWT = re.compile(r"eyJ[A-Za-z0-9_-]{8}")
#: A login within a URL that a value holds.
_LOGIN = re.compile(r"//[^/?#\s]{1,200}@")
#: Names of parameters in a value that is a query or URL, and of members in one that is JSON.
_NESTED = re.compile(r"(?:^|[?&;#])([^=?&;#/]{1,64})=|[\"']([^\"'=?&;#/]{1,64})[\"']\s*:")
_SPLIT = re.compile(r"([&;]|%26|%3B)", re.IGNORECASE)
#: A session that ASP.NET writes into the path: "/(S(lit3py55t21z5v55vlm25s55))/page".
_COOKIELESS = re.compile(r"/\((?:[ASF]\([A-Za-z0-9_-]{1,128}\)){1,3}\)(?=/)", re.IGNORECASE)
_DECODED_AT_MOST = 3
_LONG = 16
#: Names in a value at most; whole records of more are not looked through.
_MOST_NESTED = 64
_REMEMBERED = 10_000


class Secrets:
    """Strips canonical URLs; ``more`` are further names of secret parameters.

    A parameter, of the query or of a path segment (";jsessionid=..."), goes with name and value

    - when its name says so (`names_a_secret`) or is one of ``more``, or is one of `LONG` and the value is long;
      case, "-", "_", "." and brackets are of no account;
    - when its value, decoded, looks drawn by chance (`by_chance`), or holds a mail address, a JSON web token, a
      URL with a login, or such a parameter, also as a member of JSON.

    A mail address or a token elsewhere in the path can't be taken out: what is left would be another page.
    Links that do something, or work once (`one_time`), are not to be followed at all.

    >>> strip = Secrets(["ref-code"]).strip
    >>> strip("http://a.org/b;jsessionid=1F?page=2&Access_Token=x&who=me%40a.org&ref_code=7")
    'http://a.org/b?page=2'
    >>> strip("http://a.org/unsubscribe/me@a.org") is None
    True
    """

    def __init__(self, more: Iterable[str] = ()) -> None:
        self._more = frozenset(map(plain, more))
        self._known: dict[str, bool] = {}

    def strip(self, url: str) -> str | None:
        """Return a canonical URL without its secrets, None where it can't be without them or be followed."""
        path, mark, query = url.partition("?")
        if ";" in path or "@" in path or "%" in path or "(" in path or "eyJ" in path:
            path = self._stripped_path(path)
            if _shows(_decoded(path.partition("://")[2])):
                return None
        followed = _decoded(path[path.find("/", path.find("://") + 3) :])
        if one_time(followed, _decoded(query)):
            return None
        kept = self._stripped(query) if mark else ""
        return f"{path}?{kept}" if kept else path

    def _stripped_path(self, path: str) -> str:
        if "(" in path:
            path = _COOKIELESS.sub("", path)
        if ";" not in path and "%3B" not in path:
            return path
        segments = path.split("/")
        for number, segment in enumerate(segments[3:], start=3):
            first, *parameters = re.split(r";|%3B", segment)
            segments[number] = ";".join([first, *(text for text in parameters if not self._secret(text))])
        return "/".join(segments)

    def _stripped(self, query: str) -> str:
        if not ("&" in query or ";" in query or "%" in query):
            return "" if self._secret(query) else query
        pieces = _SPLIT.split(query)
        kept = ""
        for number in range(0, len(pieces), 2):
            piece = pieces[number]
            if not self._secret(piece):
                kept += (pieces[number - 1] if number and kept else "") + piece
        return kept

    def _secret(self, parameter: str) -> bool:
        known = self._known.get(parameter)
        if known is None:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            known = self._known[parameter] = self._found(parameter)
        return known

    def _found(self, parameter: str) -> bool:
        name, _, value = parameter.partition("=")
        if self._named(name) or (len(value) >= _LONG and plain(name) in LONG):
            return True
        text = _decoded(parameter)
        if _shows(text) or by_chance(text):
            return True
        nested = {first or second for first, second in _NESTED.findall(text)}
        return len(nested) > _MOST_NESTED or any(map(self._named, nested))

    def _named(self, name: str) -> bool:
        return names_a_secret(name) or plain(name) in self._more


def _shows(text: str) -> bool:
    """Return whether a text holds a mail address, a login or a JSON web token."""
    if "@" in text and (_MAIL.search(text) or _LOGIN.search(text)):
        return True
    # A token ends before its point: what begins too near to it is none.
    return "eyJ" in text and any(_JWT.search(found) for found in _BEFORE_POINT.findall(text))


def _decoded(text: str) -> str:
    """Return text without percent escapes, though it was escaped again and again."""
    for _ in range(_DECODED_AT_MOST):
        if "%" not in text:
            break
        text = unquote(text)
    return text
