"""The configuration: from a file, the environment and the command line to Options dataclasses."""
