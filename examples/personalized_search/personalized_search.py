"""The paper's Personalized Search (section 8.3): a row a user, a family for each kind of action, profiles by MapReduce.

    personalized_search.py create                        makes the table
    personalized_search.py record USER query "red tea"   puts an action of now; or `click URL`
    personalized_search.py history USER                  prints what the user did, the newest first
    personalized_search.py forget USER                   deletes what is known of the user
    personalized_search.py profile [--on dask]           computes the profiles of all users
    personalized_search.py rank USER TITLE...            prints titles of results as this user would have them
    personalized_search.py set USER NAME VALUE           puts a setting, as another group that shares the table

Each takes --port, of an hbtable server on this machine, and --user and --secret, where that asks who it is.
"""

import argparse
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import hbtable
from hbtable import mapreduce

YEAR_SECONDS = 365 * 24 * 3600
WEIGHTS = {b"query": 1, b"click": 3}
"""What a word of an action says about its user, by the action's family."""
FAMILIES: dict[str, hbtable.FamilyOptions] = {
    # cells have the times of the actions, so that old ones go by themselves
    "query": {"max_versions": 1, "time_to_live": YEAR_SECONDS},
    "click": {"max_versions": 1, "time_to_live": YEAR_SECONDS},
    # read for each search, and small
    "profile": {"max_versions": 1, "in_memory": True, "locality_group": "profile"},
    # another group's, with its own files, rights and quota
    "settings": {"max_versions": 1, "locality_group": "settings"},
}


def record(users: hbtable.Table, user: str, kind: str, what: str, millis: int) -> None:
    """The column says when, too, so that a row keeps each action however often the same is done."""
    users.put(user, {f"{kind}:{millis:013}": what}, timestamp=millis)


def history(users: hbtable.Table, user: str) -> list[tuple[int, str, str]]:
    """(time, kind, what) of each action, the newest first."""
    cells = users.row(user, ["query", "click"], include_timestamp=True)
    actions = [(time, name.partition(b":")[0].decode(), what.decode()) for name, (what, time) in cells.items()]
    return sorted(actions, reverse=True)


def words(text: str) -> list[str]:
    return re.findall(r"\w{3,}", text.removeprefix("https://").removeprefix("http://").lower())


def interests(user: bytes, actions: dict[bytes, bytes]) -> Iterable[tuple[bytes, Counter[str]]]:
    """Map: a user into the words of what he did, each with its weight."""
    found = Counter[str]()
    for column, what in actions.items():
        for word in words(what.decode()):
            found[word] += WEIGHTS[column.partition(b":")[0]]
    mapreduce.count("actions", len(actions))
    yield user, found


def profile(user: bytes, found: Iterator[Counter[str]]) -> Iterable[tuple[bytes, dict[bytes, bytes]]]:
    """Reduce: the ten weightiest words of a user, in one cell, which replaces the one of before."""
    weights = sum(found, Counter[str]())
    best = sorted(weights.items(), key=lambda pair: (-pair[1], pair[0]))[:10]
    yield user, {b"profile:words": json.dumps(dict(best), ensure_ascii=False).encode()}


def profiles(users: hbtable.Table, on: Literal["processes", "dask"] = "processes") -> mapreduce.JobResult:
    """Of all users, from the two families of actions alone, beside the searches that go on."""
    return mapreduce.run(users, interests, profile, users, columns=list(WEIGHTS), on=on)


def rank(users: hbtable.Table, user: str, titles: Sequence[str]) -> list[str]:
    """Titles with more of the user's words first, otherwise as they come. One read of memory."""
    weights = json.loads(users.row(user, ["profile"]).get(b"profile:words", b"{}"))
    return sorted(titles, key=lambda title: -sum(weights.get(word, 0) for word in words(title)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = ("create", "record", "history", "forget", "profile", "rank", "set")
    parser.add_argument("command", choices=commands)
    parser.add_argument("arguments", nargs="*", help="as above")
    parser.add_argument("--port", type=int, default=9090)
    parser.add_argument("--user", default="", help="who this is")
    parser.add_argument("--secret", default="", help="the file with the password or token")
    parser.add_argument("--on", choices=("processes", "dask"), default="processes", help="what runs the tasks")
    given = parser.parse_args()
    with hbtable.connect("127.0.0.1", given.port, user=given.user, secret=given.secret) as db:
        users = db.table("users")
        match given.command, given.arguments:
            case "create", []:
                db.create_table("users", FAMILIES)
            case "record", [user, ("query" | "click") as kind, what]:
                record(users, user, kind, what, time.time_ns() // 1_000_000)
            case "history", [user]:
                for _, kind, what in history(users, user):
                    print(f"{kind} {what}")
            case "forget", [user]:
                users.delete(user, ["query", "click", "profile"])
            case "profile", []:
                counters = profiles(users, given.on).counters
                print(f"{counters.get('actions', 0)} actions of {counters['output']} users")
            case "rank", [user, *titles]:
                print("\n".join(rank(users, user, titles)))
            case "set", [user, name, value]:
                users.put(user, {f"settings:{name}": value})
            case _:
                parser.error(f"this is not how {given.command} is called")


if __name__ == "__main__":  # processes that run tasks import this file
    try:
        main()
    except hbtable.HbtableError as error:
        sys.exit(f"personalized_search.py: {error}")
