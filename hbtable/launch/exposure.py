"""Refuses to serve other machines without asking who they are, unless somebody said that this is meant."""

import ipaddress
import socket

from hbtable.access.options import AuthOptions
from hbtable.errors import InvalidConfiguration
from hbtable.launch.config.cluster_configuration import ClusterOptions
from hbtable.launch.config.configuration import Configuration
from hbtable.runtime.network.tls import TlsOptions


def refuse_exposed(configuration: Configuration, host: str, key: str, http_port: int) -> None:
    """InvalidConfiguration when others than this machine reach a port at `host` and nobody asks who they are, or the
    answer can be read on the way. `key`: of the configuration. `http_port`: of the pages there, or 0."""
    if is_loopback(host):
        return
    tls, auth = configuration.options("tls", TlsOptions), configuration.options("auth", AuthOptions)
    if not auth.enabled:
        missing = "auth.enabled is not set: whoever can connect could do everything"
    elif not tls.certificate:
        missing = "tls.certificate is not set: passwords and data could be read on the way"
    elif auth.plain_text and not tls.required:
        missing = "auth.plain_text is set without tls.required: passwords could be read on the way"
    elif auth.plain_text and http_port:
        missing = "auth.plain_text is set with an http_port, which has no TLS: passwords could be read on the way"
    else:
        return
    raise InvalidConfiguration(
        f"{key} = {host!r} is more than this machine, and {missing}. docs/security.md says how to set it; --insecure "
        "starts without, as in a network in which everybody may read and write everything"
    )


def refuse_exposed_role(configuration: Configuration, host: str, http_port: int) -> None:
    """As refuse_exposed(), for the ports of a cluster's role, among them the one for the other roles."""
    refuse_exposed(configuration, host, "listen.host", http_port)
    if configuration.options("cluster", ClusterOptions).key or is_loopback(host):
        return
    raise InvalidConfiguration(
        f"listen.host = {host!r} is more than this machine, and cluster.key is not set: whoever reaches the port "
        "for the other roles could do everything. `hbtable cluster-key FILE` makes the key, and docs/security.md says "
        "how a cluster that runs is given it; --insecure starts without, as in a network in which everybody may read "
        "and write everything"
    )


def refuse_exposed_proxy(host: str) -> None:
    """As refuse_exposed(), for a port that has neither TLS nor users, and whose callers are to the servers behind it
    whoever the proxy is."""
    if is_loopback(host):
        return
    raise InvalidConfiguration(
        f"--host {host} is more than this machine, and this port has neither TLS nor users: whoever can connect "
        "could do what the two servers let this command do. Listen on 127.0.0.1 behind a tunnel, or name an address of "
        "a network in which everybody may do that and say --insecure"
    )


def is_loopback(host: str) -> bool:
    """Whether this machine alone reaches a port there. A name counts by all its addresses, and one without an address
    does not."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        pass
    try:
        found = socket.getaddrinfo(host, None) if host else []
    except (OSError, UnicodeError):
        return False
    return bool(found) and all(ipaddress.ip_address(str(one[4][0]).partition("%")[0]).is_loopback for one in found)
