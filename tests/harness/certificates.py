"""The certificates in tests/certificates, valid for a hundred years: a CA, two for servers on this machine, a client's.

ca.pem                        the CA; its key was thrown away
server.pem, server.key        for localhost and 127.0.0.1
renewed.pem, renewed.key      for the same, another subject: CN=renewed
client.pem, client.key        O=Example, CN=ann
locked.key                    server.key with a passphrase

These are of client.key as well, with the same subject:

no-text.pem                   signed by itself, with another name (a DNS name of one byte, 0xff) that is no text
expired.pem                   signed by itself, good until 2021
servers-only.pem              signed by itself, for servers alone (extendedKeyUsage)
of-part.pem                   of part-ca.pem, which is of a root that was thrown away
"""

import shutil
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "certificates"
CA = str(FOLDER / "ca.pem")


def put_certificate(name: str, folder: Path) -> tuple[str, str]:
    """Copies it to `folder` as certificate.pem and key.pem, which nobody else may read: git keeps no such modes."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    for source, target in ((f"{name}.pem", certificate), (f"{name}.key", key)):
        shutil.copyfile(FOLDER / source, target)
        target.chmod(0o600)
    return str(certificate), str(key)


def put_ca(folder: Path, name: str = "ca") -> str:
    """Copies the CA, or one that is its own CA, to `folder`, for a server that asks clients for certificates: a
    checkout may lie in a folder that everybody may change, and what lies there says who comes in."""
    path = folder / "ca.pem"
    shutil.copyfile(FOLDER / f"{name}.pem", path)
    path.chmod(0o600)
    return str(path)
