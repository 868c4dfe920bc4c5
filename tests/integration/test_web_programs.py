"""Real web servers and workers with hbtable inside: docs/manual/programs.md says which of them work, and the others
have to name that page."""

import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

import hbtable
from tests.harness.commands import LONG_SECONDS, ROOT, environment
from tests.harness.document_blocks import blocks_of
from tests.harness.free_ports import free_ports
from tests.harness.tiers import long_test, taking_turns
from tests.harness.waiting import SOON_SECONDS, eventually

pytestmark = pytest.mark.integration

PAGE: Final = "docs/manual/programs.md"

OPENED_IN_THE_MODULE: Final = """
import os
import flask, hbtable

db = hbtable.open("data", config={"tablet.memtable_bytes": "1 MiB"})
if b"hits" not in db.tables():
    db.create_table("hits", ["n"])
app = flask.Flask(__name__)


@app.get("/")
def hit():
    return f"{db.table('hits').counter_inc('page', 'n:hits')} {os.getpid()}"
"""

OPENED_WHERE_REQUESTS_ARE_SERVED: Final = """
import functools, os
import flask, hbtable

app = flask.Flask(__name__)


@functools.cache
def database():
    db = hbtable.open("data", wait=60)
    if b"hits" not in db.tables():
        db.create_table("hits", ["n"])
    return db


@app.get("/")
def hit():
    return f"{database().table('hits').counter_inc('page', 'n:hits')} {os.getpid()}"
"""

FILES: Final = {block.file: block.text for block in blocks_of(Path(ROOT, PAGE)) if block.file}
SHARES: Final = FILES["app.py"]
CONNECTS: Final = SHARES.replace('folder="data"', '"127.0.0.1", 9090')
OWNER: Final = FILES["gunicorn.conf.py"]

SHARED_BEFORE_THE_FORK: Final = f"""
import hbtable

owner = hbtable.open("data")
owner.create_table("hits", ["n"])
owner.share()
{SHARES.replace("local = threading.local()", 'local = threading.local(); local.db = hbtable.connect(folder="data")')}"""

DJANGO: Final = """
import functools, os, sys
import hbtable
from django.conf import settings
from django.http import HttpResponse
from django.urls import path

settings.configure(DEBUG=True, SECRET_KEY="x", ROOT_URLCONF=__name__, ALLOWED_HOSTS=["*"])


@functools.cache
def database():
    db = hbtable.open("data", wait=60)
    if b"hits" not in db.tables():
        db.create_table("hits", ["n"])
    return db


def hit(request):
    return HttpResponse(f"{database().table('hits').counter_inc('page', 'n:hits')} {os.getpid()}")


urlpatterns = [path("", hit)]

if __name__ == "__main__":
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)
"""

CELERY: Final = """
import os
import celery, hbtable

app = celery.Celery("app", broker="filesystem://", backend="file://results")
app.conf.broker_transport_options = {"data_folder_in": "queue", "data_folder_out": "queue", "control_folder": "control"}
OPENED


@app.task
def hit():
    return [DATABASE.table("hits").counter_inc("page", "n:hits"), os.getpid()]
"""


