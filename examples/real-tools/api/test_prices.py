import pytest

from prices import with_tax


@pytest.mark.parametrize(("rate", "expected"), [(0, 10.0), (19, 11.9)])
def test_with_tax(rate, expected):
    assert with_tax(10, rate) == expected
