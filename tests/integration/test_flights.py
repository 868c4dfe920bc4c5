"""3,000 of the flights, with a small split size; `make verify` loads 30,000 and exports them, `make flights` and
`make transfer` take all of them."""

from pathlib import Path

import pytest

from tests.campaigns import transfer
from tests.campaigns.flights import campaign
from tests.harness.tiers import long_test

pytestmark = [pytest.mark.integration, pytest.mark.slow]


def test_three_thousand_flights_agree_with_the_csv(tmp_path: Path) -> None:
    campaign(rows=3000, split="96 KiB", seed=13, folder=tmp_path)


@long_test("30,000 flights")
def test_thirty_thousand_flights_agree_with_the_csv(tmp_path: Path) -> None:
    campaign(rows=30000, split="2 MiB", seed=13, folder=tmp_path)


@long_test("30,000 flights out and in")
def test_thirty_thousand_flights_go_in_and_come_out_equal(tmp_path: Path) -> None:
    transfer.campaign(rows=30000, workers=3, split="2097152", folder=tmp_path)
