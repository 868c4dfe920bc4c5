"""TLS towards NameNodes and DataNodes, for addresses swebhdfs://: every connection has it, and every server has to show
a certificate for the name that it is reached by."""

import ssl

from hbtable.errors import InvalidConfiguration


def client_tls(ca: str) -> ssl.SSLContext:
    """`ca`: webhdfs.ca. InvalidConfiguration."""
    try:
        context = ssl.create_default_context(cafile=ca or None)
    except OSError as error:
        said = error.strerror or error
        raise InvalidConfiguration(
            f"webhdfs.ca = {ca} cannot be used: {said}; name a PEM file with the certificate of the CA that signed "
            "those of HDFS"
        ) from None
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def untrusted(error: OSError) -> str:
    """The cure where a certificate is refused; "" for any other error."""
    if not isinstance(error, ssl.SSLCertVerificationError):
        return ""
    return (
        f"its certificate is not trusted ({error.verify_message}): set webhdfs.ca to the file of its CA's certificate"
    )
