"""Secrets leave visited URLs; what is no secret stays as it was."""

from base64 import urlsafe_b64encode
from random import Random
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.secrets import ENDINGS, LONG, NAMES, Secrets
from scentline.models.url import canonical
from tests.cases import each_case


def strip(url: str, *more: str) -> str | None:
    return Secrets(more).strip(url)


@each_case(
    ("url", "left"),
    [
        ("/a?token=x", "/a"), ("/a?page=2&access_token=x&sort=up", "/a?page=2&sort=up"),
        ("/a?PHPSESSID=1f&b=2", "/a?b=2"), ("/a?b=2;sid=1f;c=3", "/a?b=2;c=3"),
        ("/a?X-Amz-Security-Token=x&X-Amz-Signature=y", "/a"), ("/a?api-key=x&APIKEY=y&Api.Key=z", "/a"),
        ("/a?user[password]=x&form[page]=y", "/a?form[page]=y"), ("/a?q=who%3Fme%40example.org", "/a"),
        ("/a?q=me@example.org", "/a"), ("/a?me@example.org", "/a"), ("/a?next=%2Fb%3Ftoken%3Dx&c=1", "/a?c=1"),
        ("/a?next=http%253A%252F%252Fe.org%252F%253Fsid%253Dx", "/a"), ("/a?next=http://me:pw@e.org/", "/a"),
        ("/a?a%26token=x", "/a?a"), ("/a;jsessionid=1F2E", "/a"), ("/a%3Bjsessionid=1F", "/a"),
        ("/a;jsessionid=1F2E/b;v=2;sid=3/c", "/a/b;v=2/c"), ("/a;jsessionid=1F?b=1", "/a?b=1"),
        ("/(S(lit3py55t21z5v55vlm25s55))/a.aspx", "/a.aspx"),
    ],
)  # fmt: skip
def test_secrets_go_and_the_rest_stays(url: str, left: str) -> None:
    assert strip(f"http://e.org{url}") == f"http://e.org{left}"


def test_more_names_can_be_given() -> None:
    assert strip("http://e.org/a?ref_code=7&b=1") == "http://e.org/a?ref_code=7&b=1"
    assert strip("http://e.org/a;REFCODE=7?ref_code=7&b=1", "ref-code") == "http://e.org/a?b=1"


NAMED = """
    token access_token id_token refresh_token auth_token csrf_token session_key sessionkey SharedAccessKey
    SharedAccessSignature subscription-key api_secret_key apiSecretKey reset_key resetKey invite_key
    magic_link magiclink oauth_verifier oauth_token code_verifier psw tok connect.sid phpsessid JSESSIONID
    ASP.NET_SessionId laravel_session sid phone tel mobile phone_number phoneNumber mobileNo tel_no telephone
    cell msisdn whatsapp fax email e-mail mail user_email password passwd pwd pass passwort senha contrasena
    mdp user[password] login username user_name uid key api_key apikey api-key x-api-key appkey access_key
    secret_key private_key encryption_key licence_key license_key ssh_key signing_key sig signature hmac
    X-Amz-Signature X-Amz-Credential X-Goog-Signature AWSAccessKeyId Key-Pair-Id GoogleAccessId otp totp pin
    mfa_code sms_code backup_code verification_code confirm_code confirmation_code activation_code invite_code
    invitation_code reset_code auth_code access_code security_code login_code recovery_code unlock_code invite
    invitation reset_id confirm_id verify_hash reset_hash unsubscribe_id unsubscribe_hash login_link ticket
    SAMLRequest SAMLResponse RelayState assertion jwt bearer authorization cookie nonce gclid fbclid msclkid
    dclid yclid twclid ttclid mc_eid mkt_tok _hsenc _hsmi igshid client_id deviceid visitor_id customer_id
    member_id patient_id first_name last_name full_name dob birthdate ssn iban passport credit_card
    card_number cvv cvc account_number ip_address
"""
VALUES = """
    data=%7B%22token%22%3A%22abc%22%7D q=%7B'password':'x'%7D p=%7B%22user%22:%7B%22email%22:1%7D%7D
    x=k9Xq2Lm7Zr4Tn8Bv x=1e61e7b4c2a84d0f9e0b6a55 r=550e8400-e29b-41d4-a716-446655440000
    v=QWxhZGRpbjpvcGVuIHNlc2FtZQ%3D%3D ref=k9Xq2Lm7Zr4Tn8Bvk9Xq2Lm7Zr4Tn8Bvk9Xq2Lm7Zr4Tn8Bv
    k9Xq2Lm7Zr4Tn8Bvk9Xq2Lm7Zr4Tn8Bv b=https%3A%2F%2Fe.org%2Fr%2F%3Ftok%3Dabc
    u=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2ln x=ghp_16C7e42F292c6912E7710c838347Ae178B4a
    x=sk-proj-Ab12Cd34Ef56Gh78Ij90 x=AKIAIOSFODNN7EXAMPLE
    x=xoxb-17653672481-19874698323-pdFZKVeTuE8sk7oOcHrzqqgy code=4%2F0AY0e-g7X9abcdefgh
    t=glpat-8SbfQ2XwLm7ZrT4nBvKq
"""
ONE_TIME = """
    /logout /user/logout.php /auth/sign-out /signOut /Account/LogOff /unsubscribe /unsubscribe/7
    /newsletter/unsubscribe?u=7 /email/opt-out?id=3 /reset-password/abc /reset-password?x=1
    /password/reset/k9Xq2Lm7Zr4Tn8Bv /users/password/edit?reset_password_token=a /token/k9Xq2Lm7Zr4Tn8Bv
    /verify/123456 /verify-email?x=7 /confirm/k9Xq2Lm7Zr4Tn8Bv /confirm?x=7 /activate?x=1 /activate/7f3a9c2b1d
    /invite/x7Kq9LmZ /magic-link/x /magic/k9Xq2Lm7Zr4Tn8Bv /accept?x=1 /a?action=logout
    /index.php?title=Special:UserLogout /a?logout /a?do=unsubscribe /a?r=user/logout
    /wp-login.php?action=logout /document/d/1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms/edit
    /s/9aZk3LmQ8xW2vB7nC5tR1y /recover/1e61e7b4c2a84d0f9e0b6a55 /session/1e61e7b4c2a84d0f9e0b6a55
    /auth/k9Xq2Lm7Zr4Tn8Bv /oauth/callback/eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMj /one-time-login/7/x
    /confirm_subscription.html /delete-account?id=1 /user/verify%2Demail
    /me@example.org /unsubscribe/me%40example.org/now /confirm/eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMj
"""
HARMLESS = """
    / /a/b.html /a?b=1&c=2 /a?page=2;sort=up /a?monkey=1&design=2&author=me /a;v=1/b /a?code=de /a?state=open
    /a?id=7 /a?q=a%20b /Foo_(bar) /token/a /passwords/list /verify /confirm /reset /how-to-reset-a-password
    /blog/why-people-unsubscribe-from-newsletters /news/2024/05/17/ice-hockey-final-2024
    /wiki/Key_(cryptography) /wiki/Token_ring /wiki/Session_musician /products/iphone-15-pro-max-256gb
    /a?q=hotel+tel+aviv /a?hotel=7 /a?q=how+to+sign+out+of+gmail
    /shop?color=red&size=10&brand=acme&sort_by=price /sessions?track=ai /session/keynote /auth/ /a?keyword=tea
    /a?date=2024-01-01T12:00:00 /a?lat=52.52&lon=13.4050
    /a?utm_source=x&utm_campaign=spring_sale_2024_newsletter /commit/3f786850e387550fdab836ed7e6dc881de23001b
    /articles/c4g8x92k3w1o /a?v=dQw4w9WgXcQ /a?file=report-2020-final-version-2.pdf
    /a?ids=1,2,3,4,5,6,7,8,9,10 /a?t=1700000000000 /inviting-people /code/of/conduct /register /join/us
    /key/features /a?phrase=x /a?stage=9 /a?lang=en-US&theme=dark_blue_2 /a?title=SilverLiningTestApp
    /wiki/E1M1 /a?isbn=978-3-16-148410-0 /a?q=lock+in+syndrome /a?token_count /a?q=@home /a?tokens=7 /@someone
    /a?next=%2Fb%3Fc%3D1 /a%20b
"""


