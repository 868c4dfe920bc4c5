"""The paper's Google Earth (section 8.2): raw imagery by place, made into tiles of all zoom levels by MapReduce.

    earth.py create                  makes the tables
    earth.py load SCENE.pgm          cuts a picture of the whole world into tiles: grey, 64 * 2**ZOOM pixels a side, 0
                                     where it shows nothing (clouds)
    earth.py build [--on dask]       makes the tiles that are served, of this zoom and of all smaller ones
    earth.py list QUADKEY            prints which tiles are there below one ("" is the world), without their pictures
    earth.py view QUADKEY FILE.pgm   writes the picture of a tile

Each takes --port, of an hbtable server on this machine.
"""

import argparse
import sys
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import median_low
from typing import Literal

import pyarrow as pa

import hbtable
from hbtable import mapreduce

SIDE = 64
"""Pixels of a tile: a byte each, row by row."""
Block = tuple[int, int, int, bytes]
"""Left, top and side of a square of pixels in a tile, and the pixels."""
TABLES: dict[str, dict[str, hbtable.FamilyOptions]] = {
    # a column a scene, and few scenes show a place: sparse. The pictures are compressed, so the family is not
    "imagery": {"raw": {"max_versions": 1, "compression": "NONE"}},
    # asked for far more often than pictures, so it stays in memory
    "tiles": {
        "index": {"max_versions": 1, "in_memory": True, "locality_group": "index"},
        "picture": {"max_versions": 1, "compression": "NONE", "locality_group": "pictures"},
    },
}


def quadkey(x: int, y: int, zoom: int) -> str:
    """A digit a level: tiles that are near each other share a prefix, which is the key of the tile that has them all.
    Keys begin with "t", as the world has one, too."""
    return "t" + "".join(str((x >> level & 1) + 2 * (y >> level & 1)) for level in reversed(range(zoom)))


def load(imagery: hbtable.Table, file: Path) -> int:
    """Puts the tiles of a scene that show something; how many."""
    kind, size, depth, pixels = file.read_bytes().split(b"\n", 3)
    width = int(size.split()[0])
    zoom = (width // SIDE).bit_length() - 1
    if (kind, depth) != (b"P5", b"255") or size.split() != [b"%d" % (SIDE << zoom)] * 2 or len(pixels) != width**2:
        raise ValueError(f"{file} is no grey picture (P5) of {SIDE} * 2**ZOOM pixels a side")
    rows, pictures = list[str](), list[bytes]()
    for y in range(1 << zoom):
        for x in range(1 << zoom):
            starts = [(y * SIDE + line) * width + x * SIDE for line in range(SIDE)]
            tile = b"".join(pixels[start : start + SIDE] for start in starts)
            if any(tile):
                rows.append(quadkey(x, y, zoom))
                pictures.append(zlib.compress(tile))
    batches = pa.table({"quadkey": rows, "picture": pa.array(pictures, pa.binary())})
    return imagery.write_arrow(batches, "quadkey", {"picture": f"raw:{file.stem}"})


def cleaned(row: bytes, columns: dict[bytes, bytes]) -> Iterable[tuple[bytes, Block]]:
    """Map: of each pixel the median of the scenes that show it; then this picture, smaller, for each tile above."""
    scenes = [zlib.decompress(picture) for picture in columns.values()]
    pixels = bytes(median_low([pixel for pixel in seen if pixel] or [0]) for seen in zip(*scenes, strict=True))
    mapreduce.count("raw tiles", len(scenes))
    for up in range(len(row)):
        side, left, top = SIDE >> up, 0, 0
        for level, digit in enumerate(reversed(row[len(row) - up :])):
            left += (digit - ord("0") & 1) * (SIDE >> up - level)
            top += (digit - ord("0") >> 1) * (SIDE >> up - level)
        yield row[: len(row) - up], (left, top, side, shrunk(pixels, up))


def shrunk(pixels: bytes, levels: int) -> bytes:
    """Each 2**levels pixels a side as one: their mean, rounded down."""
    step = 1 << levels
    return bytes(
        sum(sum(pixels[line * SIDE + x : line * SIDE + x + step]) for line in range(y, y + step)) // step**2
        for y in range(0, SIDE, step)
        for x in range(0, SIDE, step)
    )


def put_together(row: bytes, blocks: Iterator[Block]) -> Iterable[tuple[bytes, dict[bytes, bytes]]]:
    """Reduce: a tile of its blocks, finer ones over coarser ones. What no scene shows stays 0."""
    tile = bytearray(SIDE * SIDE)
    for left, top, side, pixels in sorted(blocks, key=lambda block: -block[2]):
        for line in range(side):
            start = (top + line) * SIDE + left
            over = zip(pixels[line * side : (line + 1) * side], tile[start : start + side], strict=True)
            tile[start : start + side] = bytes(pixel or below for pixel, below in over)
    picture = zlib.compress(tile)
    seen = len(tile) - tile.count(0)
    index = {"bytes": len(picture), "seen": seen, "grey": sum(tile) // max(seen, 1)}
    columns = {f"index:{name}".encode(): number.to_bytes(8, "big") for name, number in index.items()}
    yield row, {b"picture:": picture, **columns}


def build(db: hbtable.Database, on: Literal["processes", "dask"] = "processes") -> mapreduce.JobResult:
    """Run again, it leaves the same, and with new scenes what all of them show together."""
    return mapreduce.run(db.table("imagery"), cleaned, put_together, db.table("tiles"), on=on)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("create", "load", "build", "list", "view"))
    parser.add_argument("argument", nargs="?", default="", help="a scene, or a quadkey")
    parser.add_argument("file", nargs="?", type=Path, default=Path("tile.pgm"))
    parser.add_argument("--port", type=int, default=9090)
    parser.add_argument("--on", choices=("processes", "dask"), default="processes", help="what runs the tasks")
    given = parser.parse_args()
    with hbtable.connect("127.0.0.1", given.port) as db:
        if given.command == "create":
            for name, families in TABLES.items():
                db.create_table(name, families)
        elif given.command == "load":
            print(f"{load(db.table('imagery'), Path(given.argument))} tiles")
        elif given.command == "build":
            counters = build(db, given.on).counters
            raw = counters.get("raw tiles", 0)  # of no places no task counts any
            print(f"{raw} raw tiles of {counters['map input']} places into {counters['output']}")
        elif given.command == "list":
            types = {"index:bytes": pa.int64(), "index:seen": pa.int64(), "index:grey": pa.int64()}
            for tile in db.table("tiles").to_arrow(types, row_prefix="t" + given.argument).read_all().to_pylist():
                seen = f"{tile['index:seen']} pixels, on average {tile['index:grey']}"
                print(f"{tile['row'].decode()[1:] or 'world'}: {seen}, in {tile['index:bytes']} bytes")
        else:
            picture = db.table("tiles").row("t" + given.argument, ["picture"])[b"picture:"]
            given.file.write_bytes(b"P5\n%d %d\n255\n" % (SIDE, SIDE) + zlib.decompress(picture))


if __name__ == "__main__":  # processes that run tasks import this file
    try:
        main()
    except (hbtable.HbtableError, OSError, ValueError) as error:
        sys.exit(f"earth.py: {error}")
    except KeyError as error:
        sys.exit(f"earth.py: the tile has no {error}")
