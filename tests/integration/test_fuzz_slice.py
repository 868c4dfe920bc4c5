"""Some thousands of the fuzzed messages; `make fuzz` sends a million."""

from pathlib import Path

import pytest

from tests.campaigns.fuzz import in_process, over_sockets
from tests.campaigns.http_fuzz import requests
from tests.campaigns.login_fuzz import logins
from tests.campaigns.tls_fuzz import over_tls
from tests.harness.fresh_seed import fresh_seed


@pytest.mark.integration
def test_broken_messages_in_process() -> None:
    assert in_process(12_000, seed=20061106, loud=False) >= 12_000


@pytest.mark.integration
def test_a_run_of_few_messages_measures_memory_too() -> None:
    assert in_process(0, seed=20061111, loud=False) >= 0
    assert over_tls(0, seed=20061111, loud=False) >= 0


@pytest.mark.integration
@pytest.mark.parametrize("seed", range(5))
def test_a_few_broken_logins_come_in_by_each_way_as_well(seed: int) -> None:
    assert logins(100, seed, loud=False) >= 100


@pytest.mark.integration
def test_broken_logins() -> None:
    assert logins(3_000, seed=20061108, loud=False) >= 3_000


@pytest.mark.integration
def test_odd_requests_of_http() -> None:
    requests(1_000, seed=20061110, loud=False)


@pytest.mark.integration
def test_broken_tls() -> None:
    assert over_tls(3_000, seed=20061109, loud=False) >= 3_000


@pytest.mark.integration
def test_broken_messages_over_sockets(tmp_path: Path) -> None:
    assert over_sockets(2_000, seed=20061107, folder=tmp_path, loud=False, large=100_000) >= 2_000


@pytest.mark.verify
def test_messages_of_a_seed_that_no_run_has_taken() -> None:
    seed = fresh_seed()
    assert in_process(6_000, seed, loud=False) >= 6_000
    assert logins(1_000, seed, loud=False) >= 1_000
    assert over_tls(1_000, seed, loud=False) >= 1_000
    requests(200, seed, loud=False)
