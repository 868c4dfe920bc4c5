"""The commands from outside: what they print, what they exit with, what they leave behind."""

import os
import re
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import happybase
import pytest

import hbtable
from hbtable.launch.cli.command import main
from tests.harness.commands import LONG_SECONDS, ROOT, Running, run, run_python
from tests.harness.free_ports import free_ports
from tests.harness.waiting import SOON_SECONDS, eventually, of_the_program
from tests.harness.warm_commands import run_warm

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server that no test stops."""
    folder = tmp_path_factory.mktemp("commands") / "data"
    with Running("start", "--data", str(folder), "--port", "0", "-D", f"server.http_port={free_ports(1)}") as running:
        yield running


def port_of(banner: str) -> int:
    found = re.search(r"127\.0\.0\.1:(\d+)", banner)
    assert found is not None, banner
    return int(found.group(1))


def folder_of(banner: str) -> str:
    found = re.search(r"^data +(\S+)", banner, re.MULTILINE)
    assert found is not None, banner
    return found.group(1)


def pages_of(banner: str) -> str:
    found = re.search(r"^pages +(http://\S+)/metrics", banner, re.MULTILINE)
    assert found is not None, banner
    return found.group(1)


def program_in(text: str) -> str:
    """The indented lines of a banner, as somebody copies them."""
    lines = [line[4:] for line in text.splitlines() if line.startswith("    ")]
    return "\n".join(lines) + "\n"


# ---------------------------------------------------------------- hbtable start


def test_the_banner_says_where_and_its_first_program_works(serving: Running, tmp_path: Path) -> None:
    print(f"ready {serving.seconds:.2f} s after the command, interpreter included")
    assert os.path.isdir(folder_of(serving.banner))
    assert "durability = sync" in serving.banner
    assert re.search(r"^memory  up to [0-9,]+ MiB, [0-9,]+ MiB of it for the block cache$", serving.banner, re.M)

    program = program_in(serving.banner)
    assert "import happybase" in program
    done = run_python(program, str(tmp_path))
    assert (done.returncode, done.stdout) == (0, "{b'f:hello': b'world'}\n"), done.stderr


def test_a_second_start_on_the_same_folder_names_the_first(serving: Running) -> None:
    folder, port = folder_of(serving.banner), port_of(serving.banner)
    done = run("start", "--data", folder, "--port", "0")
    assert done.returncode == 1
    assert done.stdout == ""
    (message,) = done.stderr.splitlines()
    assert f"process {serving.process.pid} " in message
    assert f"127.0.0.1:{port}" in message
    assert folder in message
    # and the first one never noticed
    assert happybase.Connection("127.0.0.1", port).tables() is not None


def test_a_port_in_use_is_a_message(serving: Running, tmp_path: Path) -> None:
    port = port_of(serving.banner)
    done = run_warm("start", "--data", str(tmp_path / "other"), "--port", str(port))
    assert done.returncode == 1
    assert f"port {port} on 127.0.0.1 is in use" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_a_http_port_in_use_is_a_message(serving: Running, tmp_path: Path) -> None:
    port = port_of(serving.banner)
    done = run_warm("start", "--data", str(tmp_path / "other"), "--port", "0", "-D", f"server.http_port={port}")
    assert done.returncode == 1
    assert f"port {port} on 127.0.0.1 is in use" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("define", "message"),
    [
        ("log.durabilty=os", "did you mean durability?"),
        ("logs.durability=os", "there is no section [logs]; did you mean [log]?"),
        ("log.durability=perhaps", "it can be 'sync' or 'os'"),
        ("tablet.memtable_bytes=much", "'much' is not a number"),
        ("tablet.memtable_bytes=-5", "-5"),
        ("nonsense", "write it as section.key=value"),
    ],
)
def test_a_wrong_configuration_is_a_message_and_exit_2(tmp_path: Path, define: str, message: str) -> None:
    done = run_warm("start", "--data", str(tmp_path / "data"), "--port", "0", "-D", define)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "data").exists()


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    done = run_warm("start", "--data", str(tmp_path), "--port", "0")
    assert done.returncode != 0
    assert "no hbtable data folder" in done.stderr
    assert os.listdir(tmp_path) == ["thesis.txt"]


def test_a_host_that_is_not_ours_is_a_message(tmp_path: Path) -> None:
    done = run_warm("start", "--data", str(tmp_path / "data"), "--port", "0", "--host", "192.0.2.1", "--insecure")
    assert done.returncode == 2
    assert "192.0.2.1" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_options_win_over_the_file_and_the_file_over_defaults(tmp_path: Path) -> None:
    config = tmp_path / "my.toml"
    config.write_text(f'[server]\ndata = "{tmp_path}/from-file"\nport = 1\n[log]\ndurability = "os"\n')
    with Running("start", "--config", str(config), "--port", "0", "--host", "localhost") as running:
        assert folder_of(running.banner) == f"{tmp_path}/from-file"
        assert "durability = os" in running.banner
        assert re.search(r"Thrift1 on localhost:\d+", running.banner)
        assert run_python(program_in(running.banner), str(tmp_path)).returncode == 0
        code, log = running.stop()
    assert code == 0
    assert_every_line_is_one_event(log)


def test_sigterm_answers_the_request_under_way_and_loses_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with Running("start", "--data", str(folder), "--port", "0") as running:
        port = port_of(running.banner)
        happybase.Connection("127.0.0.1", port).create_table("t", {"f": {}})
        clients = [Client(port, number) for number in range(4)]
        for client in clients:
            client.start()
        eventually(lambda: min(client.acknowledged for client in clients) >= 3, SOON_SECONDS, "some batches of each")
        code, log = running.stop()
        for client in clients:
            client.join()
    assert code == 0
    assert_every_line_is_one_event(log)
    assert "draining" in log
    assert not [line for line in of_the_program(log.splitlines()) if "WARNING" in line], log
    with Running("start", "--data", str(folder), "--port", "0") as running:
        table = happybase.Connection("127.0.0.1", port_of(running.banner)).table("t")
        # What was acknowledged and nothing else: a batch that was carried out while the server stopped got its answer,
        # one that got no answer was not begun.
        assert [row for row, _ in table.scan()] == sorted(row for client in clients for row in client.rows())
        assert running.stop(signal.SIGINT)[0] == 0


class Client(threading.Thread):
    """Sends batches until the server goes away."""

    def __init__(self, port: int, number: int) -> None:
        super().__init__()
        self._port, self._number = port, number
        self.acknowledged = 0

    def key(self, batch: int, row: int) -> bytes:
        return b"%d-%06d-%03d" % (self._number, batch, row)

    def rows(self) -> Iterator[bytes]:
        return (self.key(batch, row) for batch in range(self.acknowledged) for row in range(300))

    def run(self) -> None:
        connection = happybase.Connection("127.0.0.1", self._port)
        transport = connection.transport
        table = connection.table("t")
        while True:
            batch = table.batch()
            for row in range(300):
                batch.put(self.key(self.acknowledged, row), {b"f:v": b"x" * 200})
            try:
                batch.send()
            except Exception:
                transport.close()
                return
            self.acknowledged += 1


def test_readyz_turns_before_the_port_closes_and_a_second_signal_stops_at_once(tmp_path: Path) -> None:
    http = free_ports(1)
    define = f"server.http_port={http}"
    with Running("start", "--data", str(tmp_path / "data"), "--port", "0", "-D", define) as running:
        port = port_of(running.banner)
        assert read_page(f"http://127.0.0.1:{http}/readyz") == (200, b'{"ok": true, "reasons": []}\n')
        connection = happybase.Connection("127.0.0.1", port)
        connection.create_table("t", {"f": {}})
        for number in range(20):
            connection.table("t").put(b"%d" % number, {b"f:a": bytes(1 << 20)})
        scanner = connection.client.scannerOpen(b"t", b"", [], {})
        # A request under way for as long as we like: its answer is larger than what fits into the sockets.
        connection.client._send("scannerGetList", id=scanner, nbRows=20)
        pages = f"http://127.0.0.1:{http}"
        under_way = b"\nhbtable_rpc_in_flight 1.0\n"
        eventually(lambda: under_way in read_page(f"{pages}/metrics")[1], SOON_SECONDS, "a request under way")
        running.process.send_signal(signal.SIGTERM)
        eventually(lambda: read_page(f"{pages}/readyz")[0] != 200, SOON_SECONDS, "a server that is not ready")
        assert read_page(f"{pages}/readyz") == (503, b'{"ok": false, "reasons": ["draining"]}\n')
        assert read_page(f"{pages}/livez")[0] == 200
        assert running.process.poll() is None, "it did not wait for the request under way"
        code, log = running.stop()
        connection.transport.close()
    assert code == 0
    assert "stopping at once" in log


def read_page(url: str) -> tuple[int, bytes]:
    try:
        with urllib.request.urlopen(url, timeout=SOON_SECONDS) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


def assert_every_line_is_one_event(log: str) -> None:
    for line in log.splitlines():
        assert re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} (INFO|WARNING|ERROR) hbtable\.", line), line


# ---------------------------------------------------------------- pages


def test_metrics_have_the_names_that_operators_know(serving: Running) -> None:
    connection = happybase.Connection("127.0.0.1", port_of(serving.banner))
    connection.create_table("measured", {"f": {}})
    connection.table("measured").put(b"r", {b"f:a": b"1"})
    connection.compact_table("measured", major=True)
    page = f"{pages_of(serving.banner)}/metrics"
    # The call returns after a while, done or not; and the compactions of others are counted as well.
    done = re.compile(rb'^hbtable_compaction_seconds_count\{kind="major"\} [1-9]', re.MULTILINE)
    asked = re.compile(rb"^hbtable_bloom_negative_total [1-9]", re.MULTILINE)

    def compacted() -> bool:
        assert connection.table("measured").row(b"absent") == {}
        page_now = read_page(page)[1]
        return done.search(page_now) is not None and asked.search(page_now) is not None

    eventually(compacted, SOON_SECONDS, "the end of the compaction, and a Bloom filter that is asked")
    assert connection.table("measured").row(b"r") == {b"f:a": b"1"}
    connection.close()
    # The page is up to a second old.
    negative = re.compile(rb"^hbtable_bloom_negative_total [1-9]", re.MULTILINE)
    eventually(lambda: negative.search(read_page(page)[1]) is not None, SOON_SECONDS, "a page with the last call")

    # A page is handed out again for a second.
    denied = re.compile(rb"^hbtable_bloom_negative_total [1-9]", re.MULTILINE)
    eventually(lambda: denied.search(read_page(page)[1]) is not None, SOON_SECONDS, "a page with the last two reads")
    status, body = read_page(page)
    assert status == 200
    series = dict(re.findall(r"^(\w+(?:\{[^}]*\})?) (\S+)$", body.decode(), re.MULTILINE))
    assert float(series['hbtable_rpc_requests_total{code="ok",method="mutateRows"}']) >= 1
    assert float(series['hbtable_rpc_seconds_count{method="mutateRows"}']) >= 1
    assert float(series["hbtable_wal_sync_seconds_count"]) >= 1
    assert float(series['hbtable_compaction_seconds_count{kind="minor"}']) >= 1
    assert float(series['hbtable_compaction_seconds_count{kind="major"}']) >= 1
    assert float(series["hbtable_bloom_negative_total"]) >= 1
    assert series[f'hbtable_build_info{{version="{hbtable.__version__}"}}'] == "1.0"
    assert float(series["hbtable_tablets"]) >= 3
    assert float(series["hbtable_sstables"]) >= 1
    assert float(series["process_open_fds"]) > 3
    assert float(series["process_max_fds"]) >= 4096
    assert float(series["process_resident_memory_bytes"]) > 1e7
    for name in (
        "hbtable_rpc_in_flight",
        "hbtable_wal_bytes_total",
        "hbtable_memtable_bytes",
        "hbtable_block_cache_hits_total",
        "hbtable_block_cache_misses_total",
        "hbtable_block_cache_bytes",
        "hbtable_compaction_queue",
        "hbtable_hub_lag_seconds",
        'hbtable_hub_turn_seconds_bucket{le="0.01"}',
        'hbtable_compaction_seconds_count{kind="merging"}',
    ):
        assert name in series, name
    assert float(series["hbtable_hub_turn_seconds_count"]) > 0
    assert len(series) < 500, "few enough to scrape in 5 ms"


def test_other_pages(serving: Running) -> None:
    pages = pages_of(serving.banner)
    assert read_page(f"{pages}/livez")[0] == read_page(f"{pages}/healthz")[0] == read_page(f"{pages}/readyz")[0] == 200
    assert read_page(f"{pages}/slow")[1].startswith(b"[")
    status, body = read_page(f"{pages}/")
    assert status == 404
    assert b"/metrics" in body


def test_a_browser_at_the_thrift_port_gets_a_message(serving: Running) -> None:
    status, body = read_page(f"http://127.0.0.1:{port_of(serving.banner)}/")
    assert 400 <= status < 500
    assert b"Thrift" in body


# ---------------------------------------------------------------- hbtable demo


def test_every_line_that_the_demo_suggests_works(tmp_path: Path) -> None:
    with Running("demo", "--port", "0", last="# what os links to") as running:
        program = program_in(running.banner)
        # As a newcomer does: line by line at the prompt, looking at each answer.
        prompt = "import sys; sys.displayhook = lambda value: value is None or print(repr(value)[:2000])\n"
        lines = prompt + "import code\nshell = code.InteractiveConsole()\n"
        lines += f"for line in {[*program.splitlines(), '']!r}:\n    shell.push(line)\ndel shell\n"
        done = run_python(lines, str(tmp_path))
        assert done.returncode == 0, done.stderr
        assert "Error" not in done.stderr, done.stderr
        who_links, next_to_each_other, languages, *rest = done.stdout.splitlines()
        assert who_links.startswith("{b'anchor:")
        assert "json.decoder.html" in next_to_each_other
        assert int(languages) > 50
        coroutine, os_links = rest
        assert "library/types.html" in coroutine
        assert "anchor:org.python.docs/library/os" in os_links
        folder = re.findall(r"/\S*hbtable-demo-\S+", running.banner)
        assert running.stop()[0] == 0
    assert not any(os.path.exists(path) for path in folder)


def test_demo_can_stop_by_itself() -> None:
    done = run("demo", "--stop", "--port", "0")
    assert done.returncode == 0, done.stderr
    assert "pages and" in done.stdout


# ---------------------------------------------------------------- config and version


def test_version_and_config() -> None:
    assert re.fullmatch(
        rf"hbtable {re.escape(hbtable.__version__)}, r[0-9a-f]{{12,}}(-dirty)?, .* UTC \d{{4}}\n", run("version").stdout
    )
    assert run("--version").stdout == run("version").stdout
    done = run("config", "-D", "log.durability=os", env={"HBTABLE_SERVER__PORT": "4711"})
    assert done.returncode == 0
    assert "log.durability = 'os'  (-D log.durability)" in done.stdout
    assert "server.port = 4711  (environment HBTABLE_SERVER__PORT)" in done.stdout
    assert "(default)" in done.stdout


def test_the_example_configuration_is_the_one_in_conf() -> None:
    assert run("config", "--example").stdout == Path(ROOT, "conf", "hbtable.toml").read_text(), (
        "generate it again: hbtable config --example > conf/hbtable.toml"
    )


def test_the_example_configuration_can_be_used_with_every_line_enabled(tmp_path: Path) -> None:
    text = Path(ROOT, "conf", "hbtable.toml").read_text()
    enabled = tmp_path / "all.toml"
    enabled.write_text(re.sub(r"^# (\w+ = )", r"\1", text, flags=re.MULTILINE))
    done = run("config", "--config", str(enabled))
    assert done.returncode == 0, done.stderr
    defaults = run("config").stdout
    assert re.sub(r"\(.*\)", "", done.stdout) == re.sub(r"\(.*\)", "", defaults)


# ---------------------------------------------------------------- README


def test_the_programs_in_the_readme_work(serving: Running, tmp_path: Path) -> None:
    text = Path(ROOT, "README.md").read_text()
    first, embedded = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert "import happybase" in first
    done = run_python(first.replace("9090", str(port_of(serving.banner))), str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("com.cnn.www") >= 1
    assert "b'anchor:cnnsi.com': b'CNN'" in done.stdout

    assert "import hbtable" in embedded
    done = run_python(embedded, str(tmp_path))
    assert (done.returncode, done.stdout) == (0, "{b'anchor:cnnsi.com': b'CNN'}\n"), done.stderr


def test_the_table_in_the_readme_has_all_commands() -> None:
    text = Path(ROOT, "README.md").read_text().partition("\n## Commands\n")[2].partition("\n## ")[0]
    named = set(re.findall(r"`(?:hbtable )?([a-z][a-z_-]*)", text))
    assert set(main.commands) - named == set()


def test_the_commands_in_the_readme_exist() -> None:
    text = Path(ROOT, "README.md").read_text()
    for name in re.findall(r"`hbtable ([\w-]+)", text):
        assert run_warm(name, "--help").returncode == 0, name


def test_a_start_with_too_few_descriptors_is_refused(tmp_path: Path) -> None:
    """With 64 a server started, and had none left for a single client."""
    command = [sys.executable, "-m", "hbtable", "start", "--port", "0", "--data", str(tmp_path / "data")]
    limited = ["sh", "-c", 'ulimit -n 64; exec "$@"', "sh", *command]
    refused = subprocess.run(limited, capture_output=True, text=True, timeout=LONG_SECONDS, check=False, cwd=ROOT)
    assert refused.returncode == 2
    assert "may have 64 files and connections open, and a server needs at least 256" in refused.stderr
    assert "ulimit -n 4096" in refused.stderr
    limited[2] = 'ulimit -n 400; exec "$@"'
    limited += ["-D", "thrift.connections=500"]
    refused = subprocess.run(limited, capture_output=True, text=True, timeout=LONG_SECONDS, check=False, cwd=ROOT)
    assert refused.returncode == 2
    assert "-D thrift.connections: thrift.connections = 500 needs 666 open files and connections" in refused.stderr
    assert "or ask for 300 at most" in refused.stderr
    assert not (tmp_path / "data").exists()
