"""Links that do something when they are followed, or that work once, for whom they were made."""

import re
from itertools import pairwise

from models.chance import by_chance
from models.pieces import pieces

_PART = re.compile(r"[=/&;?#]")
_PLAIN = re.compile(r"[^a-z0-9]")
_EXTENSION = re.compile(r"\.[A-Za-z]{2,5}$")
#: Words that name an action wherever they stand, alone or among few.
_ACTIONS = frozenset({
    "logout", "logoff", "signout", "signoff", "unsubscribe", "unsub", "optout", "optin", "unlink", "revoke",
    "endsession", "abmelden", "abbestellen", "desabonner", "deconnexion", "cerrarsesion",
})  # fmt: skip
#: The same of two words or more.
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
#: What is done with a token that comes behind, in the next segment or in the query.
_VERBS = frozenset({
    "reset", "verify", "verification", "validate", "confirm", "confirmation", "activate", "activation",
    "recover", "recovery", "unlock", "accept", "redeem", "claim", "magic",
})  # fmt: skip
#: What a token may follow in a path.
_CARRIERS = _VERBS | _NAMED | {
    "token", "tokens", "invite", "invites", "invitation", "invitations", "session", "sessions", "secret", "key",
    "auth", "register", "join", "otp", "code", "password",
}  # fmt: skip
#: Beyond so many words a segment is a title.
_MOST_WORDS = 3
#: Characters of the name of an action at most.
_LONGEST = 40
#: Letters and digits of a token behind a carrier, and of a code of digits there.
_TOKEN, _CODE = 8, 6
#: Letters and digits of a token that stands alone in a path.
_ALONE = 20
#: Of these a URL has one somewhere, in small letters, or it has no word of the above.
_HINTS = (
    *("out", "off", "subs", "unsub", "opt", "unlink", "revoke", "end", "abmelden", "abbestellen", "abonner"),
    *("connexion", "sesion", "pass", "pw", "verif", "confirm", "activ", "magic", "delete", "invit", "token"),
    *("reset", "valid", "recover", "unlock", "accept", "redeem", "claim", "session", "secret", "key", "auth"),
    *("regist", "join", "otp", "code", "login"),
)


def one_time(path: str, query: str = "") -> bool:
    """Return whether a URL is a link that must not be followed by others.

    ``path`` begins with "/"; it and ``query`` are without percent escapes. It is one

    - with a word for logging out, unsubscribing, resetting, verifying or confirming as a segment of the path,
      or as a name or value of a parameter;
    - with such a verb before what looks like a token or a code, or at the path's end before a query;
    - with a segment that looks drawn by chance and has both cases: who has the link has the page.

    >>> [one_time(path) for path in ("/user/logout.php", "/reset/x9Kq27Lmw0", "/d/1aZq8Lk3Xw92LmQp47RtY")]
    [True, True, True]
    >>> one_time("/verify", "u=7"), one_time("/index.php", "action=logout")
    (True, True)
    >>> [one_time(path) for path in ("/verify", "/how-to-reset-a-password", "/reset/button", "/token/a")]
    [False, False, False, False]
    """
    segments = path.split("/")
    if any(len(segment) >= _ALONE and _capability(segment) for segment in segments):
        return True
    small = f"{path}?{query}".lower()
    if not any(hint in small for hint in _HINTS):
        return False
    if any(map(_does, segments)) or any(map(_does, _PART.split(query))):
        return True
    if query and _plain(_EXTENSION.sub("", segments[-1])) in _VERBS:
        return True
    return any(_plain(first) in _CARRIERS and _token(second) for first, second in pairwise(segments))


def _does(text: str) -> bool:
    """Return whether a segment, name or value of few words is or has the name of an action."""
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
