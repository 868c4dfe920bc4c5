"""catalogjanitor_run, cleaner_chore_run, hbck_chore_run, whether they run by themselves, clear_block_cache."""

from hbtable.hbase.admin.structs import AdminCacheEviction
from hbtable.shell.context import Context, show_name, text_of
from hbtable.shell.language.literals import Value


def catalogjanitor_run(context: Context, _: list[Value]) -> Value:
    """Deletes rows of METADATA that belong to nothing. Returns their number."""
    removed: int = context.server.admin("adminRunCatalogJanitor")
    return removed


def cleaner_chore_run(context: Context, _: list[Value]) -> Value:
    """HBase's answer, too: false while something is left that is not old enough."""
    return bool(context.server.admin("adminRunCleaner"))


def hbck_chore_run(context: Context, _: list[Value]) -> Value:
    context.server.admin("adminRunRepair")
    return True


def always_on(context: Context, _: list[Value]) -> Value:
    """The master does all of it as long as there is one; no switch stops it."""
    return _answer(context, True)


def never(context: Context, _: list[Value]) -> Value:
    """Hbtable has no such mode."""
    return _answer(context, False)


def clear_block_cache(context: Context, arguments: list[Value]) -> Value:
    name = text_of(arguments[0], "a table name")
    found = context.on_table(name, "adminClearBlockCache")
    assert isinstance(found, AdminCacheEviction)
    failed = [show_name(region) for region in found.failed or ()]
    context.out.row(
        (
            f"CacheEvictionStats{{evictedBlocks={found.blocks}, maxCacheSize={found.capacity_bytes}, "
            f"failedRegionsSize={len(failed)}, failedRegions=[{', '.join(failed)}]}}",
        ),
        {"evicted_blocks": found.blocks, "cache_bytes": found.capacity_bytes, "failed_regions": failed},
    )
    return None


def _answer(context: Context, value: bool) -> bool:
    context.out.row((str(value).lower(),), {"enabled": value})
    return value