class Program:
    """A process that stays, and what it printed."""

    def __init__(self, folder: Path, process: "subprocess.Popen[bytes]", output: Path, port: int) -> None:
        self.folder = folder
        self.process = process
        self.port = port
        self._output = output

    def printed(self) -> str:
        return self._output.read_text(errors="replace")

    def get(self) -> tuple[int, str]:
        """Status and text; 0 while nobody answers."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/", timeout=SOON_SECONDS) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()
        except OSError:
            return 0, ""

    def serves(self) -> None:
        self.comes(lambda: self.get()[0] == 200, "an answer")

    def prints(self, text: str) -> None:
        self.comes(lambda: text in self.printed(), text)

    def comes(self, holds: Callable[[], bool], what: str) -> None:
        try:
            eventually(holds, LONG_SECONDS, what)
        except AssertionError as error:
            raise AssertionError(f"{error}; it printed\n{self.printed()}") from error


@contextmanager
def program(folder: Path, app: str, *command: str) -> Iterator[Program]:
    """`command` of Python; PORT in it is a free port. It is ended in the end, with all that it started."""
    (folder / "app.py").write_text(app)
    port = free_ports(1)
    output = folder / "printed"
    with output.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, *(each.replace("PORT", str(port)) for each in command)],
            cwd=folder,
            stdout=file,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env=environment(None),
            start_new_session=True,
        )
    try:
        yield Program(folder, process, output, port)
    finally:
        process.terminate()
        try:
            process.wait(SOON_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.wait()


def ended(folder: Path, *command: str) -> "subprocess.CompletedProcess[str]":
    """Python runs it in `folder` to its end."""
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=environment(None),
        capture_output=True,
        text=True,
        timeout=LONG_SECONDS,
        check=False,
    )


def gunicorn(*options: str) -> tuple[str, ...]:
    return ("-m", "gunicorn", "--bind", "127.0.0.1:PORT", *options, "app:app")


@pytest.fixture
def server() -> Iterator[str]:
    """The port of a database with the table hits, in this process."""
    with hbtable.open(":memory:") as db:
        db.create_table("hits", ["n"])
        yield str(db.serve(port=0))


def counts(web: Program) -> set[str]:
    """The processes that answered; each request counted once."""
    web.serves()
    first = int(web.get()[1].split()[0])
    answers = [web.get()[1].split() for _ in range(20)]
    assert [int(number) for number, _ in answers] == list(range(first + 1, first + 21))
    return {process for _, process in answers}


@pytest.mark.parametrize("options", taking_turns([(), ("--preload",), ("--threads", "4")], 3), ids=" ".join)
def test_workers_of_gunicorn_that_connect(options: tuple[str, ...], tmp_path: Path, server: str) -> None:
    with program(tmp_path, CONNECTS.replace("9090", server), *gunicorn("--workers", "2", *options)) as web:
        counts(web)


@pytest.mark.parametrize(
    "options", taking_turns([(), ("--preload",), ("--threads", "4"), ("--max-requests", "3")], 4), ids=" ".join
)
def test_workers_of_gunicorn_that_share_the_folder(options: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "gunicorn.conf.py").write_text(OWNER)
    with program(tmp_path, SHARES, *gunicorn("--workers", "2", *options)) as web:
        processes = counts(web)
        assert str(web.process.pid) not in processes
        assert len(processes) >= (3 if "--max-requests" in options else 1)
    assert not (tmp_path / "data" / "SOCKET").exists()
    with hbtable.open(tmp_path / "data") as db:
        assert db.table("hits").counter_get("page", "n:hits") >= 21


@long_test("gunicorn that loads before it forks")
def test_a_module_that_is_loaded_before_the_fork_shares_and_connects(tmp_path: Path) -> None:
    with program(tmp_path, SHARED_BEFORE_THE_FORK, *gunicorn("--workers", "3", "--preload")) as web:
        assert str(web.process.pid) not in counts(web)


@pytest.mark.verify
def test_one_worker_of_gunicorn_that_opens(tmp_path: Path) -> None:
    with program(tmp_path, OPENED_IN_THE_MODULE, *gunicorn("--workers", "1", "--threads", "4")) as web:
        web.serves()
        assert web.get()[0] == 200
    with hbtable.open(str(tmp_path / "data")) as db:
        assert db.table("hits").counter_get("page", "n:hits") >= 2


@long_test("the second worker of gunicorn")
def test_the_second_worker_of_gunicorn_names_the_page(tmp_path: Path) -> None:
    with program(tmp_path, OPENED_IN_THE_MODULE, *gunicorn("--workers", "2")) as web:
        web.prints("is in use by ")
        web.prints(PAGE)


@long_test("gunicorn that opens before it forks")
def test_a_database_from_before_the_fork_names_the_page(tmp_path: Path) -> None:
    with program(tmp_path, OPENED_IN_THE_MODULE, *gunicorn("--workers", "2", "--preload")) as web:
        web.comes(lambda: web.get()[0] == 500, "an error")
        web.prints(f"open it after the fork, in one process alone; {PAGE}")


@pytest.mark.parametrize(
    ("app", "command"),
    taking_turns(
        [
            pytest.param(
                OPENED_WHERE_REQUESTS_ARE_SERVED, ("-m", "flask", "run", "--debug", "--port", "PORT"), id="flask"
            ),
            pytest.param(DJANGO, ("app.py", "runserver", "PORT"), id="django"),
        ],
        2,
    ),
)
def test_a_reloader_hands_the_folder_over(app: str, command: tuple[str, ...], tmp_path: Path) -> None:
    with program(tmp_path, app, *command) as web:
        web.serves()
        number, process = web.get()[1].split()
        (tmp_path / "app.py").write_text(app + "\nCHANGED = True\n")

        def another_one_answers() -> bool:
            status, text = web.get()
            return status == 200 and text.split()[1] != process

        web.comes(another_one_answers, "an answer of the new process")
        assert int(web.get()[1].split()[0]) > int(number)


@long_test("the watcher of flask")
def test_the_watcher_of_flask_that_opened_it_is_named_with_the_page(tmp_path: Path) -> None:
    with program(tmp_path, OPENED_IN_THE_MODULE, "-m", "flask", "run", "--debug", "--port", "PORT") as web:
        web.prints("is in use by ")
        web.prints(PAGE)


@long_test("the watcher of django")
def test_the_watcher_of_django_that_opened_it_is_named_with_the_page(tmp_path: Path) -> None:
    app = DJANGO.replace("@functools.cache", 'db = hbtable.open("data")\n\n\n@functools.cache')
    with program(tmp_path, app, "app.py", "runserver", "PORT") as web:
        web.prints("is in use by ")
        web.prints(PAGE)


def answers_of_tasks(folder: Path, app: str) -> str:
    """What four calls of a worker's task give, each on a line."""
    for name in ("queue", "control", "results", "asking"):
        (folder / name).mkdir()
    command = ("-m", "celery", "-A", "app", "worker", "--concurrency", "2", "--pool", "prefork", "--loglevel", "INFO")
    with program(folder, app, *command, "--without-mingle", "--without-gossip") as worker:
        worker.prints("ready.")
        (folder / "asking" / "app.py").write_text(CELERY.replace("OPENED", ""))  # has no database of its own
        asks = (
            "import sys; sys.path.insert(0, 'asking'); import app\n"
            "for each in [app.hit.delay() for _ in range(4)]: print(each.get(timeout=60, propagate=False))"
        )
        return ended(folder, "-c", asks).stdout


