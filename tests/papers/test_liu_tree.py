"""Liu 2011, section 3.1: the syntax-based pattern tree, by hand and on any URLs."""

from collections import Counter
from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.patterns.build import Growth, Syntax, build, entropy
from scentline.models.patterns.tree import PARAMETERS, SEGMENTS, Node, PatternTree, decompose
from tests.cases import each_case

#: Two kinds of pages: ten items by number, in two shops, and three lists.
SHOP = [
    *(f"http://shop.test/{shop}/item/{number}" for shop in ("red", "blue") for number in range(5)),
    *(f"http://shop.test/list?page={number}" for number in range(3)),
]

segments = st.lists(st.sampled_from(["", "x", "y", "z", "1", "2", "p.html", "q.html", "r.txt"]), max_size=3)
queries = st.lists(st.sampled_from(["k=1", "k=2", "l=1", "m"]), max_size=2, unique=True)
urls = st.builds(
    lambda host, path, query: f"http://{host}/{'/'.join(path)}" + (f"?{'&'.join(query)}" if query else ""),
    st.sampled_from(["a.test", "b.test", "www.a.test"]),
    segments,
    queries,
)
sites = st.lists(urls, min_size=1, max_size=25, unique=True)
supports = st.integers(1, 4)


def leaves_of(syntax: Syntax) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for place, leaf in enumerate(syntax.leaf_of.tolist()):
        found.setdefault(syntax.tree.nodes[leaf].name, []).append(place)
    return found


@each_case(
    ("url", "parts"),
    [
        (  # figure 3a
            "https://music.playlist.com:8080/searchbeta/tracks.php?q=love&page=2",
            {"scheme": "https", "host.1": "com", "host.2": "playlist", "host.3": "music", "port": "8080",
             "path.1": "searchbeta", "path.2": "tracks", "extension": "php", "?q": "love", "?page": "2"},
        ),
        ("http://a.test/", {"scheme": "http", "host.1": "test", "host.2": "a", "path.1": ""}),
        ("http://10.1.2.3/x/", {"scheme": "http", "host.1": "10.1.2.3", "path.1": "x", "path.2": ""}),
        ("http://[::1]:81/", {"scheme": "http", "host.1": "[::1]", "port": "81", "path.1": ""}),
        ("http://t/.html?a&a=2", {"scheme": "http", "host.1": "t", "path.1": ".html", "?a": ""}),
        ("http://t/v1.2_final", {"scheme": "http", "host.1": "t", "path.1": "v1.2_final"}),
    ],
)  # fmt: skip
def test_a_url_is_decomposed_into_key_value_pairs(url: str, parts: dict[str, str]) -> None:
    assert decompose(url) == parts


def test_urls_are_split_by_the_most_concentrated_key_first() -> None:
    # Of the 13 URLs ten have "item" as second segment and three have none: entropy .54, as of the third. The
    # parameter is spread wider (three values, once each, and ten times none: .79), as is the first segment.
    syntax = build(SHOP, Growth(support=2))
    root = syntax.tree.nodes[0]
    assert root.key == "path.2"
    assert list(root.children) == [None, "item"]
    assert {name: len(rows) for name, rows in leaves_of(syntax).items()} == {
        "http://shop.test/list?page=**": 3,
        "http://shop.test/blue/item/**": 5,
        "http://shop.test/red/item/**": 5,
    }


def test_a_value_without_support_goes_to_the_rest_and_an_unseen_url_to_the_deepest_node_that_it_matches() -> (
    None
):
    syntax = build([*SHOP, "http://shop.test/green/item/1"], Growth(support=2))
    assert "http://shop.test/*/item/**" in leaves_of(syntax)
    assert named(syntax.tree, "http://shop.test/pink/item/7") == "http://shop.test/*/item/**"
    tree = build(SHOP, Growth(support=2)).tree
    assert named(tree, "http://shop.test/red/item/9999") == "http://shop.test/red/item/**"
    assert named(tree, "http://shop.test/pink/item/7") == "http://shop.test/**/item/**"
    for url in ("http://shop.test/about", "http://elsewhere.test/red/item/1"):
        assert named(tree, url) == tree.nodes[0].name


