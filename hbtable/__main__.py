"""`python -m hbtable start` is the same as `hbtable start`."""

from hbtable.launch.cli.command import main

main(prog_name="hbtable")
