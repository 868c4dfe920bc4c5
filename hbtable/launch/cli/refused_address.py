"""Messages of `hbtable check` and `hbtable repair` about an address in place of a folder."""

from hbtable.errors import InvalidRequest


def refuse_address(path: str) -> None:
    """InvalidRequest for what is no folder of this machine: where a cluster's lock service is must be said, too."""
    if "://" in path:
        raise InvalidRequest(
            f"{path} is a cluster's folder, and its lock service belongs to it: give the configuration file of its "
            "roles instead, with --config FILE"
        )
