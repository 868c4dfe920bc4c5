from hbtable.commitlog.group_files.slow_nodes import SlowNodes


def test_a_first_try_leaves_out_the_last_node_that_did_not_answer_and_for_a_while_only() -> None:
    now = [0.0]
    nodes = SlowNodes(lambda: now[0])
    assert nodes.to_avoid(1, []) == ()
    nodes.kept_waiting(["a", "b"])
    assert nodes.to_avoid(1, []) == ("b",)
    nodes.answered("b")
    assert nodes.to_avoid(1, []) == ("a",)
    now[0] = 11.0
    assert nodes.to_avoid(1, []) == ()


def test_later_tries_leave_out_what_was_tried_and_the_last_ones_nothing() -> None:
    nodes = SlowNodes(lambda: 0.0)
    nodes.kept_waiting(["z"])
    assert nodes.to_avoid(3, ["a", "b", "a"]) == ("a", "b")
    assert nodes.to_avoid(4, ["a", "b", "c"]) == ()
