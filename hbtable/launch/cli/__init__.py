"""The command line: one file for each command or family of commands."""
