"""The informed policy: what it is told of a URL never comes from that URL's own fold."""

import math
from collections.abc import Iterable

import numpy as np
import pytest
from scipy.sparse import csr_array

from scentline.models.page import Link, Page
from scentline.models.url import identifier
from scentline_lab.simulation.baselines.informed import FOLDS, Hindsight, Informed, cross_fitted, logistic
from scentline_lab.simulation.virtual import Terms, virtual_crawl


def site(urls: Iterable[str], hits: Iterable[str]) -> dict[str, Page]:
    """Return a hub that links to pages; the anchor says which are hits."""
    hits = set(hits)
    links = (Link(url, ("ski" if url in hits else "sea",), position=n) for n, url in enumerate(urls))
    hub = Page("http://a.test/hub", links=tuple(links))
    return {hub.url: hub} | {link.url: Page(link.url) for link in hub.links}


URLS = [f"http://a.test/{number}" for number in range(60)]
HITS = frozenset(URLS[::4])


def test_it_takes_the_hits_that_words_of_links_tell_from_the_first_choice_on() -> None:
    pages = site(URLS, HITS)
    crawler = Informed(Hindsight(pages).expected(HITS))
    asked = virtual_crawl(pages, HITS, ["http://a.test/hub"], crawler, Terms(61))
    assert [request.hit for request in asked] == [False] + 15 * [True] + 45 * [False]
    dead = [Link(f"http://a.test/old/{number}", ("ski", "gone"), position=100 + number) for number in range(30)]
    hub = pages["http://a.test/hub"]
    pages[hub.url] = Page(hub.url, links=(*hub.links, *dead))
    expected = Hindsight(pages).expected(HITS)
    assert max(expected[link.url] for link in dead) < min(expected[url] for url in HITS), "a word of dead links"


def test_no_label_teaches_of_itself_or_its_fold() -> None:
    pages = site(URLS, HITS)
    before = Hindsight(pages).expected(HITS)
    for fold in range(FOLDS):
        here = {url for url in URLS if identifier(url)[0] % FOLDS == fold}
        assert here
        # Whatever this fold's labels are, what it is told stays; and what others are told does not.
        after = Hindsight(pages).expected(HITS ^ here)
        assert {url: after[url] for url in here} == {url: before[url] for url in here}
        assert all(after[url] != before[url] for url in before.keys() - here)


def test_where_all_labels_are_alike_they_are_the_probability() -> None:
    texts = csr_array(np.eye(3))
    folds, taught = np.array([0, 1, 2]), np.ones(3, np.bool_)
    assert cross_fitted(texts, np.zeros(3, np.bool_), taught, folds).tolist() == [0, 0, 0]
    assert cross_fitted(texts, taught, taught, folds).tolist() == [1, 1, 1]
    # Rows 0 to 3 have a word and are hits in turn; row 4, of a fold of its own, is not taught.
    labels = np.array([True, False, True, False, True])
    chances = cross_fitted(csr_array(np.ones((5, 1))), labels, np.arange(5) < 4, np.array([0, 0, 1, 1, 2]))
    assert chances[4] == pytest.approx(0.5, abs=1e-6)


def test_the_regression_is_where_its_slope_is_nought() -> None:
    # One word in half the rows: with the penalty 0.1 on it, and none on the bias, at weights w and b, sums of
    # (label - probability) are 0.1 w over the rows with the word, and 0 over all.
    words = np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    labels = np.array([True, True, False, True, False, False])
    weight, bias = logistic(csr_array(words[:, np.newaxis]), labels)
    wrong = labels - 1 / (1 + np.exp(-(weight * words + bias)))
    assert wrong.sum() == pytest.approx(0, abs=1e-4)
    assert (wrong * words).sum() == pytest.approx(0.1 * weight, abs=1e-4)
    assert 0 < weight < 2 * math.log(2)