def named(tree: PatternTree, url: str) -> str:
    return tree.nodes[tree.find(url)].name


@given(sites, supports, st.randoms(use_true_random=False))
def test_urls_are_found_where_they_were_put_in_whatever_order(
    urls: list[str], support: int, random: Random
) -> None:
    syntax, other = build(urls, Growth(support)), build(random.sample(urls, len(urls)), Growth(support)).tree
    found = [syntax.tree.find(url) for url in urls]
    assert found == syntax.leaf_of.tolist() == [other.find(url) for url in urls]
    assert set(found) == set(syntax.tree.leaves)
    names = [node.name for node in syntax.tree.nodes]
    assert names == [node.name for node in other.nodes]
    assert len(set(names)) == len(names)

    def walked(node: Node) -> list[int]:
        return [node.index, *(index for child in node.below() for index in walked(child))]

    nodes = syntax.tree.nodes
    assert [node.index for node in nodes] == walked(nodes[0]) == list(range(len(nodes))), "from top to bottom"
    for node in nodes[1:]:
        assert node.parent is not None
        assert node in nodes[node.parent].below()
        assert node.depth == nodes[node.parent].depth + 1


@given(urls=sites, support=supports)
def test_every_split_is_by_the_most_concentrated_key_that_has_a_value_with_support(
    urls: list[str], support: int
) -> None:
    syntax = build(urls, Growth(support))
    at = [set[str]() for _ in syntax.tree.nodes]
    for url, leaf in zip(urls, syntax.leaf_of.tolist(), strict=True):
        above: int | None = leaf
        while above is not None:
            at[above].add(url)
            above = syntax.tree.parents[above]
    frequent = {
        key for key, count in Counter(k for url in urls for k in decompose(url)).items() if count >= support
    }
    for node in syntax.tree.nodes:
        spread = {key: Counter(decompose(url).get(key) for url in at[node.index]) for key in frequent}
        possible = {
            key: entropy(np.array(list(values.values())))
            for key, values in spread.items()
            if len(values) > 1 and max(values.values()) >= support
        }
        assert (node.key is None) == (not possible)
        if node.key is not None:
            assert possible[node.key] <= min(possible.values()) + 1e-8
            wanted = {value for value, count in spread[node.key].items() if count >= support}
            assert set(node.children) == wanted


def test_a_site_of_fewer_urls_than_make_a_value_is_one_pattern_and_a_star_of_a_url_is_none() -> None:
    tree = build(SHOP[:3], Growth(support=5)).tree
    assert [node.name for node in tree.nodes] == ["http://shop.test/red/item/**"]
    urls = [f"http://t/{folder}/{number}" for folder in "*b" for number in range(3)]
    assert "http://t/%2A/**" in leaves_of(build(urls, Growth(support=3)))


def test_a_tree_stops_growing_at_its_leaves() -> None:
    urls = [f"http://t/{first}/{second}" for first in range(30) for second in range(30)]
    full = build(urls, Growth(support=1))
    assert len(full.tree.leaves) == 900
    small = build(urls, Growth(support=1, leaves=100))
    assert 100 <= len(small.tree.leaves) < 130
    assert [small.tree.find(url) for url in urls] == small.leaf_of.tolist()


def test_hostile_urls_make_no_more_keys_than_are_looked_at() -> None:
    url = "http://t/" + "a/" * 900 + "?" + "&".join(f"k{number}" for number in range(30))
    assert len(decompose(url)) <= 2 + SEGMENTS + PARAMETERS + 1
    urls = [f"http://t/?k{number}=1&k{number + 1}=1&k{number + 2}=1" for number in range(500)]
    tree = build(urls, Growth(support=3)).tree
    assert {node.key for node in tree.nodes if node.key} <= {f"?k{number}" for number in range(502)}
    assert len({node.key for node in tree.nodes}) <= 64