@pytest.mark.parametrize("connects", taking_turns([True, False], 2), ids=["connects", "opens before the fork"])
def test_workers_of_celery(connects: bool, tmp_path: Path, server: str) -> None:
    opened = "DATABASE = hbtable.open('data')\nDATABASE.create_table('hits', ['n'])"
    app = CELERY.replace("OPENED", "" if connects else opened)
    if connects:
        app = app.replace("DATABASE", f'hbtable.connect("127.0.0.1", {server})')
    told = answers_of_tasks(tmp_path, app)
    if connects:
        assert sorted(re.findall(r"^\[(\d+), ", told, re.MULTILINE)) == ["1", "2", "3", "4"], told
    else:
        assert told.count(PAGE) == 4, told


@long_test("workers of Celery that share the folder")
def test_workers_of_celery_that_share_the_folder(tmp_path: Path) -> None:
    """The page's program, with a broker made of files."""
    own = 'broker="redis://localhost", backend="redis://localhost")\n'
    files = CELERY.partition('celery.Celery("app", ')[2].partition("OPENED")[0]
    assert own in FILES["tasks.py"]
    told = answers_of_tasks(tmp_path, FILES["tasks.py"].replace(own, files))
    assert sorted(told.split()) == ["1", "2", "3", "4"]
    with hbtable.open(str(tmp_path / "data"), wait=60) as database:
        assert database.table("hits").counter_get("page", "n:hits") == 4


@long_test("workers of pytest")
def test_workers_of_pytest_have_databases_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "test_program.py").write_text(
        "import happybase, hbtable, pytest\n\n"
        "@pytest.mark.parametrize('number', range(8))\n"
        "def test_each(number, hbtable_db, hbtable_server, tmp_path):\n"
        "    hbtable_db.create_table('t', ['f']).put('r', {'f:n': str(number)})\n"
        "    connection = happybase.Connection(hbtable_server.host, hbtable_server.port)\n"
        "    connection.create_table('t', {'f': {}})\n"
        "    connection.close()\n"
        "    with hbtable.open(tmp_path / 'data') as db:\n"
        "        assert db.tables() == []\n"
        "    assert hbtable_db.table('t').row('r') == {b'f:n': str(number).encode()}\n"
    )
    done = ended(tmp_path, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", "test_program.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "8 passed" in done.stdout
