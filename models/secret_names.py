"""Names of parameters whose values are secret or name a person, in the ways that programs spell them."""

import re
from urllib.parse import unquote

from models.pieces import pieces

#: Names that are told as a whole, in lower case, without "-", "_", "." and brackets.
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
#: Names that end so are secret too, such as "phpsessid" and "access_token".
ENDINGS = (
    *("token", "secret", "password", "passwd", "session", "sessionid", "sessid", "apikey", "signature"),
    *("credential", "email", "verifier", "hmac", "sid", "clid", "clkid", "clickid"),
)
#: Names whose value is a secret where it has 16 characters or more: an authorization code, not a country's.
LONG = frozenset({"code", "hash", "state", "id"})

#: What a name ends with, as a word of its own.
_LAST = frozenset(
    {"tok", "tkn", "sig", "pin", "otp", "pw", "pwd", "psw", "pass", "auth", "cookie", "jwt", "creds"}
)
#: Words after which a telephone's number comes.
_PHONES = frozenset({"phone", "telephone", "tel", "mobile", "cellphone", "msisdn", "fax", "whatsapp"})
_PHONE = re.compile(r"(?:tele|cell|mobile|home|work)?(?:phone|mobile|tel)(?:no|nr|num|number)")
#: Words that end like a key and are none.
_NO_KEYS = (
    *("monkey", "turkey", "hockey", "whiskey", "donkey", "jockey", "lackey", "mickey", "rickey", "smokey"),
    *("turnkey", "malarkey"),
)
#: Words that a name begins with, and what it ends with then, where its value opens something for one person.
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
    """Return a parameter's name in lower case, without escapes and the signs between its words."""
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
