"""The oracle of crash tests: what each row was promised to hold, and what an unanswered operation may have made of it.

An operation in flight at a crash leaves each of its rows with two allowed states, before and after, each as a whole
row (rows are atomic; a batch is not). Anything else found afterwards is a violation.
"""

RowState = dict[bytes, bytes]


class Promises:
    """The rows of one worker, who does one operation at a time."""

    def __init__(self) -> None:
        self.expected: dict[bytes, RowState] = {}
        self.unanswered: dict[bytes, RowState] = {}
        self.acknowledged = 0

    def state(self, row: bytes) -> RowState:
        return self.expected.get(row, {})

    def begin(self, after: dict[bytes, RowState]) -> None:
        self.unanswered = after

    def answered(self) -> None:
        self.expected.update(self.unanswered)
        self.unanswered = {}
        self.acknowledged += 1

    def verify(self, found: dict[bytes, RowState]) -> list[str]:
        """Messages about what is wrong; adopts what the unanswered operation turned out to have done."""
        wrong = []
        for row in sorted({*found, *self.expected, *self.unanswered}):
            have = found.get(row, {})
            promised = self.expected.get(row, {})
            if have != promised and (row not in self.unanswered or have != self.unanswered[row]):
                wrong.append(
                    f"row {row!r}: promised {short(promised)}, found {short(have)}, "
                    f"unanswered {short(self.unanswered.get(row))}"
                )
            self.expected[row] = have
        self.unanswered = {}
        return wrong


def short(state: RowState | None) -> str:
    return "none" if state is None else str({name: value[:12] for name, value in sorted(state.items())})
