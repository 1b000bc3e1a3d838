"""What speaks most is found as by sorting everything."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.learner.lifts import strongest

FEATURES = st.lists(
    st.tuples(st.sampled_from([-3.0, -1.0, 0.0, 0.5, 1.0, 3.0]), st.integers(0, 4)), max_size=30
)


@given(FEATURES, st.integers(1, 12), st.booleans())
def test_the_strongest_are_those_that_come_first_where_all_are_sorted(
    features: list[tuple[float, int]], most: int, against: bool
) -> None:
    weights = np.array([weight for weight, _ in features])
    pages = np.array([number for _, number in features], int)
    sign = -1 if against else 1
    expected = sorted(
        (place for place, (weight, number) in enumerate(features) if sign * weight > 0 and number > 0),
        key=lambda place: (-sign * features[place][0], -features[place][1], place),
    )
    assert strongest(weights, pages, most, against=against).tolist() == expected[:most]
