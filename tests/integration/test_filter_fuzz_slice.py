"""Some of the random filters; `make filter-fuzz` evaluates thousands over cells of up to 64 MB."""

from pathlib import Path

import pytest

from tests.campaigns.filter_fuzz import beside_java, campaign
from tests.harness import java_patterns


@pytest.mark.integration
@pytest.mark.slow
def test_random_filters_give_way_and_answer_as_they_do_alone(tmp_path: Path) -> None:
    assert campaign(25, 20061106, tmp_path, most_bytes=300_000, stretch_seconds=1.0, loud=False) == []


@pytest.mark.integration
@pytest.mark.slow
@pytest.mark.java
@pytest.mark.skipif(not java_patterns.available(), reason="no Java")
def test_random_patterns_through_a_database_answer_as_java(tmp_path: Path) -> None:
    assert beside_java(150, 20061107, tmp_path) == []
