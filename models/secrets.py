"""Secrets in visited URLs, which must not be kept: tokens, keys, passwords, session ids, mail addresses.

Three signs reveal them: the name of a parameter, a link that works once, and text that looks random.
"""

import re
from collections.abc import Iterable
from itertools import pairwise
from urllib.parse import unquote

_PIECE = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")


def pieces(name: str) -> list[str]:
    """Return the pieces of a name, without the characters between them.

    >>> pieces("resetKey"), pieces("X-Amz-Signature"), pieces("mobile_no2")
    (['reset', 'Key'], ['X', 'Amz', 'Signature'], ['mobile', 'no', '2'])
    """
    return _PIECE.findall(name)


#: Secret names, matched as a whole, in lower case, without "-", "_", "." and brackets.
NAMES = frozenset({
    "auth", "authorization", "authcode", "bearer", "credential", "credentials", "creds", "key",
    "cookie", "awsaccesskeyid", "googleaccessid", "keypairid", "signature", "sig", "hmac", "nonce",
    "otp", "totp", "jwt", "sso", "saml", "samlrequest", "samlresponse", "assertion", "relaystate",
    "ticket", "csrf", "xsrf", "viewstate", "captcha", "tok", "tkn", "pin", "magic", "pw", "pwd", "psw",
    "pass", "passphrase", "passcode", "passwort", "kennwort", "motdepasse", "mdp", "contrasena",
    "senha", "heslo", "haslo", "wachtwoord", "losenord", "cvv", "cvc", "iban", "ssn", "passport",
    "creditcard", "cardnumber", "cardno", "ccnumber", "accountnumber", "user", "username", "userid",
    "uid", "login", "logon", "mail", "emailaddress", "mailaddress", "memberid", "customerid",
    "accountid", "patientid", "employeeid", "studentid", "subscriberid", "recipientid", "telephone",
    "phone", "tel", "mobile", "cell", "fax", "msisdn", "whatsapp", "firstname", "lastname", "surname",
    "fullname", "givenname", "familyname", "birthday", "birthdate", "dateofbirth", "dob", "ipaddress",
    "clientip", "userip", "sid", "cfid", "zenid", "oscsid", "sess", "osid", "xtsid", "visitorid",
    "clientid", "deviceid", "hsenc", "hsmi", "mceid", "mkttok", "veroid", "olyencid", "igshid",
    "lifatid", "gbraid", "wbraid",
})  # fmt: skip
#: Endings of other secret names, such as "phpsessid" and "access_token".
ENDINGS = (
    *("token", "secret", "password", "passwd", "session", "sessionid", "sessid", "apikey", "signature"),
    *("credential", "email", "verifier", "hmac", "sid", "clid", "clkid", "clickid"),
)
#: Names whose value is a secret if it has 16 characters or more: an authorization code, not a country's.
LONG = frozenset({"code", "hash", "state", "id"})

#: Last words of secret names.
_LAST = frozenset(
    {"tok", "tkn", "sig", "pin", "otp", "pw", "pwd", "psw", "pass", "auth", "cookie", "jwt", "creds"}
)
#: Words in the names of telephone numbers.
_PHONES = frozenset({"phone", "telephone", "tel", "mobile", "cellphone", "msisdn", "fax", "whatsapp"})
_PHONE = re.compile(r"(?:tele|cell|mobile|home|work)?(?:phone|mobile|tel)(?:no|nr|num|number)")
#: Words that end in "key" but name none.
_NO_KEYS = (
    *("monkey", "turkey", "hockey", "whiskey", "donkey", "jockey", "lackey", "mickey", "rickey", "smokey"),
    *("turnkey", "malarkey"),
)
#: Beginnings and endings of names whose value opens something for one person.
_OPENED = (
    *(
        "reset",
        "magic",
        "invit",
        "verif",
        "confirm",
        "activat",
        "recover",
        "unlock",
        "login",
        "signin",
        "access",
    ),
    *("security", "auth", "backup", "mfa", "sms", "unsubscribe", "optin", "optout", "referral"),
)
_OPENS = ("code", "hash", "link", "id", "url", "string", "invite", "invitation")
_NOISE = re.compile(r"[-_.\[\]]")


