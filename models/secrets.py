"""What must not be kept of a visited URL: tokens, keys, passwords, session identifiers and mail addresses."""

import re
from collections.abc import Iterable
from urllib.parse import unquote

#: Names of parameters that hold a secret or name a person, in lower case, without "-", "_", "." and brackets.
NAMES = frozenset(
    {
        *(
            "auth",
            "authorization",
            "authcode",
            "authkey",
            "bearer",
            "credential",
            "credentials",
            "key",
            "accesskey",
        ),
        *("privatekey", "secretkey", "appkey", "clientkey", "licensekey", "awsaccesskeyid", "googleaccessid"),
        *(
            "signature",
            "sig",
            "hmac",
            "nonce",
            "otp",
            "totp",
            "jwt",
            "sso",
            "saml",
            "samlrequest",
            "samlresponse",
        ),
        *("assertion", "relaystate", "ticket", "csrf", "xsrf", "viewstate", "captcha"),
        *("pw", "pwd", "pass", "passphrase", "passcode", "cvv", "iban", "ssn"),
        *("user", "username", "userid", "uid", "login", "logon", "mail", "emailaddress", "mailaddress"),
        *(
            "telephone",
            "msisdn",
            "firstname",
            "lastname",
            "surname",
            "fullname",
            "birthday",
            "birthdate",
            "dob",
        ),
        *("sid", "cfid", "zenid", "oscsid", "sess", "osid", "xtsid", "visitorid", "clientid", "deviceid"),
        *("gclid", "fbclid", "msclkid", "dclid", "yclid", "mceid", "mkttok"),
    }
)
#: Names that end so are secret too, such as "phpsessid" and "access_token".
ENDINGS = (
    *("token", "secret", "password", "passwd", "session", "sessionid", "sessid", "apikey", "signature"),
    *("credential", "email"),
)
#: Names whose value is a secret where it has 16 characters or more: an authorization code, not a country's.
LONG = frozenset({"code", "hash", "state", "id"})

_NOISE = re.compile(r"[-_.\[\]]")
_MAIL = re.compile(r"[A-Za-z0-9_+-](?:[A-Za-z0-9._+-]{0,63})@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8}")
_JWT = re.compile(r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}")
#: A login within a URL that a value holds.
_LOGIN = re.compile(r"//[^/?#\s]{1,200}@")
_NESTED = re.compile(r"(?:^|[?&;#])([^=?&;#/]{1,64})=")
_SPLIT = re.compile(r"([&;]|%26|%3B)", re.IGNORECASE)
#: A session that ASP.NET writes into the path: "/(S(lit3py55t21z5v55vlm25s55))/page".
_COOKIELESS = re.compile(r"/\((?:[ASF]\([A-Za-z0-9_-]{1,128}\)){1,3}\)(?=/)", re.IGNORECASE)
_DECODED_AT_MOST = 3
_LONG = 16
_REMEMBERED = 10_000


class Secrets:
    """Strips canonical URLs; ``more`` are further names of secret parameters.

    A parameter, of the query or of a path segment (";jsessionid=..."), goes with name and value

    - when its name is one of `NAMES` or ``more``, ends with one of `ENDINGS`, or is one of `LONG` and the value
      is long; case, "-", "_", "." and brackets are of no account;
    - when its value, decoded, holds a mail address, a JSON web token, a URL with a login, or such a parameter.

    A mail address or a token elsewhere in the path can't be taken out: what is left would be another page.

    >>> strip = Secrets(["ref-code"]).strip
    >>> strip("http://a.org/b;jsessionid=1F?page=2&Access_Token=x&who=me%40a.org&ref_code=7")
    'http://a.org/b?page=2'
    >>> strip("http://a.org/unsubscribe/me@a.org") is None
    True
    """

    def __init__(self, more: Iterable[str] = ()) -> None:
        self._names = NAMES | {_plain(name) for name in more}
        self._known: dict[str, bool] = {}

    def strip(self, url: str) -> str | None:
        """Return a canonical URL without its secrets, None where it can't be without them."""
        if not ("?" in url or ";" in url or "@" in url or "%" in url or "(" in url or "eyJ" in url):
            return url
        path, mark, query = url.partition("?")
        if ";" in path or "@" in path or "%" in path or "(" in path or "eyJ" in path:
            path = self._stripped_path(path)
            plain = _decoded(path.partition("://")[2])
            if _MAIL.search(plain) or _JWT.search(plain) or _LOGIN.search(plain):
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
        if self._named(name) or (len(value) >= _LONG and _plain(name) in LONG):
            return True
        plain = _decoded(parameter)
        if _MAIL.search(plain) or _JWT.search(plain) or _LOGIN.search(plain):
            return True
        return any(self._named(name) for name in _NESTED.findall(plain))

    def _named(self, name: str) -> bool:
        plain = _plain(name)
        return plain in self._names or plain.endswith(ENDINGS)


def _plain(name: str) -> str:
    return _NOISE.sub("", _decoded(name) if "%" in name else name).lower()


def _decoded(text: str) -> str:
    """Return text without percent escapes, though it was escaped again and again."""
    for _ in range(_DECODED_AT_MOST):
        if "%" not in text:
            break
        text = unquote(text)
    return text
