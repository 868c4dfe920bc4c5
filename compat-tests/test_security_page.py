"""The ways from nothing to a secured server, typed as docs/security.md has them: users and TLS, and a real Kerberos."""

from pathlib import Path

from tests.harness import kdc
from tests.harness.document_blocks import PageRun, blocks_of

PAGE = Path(__file__).parents[1] / "docs" / "security.md"
USERS = blocks_of(PAGE, "From nothing to users and TLS")
RIGHTS = blocks_of(PAGE, "Who may do what")


def test_from_nothing_to_users_and_tls(tmp_path: Path) -> None:
    with PageRun(PAGE, tmp_path) as run:
        for block in (*USERS, *RIGHTS):
            run.run(block)
    assert (len(USERS), len(RIGHTS)) == (2, 1)


def test_from_nothing_to_kerberos(realm: kdc.Kdc, tmp_path: Path) -> None:
    """In a folder with what the section before made; its server has ended."""
    with PageRun(PAGE, tmp_path) as run:
        run.run(USERS[0])
    tickets = {"KRB5CCNAME": f"FILE:{tmp_path}/tickets"}
    with PageRun(PAGE, tmp_path, {**realm.environment, **tickets}, kdc.REALM) as run:
        for block in blocks_of(PAGE, "From nothing to Kerberos"):
            run.run(block)
