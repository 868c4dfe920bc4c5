"""Tests of this folder start processes: `make test-quick` leaves them out."""

from pathlib import Path

import pytest

FOLDER = f"{Path(__file__).parent}/"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if str(item.path).startswith(FOLDER):  # a tenth of what a Path's parent takes, 16,000 times
            item.add_marker(pytest.mark.integration)
