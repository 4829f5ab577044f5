"""Random problems with negative reactions: every interval holds the truth."""

import pytest

from tests.support.helmholtz import campaign


@pytest.mark.parametrize(("d", "count"), [(1, 25), (2, 10), (3, 2)])
def test_random_problems_are_held(d, count):
    found = campaign(20 + d, count, d)
    assert found["missed"] == 0
    assert found["checked"] >= count
    assert d == 3 or found["narrow"] >= found["checked"] // 2
