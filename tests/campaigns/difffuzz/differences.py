"""One difference of two answers."""

from tests.campaigns.difffuzz.compare import Answer, Found
from tests.campaigns.difffuzz.program import Line
from tests.campaigns.difffuzz.sides import replay


class Difference:
    """At line `at` the answers `h` of HBase and `x` of hbtable; kind and path as compare.difference says. `note`: what
    the model of filters has to say."""

    def __init__(self, at: int, line: Line, found: Found, h: Answer, x: Answer, note: str = "") -> None:
        self.at, self.line, self.h, self.x, self.note = at, line, h, x, note
        self.kind, self.path = found

    def signature(self) -> tuple[str, str, str, str]:
        """What must stay the same when the program gets smaller."""
        of_errors = ("error", "answer", "another type", "another java", "another can", "another code")
        where = self.path if self.kind.startswith(of_errors) else ""
        kind = self.kind.replace("too long", "length").replace("too short", "length")
        return self.line["m"], kind, where, self.note

    def changes_state(self) -> bool:
        method = self.line["m"]
        return method not in replay.SCAN_READS | {"$scan"} and not method.startswith(("get", "isTable"))
