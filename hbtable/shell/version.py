"""The version that the shell says it is, in the form of HBase's line."""

import hashlib
import os
from typing import Final

from hbtable import __version__

_IDL: Final = os.path.join(os.path.dirname(os.path.dirname(__file__)), "idl", "admin.thrift")


def version_line() -> str:
    """Version, a digest of the admin interface this shell speaks, and its date, in the form of HBase's line."""
    from datetime import UTC, datetime

    with open(_IDL, "rb") as file:
        revision = hashlib.sha256(file.read()).hexdigest()[:40]
    date = datetime.fromtimestamp(int(os.path.getmtime(_IDL)), UTC).strftime("%a %b %e %H:%M:%S UTC %Y")
    return f"{__version__}, r{revision}, {date}"
