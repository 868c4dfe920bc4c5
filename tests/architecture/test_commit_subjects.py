"""Commit messages since this rule exists: a subject that says one thing, with the package first, and a body."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LAST_BEFORE = "e92ed37ba6cd"
SUBJECT = re.compile(r"[a-z][\w.\-/]*(, [\w.\-/]+)*: \S")


def messages() -> list[tuple[str, str]]:
    """(subject, body) of each commit since, newest first; nothing where there is no history to read."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("this is no checkout of git")
    command = ["git", "-C", str(ROOT), "log", "--no-merges", "--format=%s%x00%b%x01", f"{LAST_BEFORE}..HEAD"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"the history is not all here: {done.stderr.strip()[:200]}")
    parts = (entry.strip("\n").partition("\0") for entry in done.stdout.split("\x01"))
    return [(subject, body) for subject, _, body in parts if subject]


def test_subjects_name_the_package_and_say_one_thing() -> None:
    for subject, body in messages():
        assert len(subject) <= 72, f"{subject!r} has {len(subject)} characters; what does not fit is the body's"
        assert SUBJECT.match(subject), f"{subject!r}: package first, as in 'master: move tablets one by one'"
        assert not subject.endswith("."), f"{subject!r}: a subject ends without a full stop"
        assert body.strip(), f"{subject!r} has no body: what was wrong, what is now, why, how it was seen"
