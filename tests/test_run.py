"""`make test` succeeds only if both of its pytest processes do."""

import pytest

from tests.run import together


@pytest.mark.parametrize(
    ("codes", "code"),
    [
        ((0, 0), 0),
        ((1, 0), 1),
        ((0, 2), 2),
        ((0, -9), 1),
        ((-15, 5), 1),
        ((0, 5), 0),
        ((5, 0), 0),
        ((5, 5), 5),
        ((1, 5), 1),
    ],
)
def test_one_that_failed_was_killed_or_found_nothing(codes: tuple[int, int], code: int) -> None:
    assert together(*codes) == code
