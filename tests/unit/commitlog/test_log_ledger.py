from hbtable.commitlog.ledger import SegmentLedger


def _ledger() -> SegmentLedger:
    """Segment 1: tablets 7 up to 10 and 8 up to 5. Segment 2: tablet 7 up to 20. Segment 3 is active: tablet 8."""
    ledger = SegmentLedger()
    ledger.active.update({7: 10, 8: 5})
    ledger.hold(1, "one", 100)
    ledger.active.update({7: 20})
    ledger.hold(2, "two", 200)
    ledger.active.update({8: 9})
    return ledger


def test_a_segment_stays_while_any_tablet_needs_its_highest_sequence() -> None:
    ledger = _ledger()
    ledger.needed(7, 10)
    ledger.needed(8, 6)
    assert ledger.oldest_needed(3) == 1
    assert ledger.tablets_of_oldest() == [7]
    ledger.needed(7, 11)
    assert ledger.oldest_needed(3) == 2
    assert ledger.drop_before(2) == ["one"]
    assert ledger.held_bytes == 200


def test_segments_go_oldest_first_and_never_leave_a_hole() -> None:
    ledger = _ledger()
    ledger.needed(7, 21)
    assert ledger.oldest_needed(3) == 1
    ledger.forget(8)
    assert ledger.oldest_needed(3) == 3
    assert ledger.drop_before(3) == ["one", "two"]
    assert ledger.tablets_of_oldest() == []


def test_the_active_segment_is_never_up_for_deletion() -> None:
    ledger = SegmentLedger()
    ledger.active.update({1: 1})
    ledger.forget(1)
    assert ledger.oldest_needed(1) == 1
    assert ledger.tablets_of_oldest() == []
