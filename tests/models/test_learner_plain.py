"""Each input of the learned policy has a plain name."""

from scentline.models.learner.plain import PLAIN
from scentline.models.learner.semantic import inputs_with


def test_every_input_has_a_plain_name_of_its_own_and_a_sentence() -> None:
    names = [entry.name for entry in inputs_with(meaning=True)]
    assert sorted(PLAIN) == sorted(names)
    assert len({plain.name for plain in PLAIN.values()}) == len(PLAIN)
    assert all(plain.means.endswith(".") and len(plain.means) < 120 for plain in PLAIN.values())
