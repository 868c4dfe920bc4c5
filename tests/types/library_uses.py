"""Uses of the library for mypy (`make check`) and pyright (`make types`). Right ones pass. Each wrong one has the error
in its `type: ignore`, by the name that mypy has for it: where mypy does not find that one, or pyright finds none, it
complains of the comment. Nothing else runs this."""

import hbtable


def right(db: hbtable.Database) -> list[bytes]:
    options: hbtable.FamilyOptions = {"max_versions": 3, "compression": "GZ", "time_to_live": 60, "locality_group": "g"}
    table: hbtable.Table = db.create_table("t", {"f": options, "g": {}, "h": None}, split_rows=["m", b"n"])
    db.create_table(b"t", {b"f": {"max_versions": 1}})
    db.create_table("u", ["f", "g"])
    db.create_table("u", {b"f", b"g"})
    db.create_table("v", ("f",))
    db.alter_table("t", add={"i": {"bloom_filter_type": "ROW"}}, change={"f": {"max_versions": 1}}, drop=["h"])
    table.put("r", {"f:a": b"1"})
    table.put(b"r", {b"f:a": "1"}, timestamp=7, wal=False)
    table.delete("r", ["f:a", b"g"])
    changes = hbtable.RowChanges().put({"f:a": "1"}).delete(["g"]).delete_version("f:b", 7).increment("f:n", -1)
    changes.increment(b"f:m").append({"g:a": b"1"}).append({b"g:b": "1"})
    table.mutate_row("r", changes)
    done: bool = table.check_and_mutate("r", "f:a", "<=", b"1", changes)
    done = table.check_and_mutate("r", "f:a", "=", None, changes, time_range=(5, None))
    done = table.mutate_if("r", changes, ["f", b"g:a"], filter=hbtable.Filter("PrefixFilter", "r"), time_range=(1, 2))
    with table.batch(batch_size=100) as batch:
        batch.put("r", {"f:a": "1"})
        batch.delete(b"r")
    versions: int = table.families()[b"f"]["max_versions"]
    first: bytes = table.regions()[0]["start_key"]
    counter: int = table.counter_inc("r", "f:n", 5)
    for row, columns in table.scan(row_prefix="r", columns=["f"], time_range=(1, None), versions=2):
        print(row, columns[b"f:a"], versions, first, counter, done)
    return db.tables()


def ways_in() -> None:
    with hbtable.open("folder", durability="os", read_only=True) as embedded:
        right(embedded)
        print(embedded.tablets("t")[0].files)
    hbtable.open(":memory:", config={"cache.block_cache_bytes": "64 MiB", "tablet.memtable_bytes": 1 << 20}).close()
    with hbtable.connect("host", 9090) as connected:
        right(connected)
        print(connected.host)
    try:
        right(hbtable.connect(timeout=1000, transport="framed"))
    except (hbtable.TableNotFound, hbtable.OutcomeUnknown) as error:
        raise SystemExit(str(error)) from error


def wrong(db: hbtable.Database, table: hbtable.Table) -> None:
    hbtable.open("folder", durability="none")  # type: ignore[arg-type]
    hbtable.open("folder", read_only="yes")  # type: ignore[arg-type]
    hbtable.open("folder", durabilty="os")  # type: ignore[call-arg]
    hbtable.open("folder", config=["log.durability"])  # type: ignore[arg-type]
    hbtable.connect(9090)  # type: ignore[arg-type]
    hbtable.connect(transport="slow")  # type: ignore[arg-type]
    options: hbtable.FamilyOptions = {"max_versions": "3"}  # type: ignore[typeddict-item]
    options = {"max_version": 3}  # type: ignore[typeddict-unknown-key]
    options["time_to_live"] = "60"  # type: ignore[typeddict-item]
    db.create_table("t", {"f": {"max_versions": "3"}})  # type: ignore[dict-item]
    db.create_table("t", {"f": {"max_version": 3}})  # type: ignore[dict-item]
    db.create_table("t", {"f": 3})  # type: ignore[dict-item]
    db.create_table("t", "f")  # type: ignore[arg-type]
    db.create_table(5, ["f"])  # type: ignore[arg-type]
    db.alter_table("t", change={"f": {"max_version": 3}})  # type: ignore[typeddict-unknown-key]
    db.alter_table("t", ["f"])  # type: ignore[call-arg]
    db.delete_tabel("t")  # type: ignore[attr-defined]
    table.put("r", {"f:a": 5})  # type: ignore[dict-item]
    table.put(5, {"f:a": "1"})  # type: ignore[arg-type]
    table.put("r", {"f:a": "1"}, timestamp="7")  # type: ignore[arg-type]
    table.row("r", columns={"f"})  # type: ignore[arg-type]
    table.row("r", version=3)  # type: ignore[call-arg]
    table.check_and_mutate("r", "f:a", "<>", b"1", hbtable.RowChanges())  # type: ignore[arg-type]
    table.mutate_row("r", {"f:a": "1"})  # type: ignore[arg-type]
    hbtable.RowChanges().increment("f:a", "1")  # type: ignore[arg-type]
    hbtable.RowChanges().append("f:a", "1")  # type: ignore[call-arg, arg-type]
    table.scan(time_range=5)  # type: ignore[arg-type]
    "".join(table.families()[b"f"]["compression"])  # type: ignore[arg-type]
    print(table.families()[b"f"]["max_version"])  # type: ignore[typeddict-item]
    raise hbtable.NoSuchError  # type: ignore[attr-defined]
