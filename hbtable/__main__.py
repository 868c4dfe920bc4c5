"""`hbtable start`, and `python -m hbtable start`, which is the same."""

import gc
from typing import Final

from hbtable.launch.standard_streams import open_closed_streams

_IMPORTED_OBJECTS: Final = 200_000
"""More than any command's modules make, and next to none of them is garbage. Python's own 700 had its collector look at
all of them 150 times, a tenth of the processor's time until a server is ready. A server says later what it wants
(launch/process.py). Another command looks after so many new objects that stay, some 20 MB."""


def main() -> None:
    """The console script of setup.cfg."""
    gc.set_threshold(_IMPORTED_OBJECTS, *gc.get_threshold()[1:])
    open_closed_streams()
    from hbtable.launch.cli.command import main as command

    command(prog_name="hbtable")


if __name__ == "__main__":
    main()
