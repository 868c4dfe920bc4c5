"""The memory of the processes of `hbtable start --servers N`."""

import pytest

from hbtable.errors import InvalidConfiguration
from hbtable.launch.servers.launcher import _memory_of_each


def test_each_process_gets_its_part() -> None:
    assert _memory_of_each(8 << 30, 4) == 2 << 30


def test_too_small_a_part_is_refused_by_what_the_operator_said() -> None:
    """The processes would refuse it: with a number that nobody set, and each of them."""
    with pytest.raises(
        InvalidConfiguration, match=r"^--servers 40: .* 53687091 bytes of .* = 2147483648 .*start fewer"
    ):
        _memory_of_each(2 << 30, 40)
