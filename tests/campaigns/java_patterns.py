"""Regular expressions beside java.util.regex: random patterns of the whole grammar over random texts, none of which may
be answered otherwise. A pattern that only one side takes is shown, but for what filters.patterns refuses by name.

    python -m tests.campaigns.java_patterns [--patterns 20000] [--seed N] [--record FILE]

`--record` writes Java's answers to the everyday patterns and some random ones, for the unit tests.
"""

import argparse
import json
import os
import random
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

from hbtable.errors import LimitExceeded
from hbtable.filters.part_search import finder
from tests.harness import java_patterns

Case = tuple[str, list[str]]


def random_cases(seed: int, count: int) -> list[Case]:
    rng = random.Random(seed)
    return [(java_patterns.pattern(rng), java_patterns.texts(rng, 20)) for _ in range(count)]


def everyday_cases() -> list[Case]:
    return [(pattern, list(java_patterns.TEXTS)) for pattern in java_patterns.everyday()]


def verdict(case: Case, java: str) -> tuple[str, str]:
    """(same, refused by name, too slow or different, what differs)."""
    pattern, texts = case
    try:
        find = finder(pattern.encode())
    except ValueError as error:
        if java == "E":
            return "same", ""
        return ("refused by name", "") if "does not support" in str(error) else ("different", f"refused: {error}")
    if java == "E":
        return "different", "Java refuses it"
    slow = 0
    for text, expected in zip(texts, java, strict=True):
        try:
            found = find(text.encode())
        except LimitExceeded:
            slow += 1
            continue
        if expected != "S" and found != (expected == "1"):
            return "different", f"{text!r}: Java {expected}, here {found:d}"
    return ("too slow" if slow else "same"), ""


def run(cases: list[Case]) -> tuple[Counter[str], list[str]]:
    """(how many of each verdict, a message for each difference)."""
    with tempfile.TemporaryDirectory() as folder:
        answers = java_patterns.java_answers(cases, Path(folder))
    counts: Counter[str] = Counter()
    differences = []
    for case, java in zip(cases, answers, strict=True):
        kind, what = verdict(case, java)
        counts[kind] += 1
        if kind == "different":
            differences.append(f"{case[0]!r}: {what}")
    return counts, differences


def record(path: Path) -> None:
    cases = [*everyday_cases(), *random_cases(1, 300)]
    with tempfile.TemporaryDirectory() as folder:
        answers = java_patterns.java_answers(cases, Path(folder))
    said = subprocess.run(["java", "-version"], capture_output=True, text=True, check=True).stderr.splitlines()[0]
    lines = [json.dumps({"java": said, "texts": java_patterns.TEXTS})]
    for (pattern, texts), answer in zip(cases, answers, strict=True):
        line: dict[str, object] = {"pattern": pattern, "answer": answer}
        if texts != list(java_patterns.TEXTS):
            line["texts"] = texts
        lines.append(json.dumps(line))
    path.write_text("\n".join(lines) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--patterns", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "big"))
    parser.add_argument("--record", type=Path)
    arguments = parser.parse_args()
    if arguments.record:
        record(arguments.record)
        return
    print(f"seed {arguments.seed}")
    counts, differences = run([*everyday_cases(), *random_cases(arguments.seed, arguments.patterns)])
    print(dict(counts))
    for difference in differences[:50]:
        print(difference)
    raise SystemExit(1 if differences else 0)


if __name__ == "__main__":
    main()
