"""The pictures of the documents are drawn from the texts beside them, and each is shown by a page."""

import re
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.harness.commands import ROOT
from tests.harness.document_blocks import blocks_of
from tests.harness.pictures import FOLDER, RECORDING, drawn, names

PAGES = [Path(ROOT, "README.md"), *Path(ROOT, "docs").rglob("*.md")]
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("name", names())
def test_a_picture_is_as_its_text_has_it(name: str) -> None:
    assert (FOLDER / f"{name}.svg").read_text() == drawn(name), "make pictures"


@pytest.mark.parametrize("name", names())
def test_a_picture_has_all_words_of_its_text_and_is_shown(name: str) -> None:
    words = " ".join(text.text or "" for text in ElementTree.fromstring(drawn(name)).iter(f"{SVG}text")).split()
    if name == RECORDING:
        blocks = " ".join(block.text for block in blocks_of(FOLDER / f"{name}.txt"))
        assert Counter(blocks.split()) <= Counter(words)
    else:
        assert Counter(re.sub("[─-▼►◄]", " ", (FOLDER / f"{name}.txt").read_text()).split()) == Counter(words)
    assert any(f"pictures/{name}.svg)" in page.read_text() for page in PAGES)


def test_a_recording_takes_half_a_minute() -> None:
    style = ElementTree.fromstring(drawn(RECORDING)).iter(f"{SVG}g")
    seconds = {float(each.attrib["style"].split()[1].removesuffix("s")) for each in style}
    assert len(seconds) == 1
    assert 20 < seconds.pop() < 40


def test_nothing_else_lies_there() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {f"{name}.{kind}" for name in names() for kind in ("txt", "svg")}
