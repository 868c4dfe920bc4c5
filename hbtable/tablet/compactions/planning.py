"""What policy.py is told of a loaded tablet, and what it answers. Looks only; does not switch."""

from hbtable.tablet.compactions.policy import FileFacts, MemtableFacts, MergePlan, StackFacts, plan_merge, why_flush
from hbtable.tablet.state import TabletState
from hbtable.tablet.version import LoadedFile, key_range


def planned_merge(state: TabletState, family: bytes = b"") -> MergePlan | None:
    """The most urgent merge; of the stack of one family (as it stands in cell keys) alone when one is given."""
    keys = key_range(state.range)
    version, damaged = state.version, state.damaged
    dead_met = state.tally.dead - state.dead_at_compaction
    facts = []
    for stack in version.stacks:
        if family and family not in stack.families:
            continue
        shares_families = version.shares_families(stack)
        runs = stack.sound_runs(damaged)
        # Beside a damaged file markers have to stay, so that nothing is gained by a merge because of them.
        readable = version.stacks if shares_families else (stack,)
        counts_markers = not any(file.ref.path in damaged for one in readable for file in one.files)
        for run in runs:
            files = [_facts(file, keys, counts_markers) for file in run]
            facts.append(StackFacts(stack.key, files, shares_families, dead_met))
    return plan_merge(facts, state.environment.options)


def _facts(file: LoadedFile, keys: tuple[bytes, bytes], counts_markers: bool) -> FileFacts:
    properties = file.reader.properties
    markers = properties.markers if counts_markers else 0
    return FileFacts(file.ref.path, file.bytes_in(keys), file.ref.length_bytes, properties.cells, markers)


def planned_flush(state: TabletState) -> str:
    """Why the memtables are worth a flush for what is deleted in them; "" when they are not."""
    markers = state.tally.markers - state.markers_at_flush
    if not markers:
        return ""
    cells = sum(memtable.cells for stack in state.version.stacks for memtable in stack.memtables())
    return why_flush(MemtableFacts(cells, markers, state.tally.dead - state.dead_at_flush))
