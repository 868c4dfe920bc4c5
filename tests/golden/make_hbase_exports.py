"""Makes exports/hbase-exports.tar.xz: a table of a real HBase as its own Export writes it, by each codec that it has
without native libraries, and expected.json, which is the table as Thrift2 gave it. Needs a JDK and Maven.

    python -m tests.golden.make_hbase_exports
"""

import base64
import json
import random
import shutil
import subprocess
import tarfile
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from thriftpy2.rpc import make_client

from tests.campaigns.difffuzz.real_hbase import STARTER
from tests.campaigns.difffuzz.started import running_hbase
from tests.harness.interfaces import interface

NAME: Final = "exported"
FAMILIES: Final = {b"f": 5, b"odd-family.1": 2, b"t": 1}
MORTAL: Final = (b"mortal", 100 * 365 * 86_400_000)
"""A row whose cells have this time to live, in milliseconds."""
ARCHIVE: Final = Path(__file__).with_name("exports") / "hbase-exports.tar.xz"
_COMPRESS: Final = "mapreduce.output.fileoutputformat.compress"
_CODEC: Final = "org.apache.hadoop.io.compress."
_BLOCKS: Final = (f"{_COMPRESS}=true", f"{_COMPRESS}.type=BLOCK", "io.seqfile.compress.blocksize=3000")
EXPORTS: Final = {
    "none": (),
    "record": (f"{_COMPRESS}=true", f"{_COMPRESS}.type=RECORD"),
    "block": _BLOCKS,
    "bzip2": (*_BLOCKS, f"{_COMPRESS}.codec={_CODEC}BZip2Codec"),
    "snappy": (*_BLOCKS, f"{_COMPRESS}.codec={_CODEC}SnappyCodec"),
    "tags": ("hbase.client.rpc.codec=org.apache.hadoop.hbase.codec.KeyValueCodecWithTags",),
    "deletes": ("hbase.mapreduce.include.deleted.rows=true",),
}
_TWO: Final = interface("hbase2")


def fill(client: Any) -> None:
    name = _TWO.TTableName(ns=b"default", qualifier=NAME.encode())
    families = [_TWO.TColumnFamilyDescriptor(name=family, maxVersions=many) for family, many in FAMILIES.items()]
    client.createTable(_TWO.TTableDescriptor(tableName=name, columns=families), [b"row0050"])
    draw = random.Random(7)
    for number in range(100):
        row = b"row%04d" % number if number % 3 else bytes([number, 0, 255]) + b"\xc3\xa9"
        for version in range(1 + number % 5):
            values = [(b"f", b"a", b"value %d of %d" % (version, number)), (b"f", b"", b"")]
            values.append((b"odd-family.1", b"\xff\x00", draw.randbytes(number % 30)))
            put(client, row, values, at=1_700_000_000_000 + 1000 * number + version)
        put(client, row, [(b"t", b"k", b"x" * (number % 200))], at=number)
    put(client, MORTAL[0], [(b"f", b"a", b"not for ever")], {b"_ttl": MORTAL[1].to_bytes(8, "big")}, at=2**62)
    put(client, b"wide", [(b"f", b"%04d" % number, b"%d" % number) for number in range(200)], at=5)
    # Hadoop puts a mark between records behind 100 KB.
    put(client, b"large", [(b"f", b"l", b"z" * 150_000)], at=5)
    columns = [_TWO.TColumn(b"f", b"a", 1_700_000_001_000)]
    client.deleteSingle(NAME.encode(), _TWO.TDelete(row=b"row0001", columns=columns, deleteType=1))


def put(
    client: Any, row: bytes, values: list[tuple[bytes, bytes, bytes]],
    attributes: dict[bytes, bytes] | None = None, *, at: int,
) -> None:  # fmt: skip
    columns = [_TWO.TColumnValue(*value) for value in values]
    client.put(NAME.encode(), _TWO.TPut(row=row, columnValues=columns, timestamp=at, attributes=attributes))


def cells(client: Any) -> list[list[object]]:
    """Row, column, time, value of every version, as text of Base64 where they are bytes."""
    number = client.openScanner(NAME.encode(), _TWO.TScan(maxVersions=100))
    found = [
        [encoded(one.row), encoded(cell.family + b":" + cell.qualifier), cell.timestamp, encoded(cell.value)]
        for one in client.getScannerRows(number, 1000)
        for cell in one.columnValues
    ]
    client.closeScanner(number)
    return found


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, running_hbase(2) as port:
        made = Path(folder, "hbase-exports")
        made.mkdir()
        with closing(make_client(_TWO.THBaseService, "127.0.0.1", port, timeout=120_000)) as client:
            fill(client)
            (made / "expected.json").write_text(json.dumps(cells(client)))
        for name, options in EXPORTS.items():
            more = [word for option in options for word in ("-D", option)]
            subprocess.run([str(STARTER), "export", str(port), NAME, str(made / name), "10", *more], check=True)
        with tarfile.open(ARCHIVE, "w:xz") as archive:
            archive.add(made, made.name)
        shutil.rmtree(made)
    print(ARCHIVE, ARCHIVE.stat().st_size)


if __name__ == "__main__":
    main()
