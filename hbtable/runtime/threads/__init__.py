"""Threads of the system, and the ways between them and the hub's tasks."""
