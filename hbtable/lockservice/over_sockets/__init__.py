"""A lock service in another process of this machine: messages over a Unix socket, the session's side and the
service's."""
