"""Figure 6 as a table: values a second for each tablet server, beside the paper's."""

from collections.abc import Sequence
from typing import Final

from hbtable.shell.bench.measuring import BenchOptions, BenchResult
from hbtable.shell.bench.workloads import PAPER, PAPER_SERVERS

_NAME: Final = 22
_NUMBER: Final = 9


def table(results: Sequence[BenchResult], options: BenchOptions) -> str:
    """Lines without an end of line behind the last."""
    clients = ", ".join(str(one.clients) for one in results)
    lines = [
        f"values of {options.value_bytes} bytes read or written a second, for each tablet server; "
        f"{options.rows} rows a server, clients: {clients}",
        f"{'':{_NAME}}{'here':<{_NUMBER * len(results) + 4}}paper (figure 6)",
        _line("tablet servers", [one.servers for one in results], PAPER_SERVERS),
    ]
    for workload, paper in PAPER.items():
        if all(workload in one.rates for one in results):
            lines.append(_line(workload, [round(one.rates[workload] / one.servers) for one in results], paper))
    return "\n".join(lines)


def _line(name: str, here: Sequence[int], paper: Sequence[int]) -> str:
    numbers = ["".join(f"{number:>{_NUMBER}}" for number in some) for some in (here, paper)]
    return f"{name:<{_NAME - 2}}{'    '.join(numbers)}"
