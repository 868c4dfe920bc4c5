"""examples/earth beside plain Python over a happybase scan of the raw imagery."""

import random
import runpy
import zlib
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from tests.harness.commands import ROOT, run_example
from tests.harness.tiers import long_marks
from tests.harness.warm_server import WarmServer

Columns = dict[bytes, bytes]
World = dict[tuple[int, int], int]
"""Pixels by place; one that nobody sees is missing."""
SIDE, ZOOM = 64, 2


@pytest.fixture
def server(tmp_path: Path) -> Iterator[WarmServer]:
    with WarmServer(tmp_path / "data", ["log.durability=os"]) as server:
        yield server


def write_scene(file: Path, seed: int) -> None:
    """With clouds: squares, of which some hide a whole tile."""
    chance, width = random.Random(seed), SIDE << ZOOM
    clouds = {(x, y) for x in range(8) for y in range(8) if chance.random() < 0.3 or (x < 4 and y < 2 + seed % 2)}
    noise = chance.randbytes(width)
    pixels = bytearray()
    for y in range(width):
        pixels += bytes(0 if (x // 32, y // 32) in clouds else noise[(x * 7 + y * 3) % width] for x in range(width))
    file.write_bytes(b"P5\n%d %d\n255\n" % (width, width) + pixels)


def place_of(key: bytes) -> tuple[int, int]:
    """The tile's left upper corner, in tiles of its level."""
    digits = key.decode()[1:]
    x = int("".join("01"[digit in "13"] for digit in digits) or "0", 2)
    return x, int("".join("01"[digit in "23"] for digit in digits) or "0", 2)


def seen_world(raw: dict[bytes, Columns]) -> World:
    seen: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    for key, scenes in raw.items():
        left, top = place_of(key)
        for picture in scenes.values():
            for at, pixel in enumerate(zlib.decompress(picture)):
                if pixel:
                    seen[left * SIDE + at % SIDE, top * SIDE + at // SIDE].append(pixel)
    return {place: sorted(pixels)[(len(pixels) - 1) // 2] for place, pixels in seen.items()}


def expected_tiles(raw: dict[bytes, Columns]) -> dict[bytes, bytes]:
    world, found = seen_world(raw), {}
    for key in {lowest[:end] for lowest in raw for end in range(1, len(lowest) + 1)}:
        step = 1 << ZOOM + 1 - len(key)
        left, top = (place * SIDE * step for place in place_of(key))
        tile = bytearray()
        for y in range(top, top + SIDE * step, step):
            for x in range(left, left + SIDE * step, step):
                tile.append(sum(world.get((x + i, y + j), 0) for i in range(step) for j in range(step)) // step**2)
        found[key] = bytes(tile)
    return found


@pytest.mark.parametrize(
    "on",
    [
        pytest.param("processes", marks=long_marks("earth in processes")),
        pytest.param("dask", marks=long_marks("earth on Dask")),
    ],
)
def test_tiles_of_all_levels_are_those_of_plain_python(server: WarmServer, tmp_path: Path, on: str) -> None:
    port = ["--port", str(server.port)]
    run_example("earth", "create", *port)
    assert run_example("earth", "build", "--on", on, *port) == "0 raw tiles of 0 places into 0\n"
    for seed in range(3):
        write_scene(tmp_path / f"scene{seed}.pgm", seed)
        run_example("earth", "load", str(tmp_path / f"scene{seed}.pgm"), *port)
    told = run_example("earth", "build", "--on", on, *port)
    with closing(server.connect()) as connection:
        raw, tiles = dict(connection.table("imagery").scan()), dict(connection.table("tiles").scan())
        families = connection.table("tiles").families()
    assert families[b"index"]["in_memory"]
    expected = expected_tiles(raw)
    assert {key: zlib.decompress(columns[b"picture:"]) for key, columns in tiles.items()} == expected
    assert len(raw) < 16 < len(expected) + 4  # places that no scene shows have no tile
    assert told == f"{sum(map(len, raw.values()))} raw tiles of {len(raw)} places into {len(expected)}\n"

    lines = []
    for key, columns in sorted(tiles.items()):
        pixels = [pixel for pixel in expected[key] if pixel]
        seen = f"{len(pixels)} pixels, on average {sum(pixels) // len(pixels)}"
        lines.append(f"{key.decode()[1:] or 'world'}: {seen}, in {len(columns[b'picture:'])} bytes")
    assert run_example("earth", "list", *port).splitlines() == lines
    assert run_example("earth", "list", "3", *port).splitlines() == [line for line in lines if line[0] == "3"]
    run_example("earth", "view", "3", str(tmp_path / "3.pgm"), *port)
    assert (tmp_path / "3.pgm").read_bytes() == b"P5\n64 64\n255\n" + expected[b"t3"]


def flat(side: int, pixels: dict[tuple[int, int], int]) -> bytes:
    """A square picture with a grey for each of its quarters, by left and top."""
    half = side // 2
    return b"".join(bytes(pixels.get((x // half, y // half), 0) for x in range(side)) for y in range(side))


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_clouds_of_a_finer_scene_hide_nothing_that_a_coarser_one_shows(order: tuple[int, ...]) -> None:
    """A world of one tile, one of four and one of sixteen, in whatever order they come."""
    earth: dict[str, Any] = runpy.run_path(f"{ROOT}/examples/earth/earth.py")
    coarse = (b"t", flat(SIDE, {(0, 0): 10, (1, 0): 20}))
    finer = (b"t0", flat(SIDE, {(1, 0): 30, (0, 1): 40}))
    finest = (b"t01", flat(SIDE, {(0, 0): 50}))
    made = [
        block
        for row, tile in (coarse, finer, finest)
        for key, block in earth["cleaned"](row, {b"raw:scene": zlib.compress(tile)})
        if key == b"t"
    ]
    ((_, columns),) = earth["put_together"](b"t", iter([made[place] for place in order]))
    pixels = zlib.decompress(columns[b"picture:"])
    shown = {(x, y): pixels[y * SIDE + x] for x in range(0, SIDE, 8) for y in range(0, SIDE, 8)}
    for (x, y), pixel in shown.items():
        if (x, y) == (16, 0):
            expected = 50  # a quarter of the finest
        elif x < 32 and y < 32:
            expected = {(1, 0): 30, (0, 1): 40}.get((x // 16, y // 16), 10)
        else:
            expected = {(0, 0): 10, (1, 0): 20}.get((x // 32, y // 32), 0)
        assert pixel == expected, (x, y)
    assert columns[b"index:seen"] == (SIDE * SIDE // 2).to_bytes(8, "big")
