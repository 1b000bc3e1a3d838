"""Requests that are no browsing (Baeza-Yates and Castillo 2004, section 4): applications, feeds, attacks."""

import re

#: What does "not respond to the logic of page browsing": mail, content management, shops' carts, feeds and
#: programs' interfaces, by segments of a path without their extension. In lower case, as programs are: an
#: article may be on the Atom.
_SEGMENTS = r"""
    webmail roundcube squirrelmail horde mailman owa
    wp-admin wp-login wp-cron wp-json wp-signup xmlrpc administrator admin login logout signin signup
    phpmyadmin pma mysqladmin cpanel plesk typo3 umbraco
    cart checkout my-account
    feed feeds rss rss2 rdf atom
    api ajax graphql oauth cgi-bin
"""
_APPLICATION = re.compile(
    r"/(?:" + "|".join(_SEGMENTS.split()) + r")(?:\.(?:php\d?|aspx?|jsp|cgi|pl|xml|rdf|html?))?(?:/|\Z)"
)
_FEED = re.compile(r"[?&](?:flav|feed|format)=(?:atom|rss|rdf|feed)", re.IGNORECASE)
#: What is sent to break in: paths out of the site, scripts and SQL in a query, shells, runs that overflow.
_ATTACK = re.compile(
    r"\.\./|%2e%2e|%00|/etc/passwd|/proc/self|<script|%3cscript|union(?:\+|%20)+(?:all(?:\+|%20)+)?select"
    r"|cmd\.exe|root\.exe|default\.ida|/bin/(?:ba)?sh|\$\{jndi|\.(?:env|git|htaccess)(?:/|\Z)"
    r"|(?:%u[0-9a-f]{4}){4}|(.)\1{99}",
    re.IGNORECASE,
)


def unbrowsed(url: str) -> str:
    """Return why a view of a URL is no browsing, "attack" or "application"; empty where it is.

    >>> unbrowsed("http://example.org/wp-login.php"), unbrowsed("http://example.org/blog/feed/")
    ('application', 'application')
    >>> unbrowsed("http://example.org/?page=..%2F..%2F../etc/passwd")
    'attack'
    >>> unbrowsed("http://example.org/login-problems.html")
    ''
    """
    path, _, query = url.partition("://")[2].partition("?")
    if _ATTACK.search(url):
        return "attack"
    return "application" if _APPLICATION.search(path) or (query and _FEED.search(f"?{query}")) else ""
