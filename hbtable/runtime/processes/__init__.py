"""Processes beside this one: workers that can be killed, and the signals and deaths that end a process."""
