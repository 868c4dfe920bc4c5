"""What of a typed line is a redirection, and what is data: nothing in a literal may reach a file or a process."""

import io
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hbtable.shell.catalogue import ENTRIES, Catalogue
from hbtable.shell.errors import ArgumentError, ShellError
from hbtable.shell.invocation import ShellOptions, make_session
from hbtable.shell.prompt.paging import PagedStream
from hbtable.shell.prompt.redirection import Redirection, redirection
from hbtable.shell.prompt.specials import Specials

KNOWS = Catalogue().knows


@pytest.fixture
def specials() -> Specials:
    paged = PagedStream(io.StringIO())
    session = make_session(ShellOptions("127.0.0.1:1"), lambda _: False, 80, paged.as_stream())
    return Specials(session, paged)


@pytest.mark.parametrize(
    "text",
    [
        "get 't', 'a|touch X'",
        "put 't', 'r', 'f:q', '<b>'",
        "put 't', 'r', 'f:q', 'a > b'",
        "put 't', 'r', 'f:q', \"a |! b\"",
        "list.each { |t| puts t }",
        "list.each do |t| puts t end",
        "hbase> list",
        "hbase:001:0> list",
        "get 't', 'r', {FILTER => \"ValueFilter(>, 'binary:a|b')\"}",
        "scan 't' # a > b |! c",
        "scan 't', {\nLIMIT => 1 # > x\n}",
        "x = 5 > 4",
        "x > 4",
        "list 'a",
        "put 't', 'r', 'it's > x'",
        "nosuch > file",
        "list; list > file",
    ],
)
def test_data_and_ruby_are_no_redirections(text: str) -> None:
    assert redirection(text, KNOWS) is None


@pytest.mark.parametrize(
    ("text", "sign", "target"),
    [
        ("scan 't' > out.txt", ">", "out.txt"),
        ("scan 't'>out.txt  # kept", ">", "out.txt"),
        ("list >> 'a b'", ">>", "a b"),
        ('list >! "a b"', ">!", "a b"),
        ("get 't', 'a|b' |! grep \"a b\" | wc -l", "|!", 'grep "a b" | wc -l'),
        ("scan 't', {LIMIT => 1,\n  FILTER => \"PrefixFilter('>')\"} > f", ">", "f"),
    ],
)
def test_a_sign_behind_a_command_is_one(text: str, sign: str, target: str) -> None:
    found = redirection(text, KNOWS)
    assert found == Redirection(text[: text.rindex(sign) if sign != "|!" else text.index("|!")], sign, target)


@pytest.mark.parametrize(
    "text",
    [
        "list | grep x",
        "list >",
        "list > a b",
        "list > a > b",
        "list |!",
        "list |! cat\nlist",
        "list |! echo 'x",
        "list > 'x",
    ],
)
def test_a_sign_without_a_target_is_a_mistake(text: str) -> None:
    with pytest.raises(ArgumentError):
        redirection(text, KNOWS)


def test_nothing_is_overwritten_silently(specials: Specials, tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.write_text("before\n")
    with pytest.raises(ShellError, match="is there already"):
        specials.run(f"version > '{there}'")
    assert there.read_text() == "before\n"
    specials.run(f"version >> '{there}'")
    assert there.read_text().startswith("before\n")
    assert len(there.read_text().splitlines()) > 1
    specials.run(f"version >! '{there}'")
    assert "before" not in there.read_text()


def test_a_command_that_fails_leaves_no_file(specials: Specials, tmp_path: Path) -> None:
    with pytest.raises(ShellError, match="no server answers"):
        specials.run(f"list > '{tmp_path / 'new'}'")
    assert list(tmp_path.iterdir()) == []


def test_an_answer_goes_through_a_command(specials: Specials, tmp_path: Path) -> None:
    specials.run(f"version |! grep -c Took > '{tmp_path / 'count'}'")
    assert (tmp_path / "count").read_text() == "1\n"


def test_what_is_open_behind_the_sign_does_not_ask_for_more_lines(specials: Specials) -> None:
    assert specials.whole("list |! grep 'x")
    assert not specials.whole("scan 't', {LIMIT => 1")
    assert not specials.whole("put 't', 'r', 'f:q', 'a > ")


def single(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def double(data: bytes) -> str:
    """As itself where it can be, so that the signs are there to be found."""
    shown = "".join(chr(byte) if 32 <= byte < 127 else f"\\x{byte:02x}" for byte in data)
    return '"' + shown.replace('"', '\\"').replace("#{", "\\#{") + '"'


SIGNS = st.sampled_from(
    [">", "|", "|!", ">>", ">!", "'", '"', "\\", "#", "#{", "{", "}", "[", "(", " ", "\n", "=>", "do |t|"]
)
TEXTS = st.lists(SIGNS | st.text(max_size=3), max_size=8).map("".join)
LITERALS = TEXTS.map(single) | (TEXTS.map(str.encode) | st.binary(max_size=12)).filter(lambda b: b"\\" not in b).map(
    double
)
VALUES = st.recursive(
    LITERALS,
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3).map(lambda found: f"[{', '.join(found)}]")
        | st.lists(inner, min_size=1, max_size=2).map(
            lambda found: "{" + ", ".join(f"FILTER => {one}" for one in found) + "}"
        )
    ),
    max_leaves=4,
)


@given(st.sampled_from(sorted(ENTRIES)), st.lists(VALUES, min_size=1, max_size=4), st.booleans())
def test_nothing_quoted_reaches_a_file_or_a_process(name: str, values: list[str], brackets: bool) -> None:
    arguments = ", ".join(values)
    text = f"{name}({arguments})" if brackets else f"{name} {arguments}"
    assert redirection(text, KNOWS) is None
    assert redirection(f"{text} > out", KNOWS) == Redirection(f"{text} ", ">", "out")


def test_no_process_without_the_explicit_form(
    specials: Specials, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(subprocess, "Popen", never)
    monkeypatch.chdir(tmp_path)
    for text in (
        "get 't', 'a|touch X'",
        "list.each { |t| x }",
        "list.each do |t| x end",
        "hbase> list",
        "version | touch X",
    ):
        try:
            specials.run(text)
        except ShellError:
            pass
    assert list(tmp_path.iterdir()) == []