def plain(name: str) -> str:
    """Return a parameter's name in lower case, without escapes and separators."""
    return _NOISE.sub("", unquote(name) if "%" in name else name).lower()


def names_a_secret(name: str) -> bool:
    """Return whether a parameter with this name holds a secret or names a person, whatever its value.

    >>> [names_a_secret(name) for name in ("session_key", "resetKey", "connect.sid", "phone-number", "hockey")]
    [True, True, True, True, False]
    """
    text = plain(name)
    if text in NAMES or text.endswith(ENDINGS) or (text.endswith("key") and not text.endswith(_NO_KEYS)):
        return True
    words = [word.lower() for word in pieces(unquote(name) if "%" in name else name)]
    if words and (words[-1] in _LAST or not _PHONES.isdisjoint(words)):
        return True
    return (text.startswith(_OPENED) and text.endswith(_OPENS)) or _PHONE.fullmatch(text) is not None


_RUN = re.compile(r"[A-Za-z0-9_-]+")
_WHOLE = re.compile(r"[A-Za-z0-9]+")
#: Hexadecimal digests and UUIDs.
_HEXADECIMAL = re.compile(
    r"(?<![0-9A-Za-z])(?:[0-9a-f]{24,}|[0-9A-F]{24,}|[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})"
    r"(?![0-9A-Za-z])"
)
#: Keys with the prefix of a service: Amazon, Slack, GitHub, GitLab, Stripe, Google and others.
_ISSUED = re.compile(
    r"(?<![0-9A-Za-z])(?:(?:AKIA|ASIA)[0-9A-Z]{16}|xox[a-z]-[0-9A-Za-z-]{10}|gh[a-z]_[0-9A-Za-z]{16}"
    r"|glpat-[0-9A-Za-z_-]{16}|[a-z]{2}_(?:live|test)_[0-9A-Za-z]{10}|AIza[0-9A-Za-z_-]{20}|sk-[0-9A-Za-z-]{16})"
)
#: Least letters and digits of a text, and of a part of it without "-" and "_".
LEAST = 16
_LEAST_WHOLE = 10
#: Highest mean length of a token's pieces, a capitalised word being one piece: about 2 in random text, about 4
#: in written text.
_MEAN = 2.7


def by_chance(text: str, least: int = LEAST) -> bool:
    """Return whether a part of ``text`` with ``least`` letters and digits looks random.

    Digits alone and lower-case letters alone never do.

    >>> [by_chance(text) for text in ("kQ3vX9sLm2Zr8TnB", "1e61e7b4c2a84d0f9e0b6a55", "QWxhZGRpbjpvcGVuc2Vz")]
    [True, True, True]
    >>> [by_chance(text) for text in ("ice-hockey-2024-final", "SilverLiningTestApp", "20240101123000456")]
    [False, False, False]
    """
    if len(text) < least:
        return False
    found = _HEXADECIMAL.search(text)
    if found is not None and not found[0].isdigit() and not found[0].isalpha():
        return True
    if _ISSUED.search(text) is not None:
        return True
    return any(_drawn(run, least) for run in _RUN.findall(text) if len(run) >= least)


def _drawn(run: str, least: int) -> bool:
    if run.isdigit() or (run.isalpha() and (run.islower() or run.isupper())):
        return False
    words = pieces(run)
    length = sum(map(len, words))
    whole = max(map(len, _WHOLE.findall(run)), default=0)
    return length >= least and whole >= min(least, _LEAST_WHOLE) and length <= _MEAN * len(words)


