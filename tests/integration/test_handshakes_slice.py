"""Some hundred half-done handshakes beside a healthy client; `make handshakes` has ten thousand, and bounds its p99."""

from pathlib import Path

import pytest

from tests.campaigns.handshakes import campaign


@pytest.mark.integration
@pytest.mark.verify
def test_half_done_handshakes_leave_others_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import happybase.connection

    monkeypatch.setattr(happybase.connection, "TSocket", happybase.connection.TSocket)
    monkeypatch.setitem(
        happybase.connection.THRIFT_TRANSPORTS, "buffered", happybase.connection.THRIFT_TRANSPORTS["buffered"]
    )
    assert campaign(tmp_path, 300, 1.0, loud=False) > 0
