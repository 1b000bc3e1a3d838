"""What of a page counts when two visits are compared: a digest of its text, and one of its links.

The text is that of title and main text (`models.page.Page.main`), without what is true of a moment only: words
with digits, which dates, times, counters, versions and session tokens are made of, the names of months and
weekdays, and words such as "ago" and "hours"; an "s" at the end of a word is none of it, as in "1 comment" and
"2 comments". So a change in numbers alone is none, and neither is one of navigation. Any other word that
changes is a change.

A digest of 16 bytes tells that exactly. A sketch of the text only estimates how far two texts overlap: b-bit
MinHash (Li and König, WWW 2010, section 3) of 1,024 slots of a bit each, in 128 bytes, is the same for one
changed sentence of thirty on recorded pages.
"""

from collections.abc import Iterable, Sequence
from hashlib import blake2b

from scentline.models.words import words

#: Bytes of the digest of a text, of that of links, and of that of a body: equal ones are of one and the same.
TEXT_BYTES, LINKS_BYTES, BODY_BYTES = 16, 8, 8

_MONTHS = """
    january february march april may june july august september october november december
    jan feb mar apr jun jul aug sep sept oct nov dec
    januar jänner februar märz mai juni juli oktober dezember mär okt dez
    janvier février mars avril juin juillet août septembre octobre novembre décembre janv févr avr juil déc
    enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
    gennaio febbraio aprile maggio giugno luglio settembre ottobre dicembre
    janeiro fevereiro março maio junho julho setembro outubro novembro dezembro
    januari februari maart augustus
"""
_WEEKDAYS = """
    monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun
    montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag
    lundi mardi mercredi jeudi vendredi samedi dimanche
    lunes martes miércoles jueves viernes sábado domingo
    lunedì martedì mercoledì giovedì venerdì sabato domenica
    segunda terça quarta quinta sexta feira
    maandag dinsdag woensdag donderdag vrijdag zaterdag zondag
"""
_RELATIVE = """
    ago yesterday today tomorrow now just about an am pm utc gmt
    seconds minute minutes hour hours day days week weeks month months year years
    gestern heute morgen sekunden minuten stunde stunden tag tage tagen woche wochen monat monaten jahr jahren
    hier aujourd hui secondes heure heures jour jours semaine semaines mois ans
    ayer hoy segundos minuto minutos hora horas día días semana semanas mes meses
    ieri oggi minuti ora ore giorno giorni settimana settimane mese mesi ontem hoje dia dias mês
    gisteren vandaag uur dag dagen maanden
"""
_OF_A_MOMENT = frozenset(f"{_MONTHS} {_WEEKDAYS} {_RELATIVE}".split())


def text_digest(title: str, main: Sequence[str]) -> bytes:
    """Return the digest of a page's text: of the words that last, in order, of ``title`` and ``main`` text.

    >>> text_digest("News", ["snows", "3", "minutes", "ago"]) == text_digest("News", ["snows", "today"])
    True
    >>> text_digest("News", words("it snows")) == text_digest("News", words("it rains"))
    False
    """
    return blake2b(b"%b\n%b" % (_lasting(words(title)), _lasting(main)), digest_size=TEXT_BYTES).digest()


def links_digest(urls: Iterable[str]) -> bytes:
    """Return the digest of a set of URLs: those of a page's links outside navigation.

    >>> links_digest(["http://a.org/", "http://b.org/"]) == links_digest(["http://b.org/", "http://a.org/"] * 2)
    True
    """
    return blake2b("\n".join(sorted(set(urls))).encode(), digest_size=LINKS_BYTES).digest()


def content_of(title: str, main: Sequence[str], body: bytes) -> bytes:
    """Return what a page's content is known by: the digest of its text, and then that of its body."""
    return text_digest(title, main) + blake2b(body, digest_size=BODY_BYTES).digest()


def changed(before: bytes, now: bytes) -> bool:
    """Tell whether content ``now`` has another text than ``before``, which is empty where it is unknown.

    >>> old, news = content_of("Old", (), b"<p>1"), content_of("News", (), b"<p>1")
    >>> changed(old, news), changed(news, content_of("News", (), b"<p>2")), changed(b"", news)
    (True, False, False)
    """
    return bool(before) and before[:TEXT_BYTES] != now[:TEXT_BYTES]


def _lasting(found: Sequence[str]) -> bytes:
    """Return the words that are not of a moment, in order, with spaces between."""
    lasting = [
        word.removesuffix("s")
        for word in found
        if word not in _OF_A_MOMENT and (word.isalpha() or not any(map(str.isdigit, word)))
    ]
    return " ".join(lasting).encode("utf-8", "replace")