_PART = re.compile(r"[=/&;?#]")
_PLAIN = re.compile(r"[^a-z0-9]")
_EXTENSION = re.compile(r"\.[A-Za-z]{2,5}$")
#: Words that name an action, alone or among a few others.
_ACTIONS = frozenset({
    "logout", "logoff", "signout", "signoff", "unsubscribe", "unsub", "optout", "optin", "unlink", "revoke",
    "endsession", "abmelden", "abbestellen", "desabonner", "deconnexion", "cerrarsesion",
})  # fmt: skip
#: The same, of two words or more.
_PAIRS = frozenset({
    "resetpassword", "passwordreset", "pwreset", "pwdreset", "resetpw", "recoverpassword", "passwordrecovery",
    "setpassword", "newpassword", "changepassword", "choosepassword", "verifyemail", "emailverify",
    "emailverification", "verifyaccount", "accountverification", "verifymail", "confirmemail", "emailconfirm",
    "emailconfirmation", "confirmaccount", "accountconfirmation", "confirmsubscription", "confirmregistration",
    "activateaccount", "accountactivation", "useractivation", "magiclink", "magiclogin", "magicsignin",
    "deleteaccount", "acceptinvite", "acceptinvitation", "doubleoptin", "onetimelogin", "loginlink",
    "maillogin", "emaillogin", "unsubscribeme",
})  # fmt: skip
_NAMED = _ACTIONS | _PAIRS
#: Verbs before a token in the next segment or in the query.
_VERBS = frozenset({
    "reset", "verify", "verification", "validate", "confirm", "confirmation", "activate", "activation",
    "recover", "recovery", "unlock", "accept", "redeem", "claim", "magic",
})  # fmt: skip
#: Segments that a token may follow in a path.
_CARRIERS = _VERBS | _NAMED | {
    "token", "tokens", "invite", "invites", "invitation", "invitations", "session", "sessions", "secret", "key",
    "auth", "register", "join", "otp", "code", "password",
}  # fmt: skip
#: Most words of an action; a segment with more is a title.
_MOST_WORDS = 3
#: Most characters of an action's name.
_LONGEST = 40
#: Least letters and digits of a token after a carrier, and least digits of a code there.
_TOKEN, _CODE = 8, 6
#: Least letters and digits of a token that stands alone in a path.
_ALONE = 20
#: A URL that contains none of these, in lower case, has no word of the above.
_HINTS = (
    *("out", "off", "subs", "unsub", "opt", "unlink", "revoke", "end", "abmelden", "abbestellen", "abonner"),
    *("connexion", "sesion", "pass", "pw", "verif", "confirm", "activ", "magic", "delete", "invit", "token"),
    *("reset", "valid", "recover", "unlock", "accept", "redeem", "claim", "session", "secret", "key", "auth"),
    *("regist", "join", "otp", "code", "login"),
)


def one_time(path: str, query: str = "") -> bool:
    """Return whether a URL is a link that only its recipient may follow.

    ``path`` begins with "/"; it and ``query`` have no percent escapes. It is one if it has

    - a word for logging out, unsubscribing, resetting, verifying or confirming as a segment of the path, or as
      a name or value of a parameter;
    - such a verb before a likely token or code, or at the path's end before a query;
    - a segment that looks random and has both cases: the link alone gives access to the page.

    >>> [one_time(path) for path in ("/user/logout.php", "/reset/x9Kq27Lmw0", "/d/1aZq8Lk3Xw92LmQp47RtY")]
    [True, True, True]
    >>> one_time("/verify", "u=7"), one_time("/index.php", "action=logout")
    (True, True)
    >>> [one_time(path) for path in ("/verify", "/how-to-reset-a-password", "/reset/button", "/token/a")]
    [False, False, False, False]
    """
    segments = path.split("/")
    for segment in segments:
        if len(segment) >= _ALONE and _capability(segment):
            return True
    if not _hinted(f"{path}?{query}".lower()):
        return False
    if any(map(_does, segments)) or any(map(_does, _PART.split(query))):
        return True
    if query and _plain(_EXTENSION.sub("", segments[-1])) in _VERBS:
        return True
    return any(_plain(first) in _CARRIERS and _token(second) for first, second in pairwise(segments))