@each_case("name", NAMED.split())
def test_a_parameter_that_says_that_it_is_secret_or_names_a_person_goes(name: str) -> None:
    left = strip(f"http://e.org/a?{name}=7b1&page=2")
    assert left is None or left == "http://e.org/a?page=2"


@each_case("parameter", VALUES.split())
def test_a_value_that_is_secret_goes_whatever_its_name(parameter: str) -> None:
    assert strip(f"http://e.org/a?page=2&{parameter}") == "http://e.org/a?page=2"


@each_case("url", ONE_TIME.split())
def test_a_link_that_acts_works_once_or_is_itself_a_secret_is_not_to_be_followed(url: str) -> None:
    assert strip(f"http://e.org{url}") is None


@each_case("url", HARMLESS.split())
def test_what_only_resembles_a_secret_stays(url: str) -> None:
    assert strip(f"http://e.org{url}") == f"http://e.org{url}"


@each_case("kind", ["hexadecimal", "base64"])
def test_nearly_every_token_is_seen_to_be_drawn_by_chance(kind: str) -> None:
    random = Random(7)
    drawn = [random.randbytes(24) for _ in range(1_000)]
    texts = [data.hex() if kind == "hexadecimal" else urlsafe_b64encode(data).decode() for data in drawn]
    assert sum(strip(f"http://e.org/a?x={text}") == "http://e.org/a" for text in texts) > 980


#: Parts that a hostile URL repeats.
PARTS = """eyJ eyJaaaaaaaa. aB1- //a 'a': a@ //a@ %2525 reset/ logout verif invit&"""


@pytest.mark.timeout(60)
@pytest.mark.parametrize("part", PARTS.split())
def test_a_url_of_one_part_again_and_again_is_read_in_a_time_that_grows_with_it(part: str) -> None:
    text = part * (200_000 // len(part))
    for where in ("", "?", "?x="):
        strip(f"http://e.org/{where}{text}")


PARAMETERS = st.tuples(
    st.sampled_from([*sorted(NAMES), *(f"x_{end}" for end in ENDINGS), *sorted(LONG), "page", "q"]),
    st.text(st.characters(min_codepoint=0x21, max_codepoint=0x2FF), max_size=20),
    st.booleans(),
)


@given(st.lists(PARAMETERS, max_size=6), st.sampled_from("&;"))
def test_no_secret_is_left_and_the_result_stays(parameters: list[tuple[str, str, bool]], mark: str) -> None:
    planted = "SeCr3tVaLuE-0123456789"
    query = mark.join(
        f"{name.upper() if upper else name}={planted if name not in ('page', 'q') else quote(value)}"
        for name, value, upper in parameters
    )
    url = canonical(f"http://e.org/a?{query}")
    assert url is not None
    left = strip(url)
    assert left is not None
    assert planted not in left
    assert canonical(left) == left
    assert strip(left) == left
