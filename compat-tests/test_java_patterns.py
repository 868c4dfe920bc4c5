"""Regular expressions beside java.util.regex itself: everyday patterns and a seeded slice of `make patterns`."""

import pytest

from tests.campaigns.java_patterns import everyday_cases, random_cases, run
from tests.harness import java_patterns

pytestmark = [
    pytest.mark.java,
    pytest.mark.skipif(not java_patterns.available(), reason="java and javac are not installed"),
]


def test_every_pattern_finds_what_it_finds_in_java() -> None:
    counts, differences = run([*everyday_cases(), *random_cases(20261122, 2000)])
    assert not differences
    assert counts["same"] > 0.97 * counts.total()