def _hinted(small: str) -> bool:
    for hint in _HINTS:  # noqa: SIM110 - most links have none: half of the time of any()
        if hint in small:
            return True
    return False


def _does(text: str) -> bool:
    """Return whether a segment, name or value of few words is or contains an action's name."""
    if not 2 < len(text) <= _LONGEST:
        return False
    text = _EXTENSION.sub("", text)
    if _plain(text) in _NAMED:
        return True
    words = [word.lower() for word in pieces(text)]
    if len(words) > _MOST_WORDS:
        return False
    return not _ACTIONS.isdisjoint(words) or any(first + second in _NAMED for first, second in pairwise(words))


def _token(text: str) -> bool:
    return (text.isdigit() and len(text) >= _CODE) or by_chance(text, _TOKEN)


def _capability(segment: str) -> bool:
    mixed = any(sign.isupper() for sign in segment) and any(sign.islower() for sign in segment)
    return (
        mixed and any(sign.isdigit() for sign in segment) and "." not in segment and by_chance(segment, _ALONE)
    )


def _plain(text: str) -> str:
    return _PLAIN.sub("", text.lower())


_MAIL = re.compile(r"[A-Za-z0-9_+-](?:[A-Za-z0-9._+-]{0,63})@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8}")
#: The run before a dot, from its start and possessive: each character of a text is read once.
_BEFORE_POINT = re.compile(r"(?<![A-Za-z0-9_-])[A-Za-z0-9_-]{11,}+(?=\.[A-Za-z0-9_-]{8})")
_JWT = re.compile(r"eyJ[A-Za-z0-9_-]{8}")
#: A login in a URL inside a value.
_LOGIN = re.compile(r"//[^/?#\s]{1,200}@")
#: Names of parameters in a value that is a query or URL, and of members in one that is JSON.
_NESTED = re.compile(r"(?:^|[?&;#])([^=?&;#/]{1,64})=|[\"']([^\"'=?&;#/]{1,64})[\"']\s*:")
_SPLIT = re.compile(r"([&;]|%26|%3B)", re.IGNORECASE)
#: A session that ASP.NET writes into the path: "/(S(lit3py55t21z5v55vlm25s55))/page".
_COOKIELESS = re.compile(r"/\((?:[ASF]\([A-Za-z0-9_-]{1,128}\)){1,3}\)(?=/)", re.IGNORECASE)
_DECODED_AT_MOST = 3
_LONG = 16
#: Most names in a value; a value with more is secret unread.
_MOST_NESTED = 64
_REMEMBERED = 10_000


class Secrets:
    """Removes secrets from canonical URLs; ``more`` are further names of secret parameters.

    A parameter, of the query or of a path segment (";jsessionid=..."), is removed with name and value

    - if its name says so (`names_a_secret`) or is one of ``more``, or is one of `LONG` and the value is long;
      case, "-", "_", "." and brackets do not matter;
    - if its decoded value looks random (`by_chance`), or holds a mail address, a JSON web token, a URL with a
      login, or such a parameter, also as a member of JSON.

    A mail address or a token elsewhere in the path can't be removed: the rest would be another page. Links that
    do something, or work once (`one_time`), must not be followed at all.

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
        """Return a canonical URL without its secrets; None if they can't go, or it must not be followed."""
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
    # A token ends before its dot: a match too near to it does not count.
    return "eyJ" in text and any(_JWT.search(found) for found in _BEFORE_POINT.findall(text))


def _decoded(text: str) -> str:
    """Return text without percent escapes, up to `_DECODED_AT_MOST` levels of them."""
    for _ in range(_DECODED_AT_MOST):
        if "%" not in text:
            break
        text = unquote(text)
    return text
