"""What counts of a page when two visits are compared: a digest of its text, and one of its links.

The text is title and main text (`models.page.Page.main`), less what lasts only for a moment: words with digits
(dates, times, counters, versions, session tokens), the names of months and weekdays, words such as "ago" and
"hours", and an "s" at the end of a word ("1 comment", "2 comments"). So a change in numbers alone does not
count, and neither does one in navigation. A change in any other word counts.

A digest of 16 bytes shows every change. A sketch of the text only estimates how far two texts overlap: b-bit
MinHash (Li and König, WWW 2010, section 3) of 1,024 slots of a bit each, in 128 bytes, is the same for one
changed sentence of thirty on recorded pages.
"""

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import TypeAlias

import msgspec

from scentline.models.words import words

#: Bytes of the digests of a text, of links and of a body. Equal digests mean equal content.
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
    """Return the digest of a page's text: the lasting words of ``title`` and ``main`` text, in order.

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
    """Return the key of a page's content: the digest of its text, then that of its body."""
    return text_digest(title, main) + blake2b(body, digest_size=BODY_BYTES).digest()


def changed(before: bytes, now: bytes) -> bool:
    """Return whether the text of ``now`` differs from that of ``before``, which is empty if unknown."""
    return bool(before) and before[:TEXT_BYTES] != now[:TEXT_BYTES]


def _lasting(found: Sequence[str]) -> bytes:
    """Return the lasting words without a final "s", in order, joined by spaces."""
    lasting = [
        word.removesuffix("s")
        for word in found
        if word not in _OF_A_MOMENT and (word.isalpha() or not any(map(str.isdigit, word)))
    ]
    return " ".join(lasting).encode("utf-8", "replace")


#: Bytes by which the answers of an unchanged page may differ: a cache adds headers (Age, X-Cache), a server
#: cookies.
SLACK = 64

Answer: TypeAlias = tuple[float, int]
"""The time of an answer, in seconds since the epoch, and its size in bytes."""

_NONE: Answer = (0.0, 0)


class Sizes(msgspec.Struct, array_like=True, gc=False):
    """Sizes of a page's answers in an access log: a sign whether it changed since it was visited.

    A size that differs from the one at the visit is one sign of a change, however often it is seen: a page
    whose answers all differ may have changed just once. Only the answers that matter are kept, and neither the
    order of answers nor repetition changes which.

    ``at`` is the reference: the last answer until the page was ``visited``, or else the first after it.
    ``last`` is the last after the visit.
    """

    visited: float = 0.0
    at: Answer = _NONE
    last: Answer = _NONE

    def take(self, visited: float, time: float, size: int) -> bool:
        """Apply an answer of a page whose last visit was at ``visited``; return whether it changes anything."""
        before = self.visited, self.at, self.last
        if visited > self.visited:
            self._revisit(visited)
        answer = time, size
        if time <= self.visited:
            if self.at[0] > self.visited or answer > self.at:
                self.at = answer
        else:
            if self.at == _NONE or (self.visited < self.at[0] and answer < self.at):
                self.at = answer
            self.last = max(self.last, answer)
        return (self.visited, self.at, self.last) != before

    def _revisit(self, visited: float) -> None:
        """Apply a new visit: the last answer, unless it came later, becomes the reference."""
        self.visited = visited
        if self.last[0] <= visited:
            self.at, self.last = max(self.at, self.last), _NONE

    @property
    def differ(self) -> bool:
        """Whether the size of the last answer differs from the reference by more than `SLACK`."""
        return self.last != _NONE and abs(self.last[1] - self.at[1]) > SLACK
