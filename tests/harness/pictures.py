"""The pictures of the documents: docs/pictures/*.svg, each from the text of the same name beside it.

    make pictures     draws them; a test fails while they are not as the texts have them

A text of box-drawing characters becomes lines and words on a grid. recording.txt, blocks as of the manual's pages,
becomes a terminal in which the lines appear one after the other; tests/integration/test_documents.py runs those blocks.
"""

import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Final

from tests.harness.commands import ROOT
from tests.harness.document_blocks import blocks_of

FOLDER: Final = Path(ROOT, "docs", "pictures")
RECORDING: Final = "recording"
_WIDE: Final = 8.4
_HIGH: Final = 18
_MARGIN: Final = 12
_ARMS: Final = {
    "─": "lr", "│": "ud", "┌": "rd", "┐": "ld", "└": "ru", "┘": "lu", "├": "udr", "┤": "udl", "┬": "lrd", "┴": "lru",
    "┼": "lrud", "▼": "u", "▲": "d", "►": "l", "◄": "r",
}  # fmt: skip
_ENDS: Final = {"l": (-0.5, 0.0), "r": (0.5, 0.0), "u": (0.0, -0.5), "d": (0.0, 0.5)}
_HEADS: Final = {"▼": "-4-7h8l-4 8z", "▲": "-4 7h8l-4-8z", "►": "-5-4v8l8-4z", "◄": "5-4v8l-8-4z"}
_WORD: Final = re.compile(rf"[^ {''.join(_ARMS)}]+(?: [^ {''.join(_ARMS)}]+)*")
_SECONDS: Final = {"$": 2.2, ">": 1.5}
"""Before a line that is typed."""
_PRINTED_SECONDS: Final = 0.25
_LAST_SECONDS: Final = 6.0
_LIGHT: Final = "rect{fill:#fff;stroke:#ccc}text{fill:#222}path{fill:none;stroke:#557}.head{fill:#557;stroke:none}"
_DARK: Final = "rect{fill:#1b1f24}text{fill:#c9d1d9}.typed{fill:#fff}.prompt{fill:#7ee787}"


def drawn(name: str) -> str:
    """The SVG of the text with this name."""
    path = FOLDER / f"{name}.txt"
    return _terminal(list(_lines_of_the_terminal(path))) if name == RECORDING else _picture(path.read_text())


def _picture(text: str) -> str:
    lines = text.splitlines()
    path = "".join(
        _segment(x, y, arm) for y, line in enumerate(lines) for x in range(len(line)) for arm in _arms(line, x)
    )
    parts = [f'<path d="{path}"/>']
    for y, line in enumerate(lines):
        parts += [
            f'<path class="head" d="M{_x(x)} {_y(y)}m{_HEADS[sign]}"/>' for x, sign in enumerate(line) if sign in _HEADS
        ]
        parts += [_words(word.start() * _WIDE + _MARGIN, y, word[0]) for word in _WORD.finditer(line)]
    return _svg(max(map(len, lines)), len(lines), _LIGHT, parts)


def _arms(line: str, x: int) -> str:
    """Those of the sign there; where an arrow ends in the edge of a box, those of the edge as well."""
    arms = _ARMS.get(line[x], "")
    if line[x] in "▼▲":
        arms += "l" * ("r" in _ARMS.get(line[x - 1 : x], "")) + "r" * ("l" in _ARMS.get(line[x + 1 : x + 2], ""))
    return arms


def _segment(x: int, y: int, arm: str) -> str:
    """From the middle of a place on the grid to its edge."""
    right, down = _ENDS[arm]
    return f"M{_x(x)} {_y(y)}" + (f"h{right * _WIDE:g}" if right else f"v{down * _HIGH:g}")


def _x(column: int) -> str:
    return f"{(column + 0.5) * _WIDE + _MARGIN:g}"


def _y(line: int) -> str:
    return f"{(line + 0.5) * _HIGH + _MARGIN:g}"


def _words(x: float, line: int, text: str, kind: str = "") -> str:
    """Exactly as wide as its places on the grid, whatever font there is."""
    name = f' class="{kind}"' if kind else ""
    y, width = line * _HIGH + _MARGIN + 13, len(text) * _WIDE
    return f'<text{name} x="{x:g}" y="{y}" textLength="{width:g}" xml:space="preserve">{escape(text)}</text>'


def _lines_of_the_terminal(path: Path) -> Iterator[tuple[str, str]]:
    """(prompt, text); what is printed has no prompt."""
    in_python = False
    for block in blocks_of(path):
        if in_python != (block.language in ("python", "output")):
            yield ("$", "python") if not in_python else (">>>", "exit()")
            in_python = not in_python
        for line in block.text.splitlines():
            if block.language == "python":
                yield ">>>", line
            elif block.language == "console" and line.startswith("$ "):
                yield "$", line[2:]
            else:
                yield "", line


def _terminal(lines: list[tuple[str, str]]) -> str:
    """Plays in a circle, and shows everything to who wants no motion."""
    at, seconds = [], 0.0
    for prompt, _ in lines:
        seconds += _SECONDS.get(prompt[:1], _PRINTED_SECONDS)
        at.append(seconds)
    whole = seconds + _LAST_SECONDS
    parts, moves = [], []
    for number, (prompt, text) in enumerate(lines):
        begin = 100 * at[number] / whole
        moves.append(f"@keyframes l{number}{{0%,{begin:.2f}%{{opacity:0}}{begin + 0.01:.2f}%,100%{{opacity:1}}}}")
        shown = _words(_MARGIN, number, prompt, "prompt") if prompt else ""
        indent = (len(prompt) + 1) * _WIDE if prompt else 0.0
        shown += _words(_MARGIN + indent, number, text, "typed" if prompt else "")
        parts.append(f'<g style="animation:l{number} {whole:.1f}s infinite">{shown}</g>')
    still = "@media(prefers-reduced-motion:reduce){g{animation:none!important}}"
    widest = max(len(prompt) + 1 + len(text) for prompt, text in lines)
    return _svg(widest, len(lines), _DARK + "".join(moves) + still, parts)


def _svg(columns: int, lines: int, style: str, parts: list[str]) -> str:
    width, height = columns * _WIDE + 2 * _MARGIN, lines * _HIGH + 2 * _MARGIN
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
            f'height="{height:g}" font-family="DejaVu Sans Mono,Menlo,Consolas,monospace" font-size="14">',
            f"<style>{style}</style>",
            f'<rect width="{width:g}" height="{height:g}" rx="8"/>',
            *parts,
            "</svg>\n",
        ]
    )


def names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.txt"))


if __name__ == "__main__":
    for each in names():
        (FOLDER / f"{each}.svg").write_text(drawn(each))
