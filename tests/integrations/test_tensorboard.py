"""The tab of TensorBoard: served by the real program, over HTTP and in Chromium."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
import urllib.error
import urllib.request
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.services import free_port, needed, running
from tests.waiting import until

pytest.importorskip("tensorboard", reason="tensorboard is not installed")
pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
HOSTILE = "<img src=x onerror=alert(1)>"


class Server(NamedTuple):
    base: str
    runs: Path

    def get(self, path: str) -> tuple[str, str]:
        """The text and its type."""
        with urllib.request.urlopen(f"{self.base}/data/plugin/hrmdoc/{path}", timeout=60) as answer:
            return answer.read().decode(), answer.headers["Content-Type"]

    def rows(self) -> dict[str, dict[str, Any]]:
        return {run["name"]: run for run in json.loads(self.get("runs")[0])["runs"]}


def write(folder: Path, steps: int, broken: int = 10**9) -> None:
    """A run of so many steps; its loss is NaN from step `broken` on."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = (
        {"step": n, "loss": float("nan") if n >= broken else 0.2 + 2 / (1 + n / 9) + n % 3 / 50}
        for n in range(steps)
    )
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def announced(folder: Path) -> str:
    """A folder for PYTHONPATH, where the entry point stands as an installed hrmdoc has it."""
    table = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    info = folder / "announced" / "hrmdoc_announced-0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: hrmdoc-announced\nVersion: 0\n")
    (info / "entry_points.txt").write_text(
        "[tensorboard_plugins]\n"
        + "".join(f"{name} = {value}\n" for name, value in table["tensorboard_plugins"].items())
    )
    return str(info.parent)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home = tmp_path_factory.mktemp("tensorboard")
    runs = home / "runs"
    write(runs / "well", 300)
    write(runs / HOSTILE, 100, broken=60)
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    if not any(one.name == "hrmdoc" for one in entry_points(group="tensorboard_plugins")):
        paths.insert(0, announced(home))
    port = free_port()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
        patch.setenv("XDG_CACHE_HOME", str(home / "cache"))
        words: list[str | Path] = [
            "-m",
            "tensorboard.main",
            "--logdir",
            runs,
            "--port",
            str(port),
            "--load_fast",
            "false",
        ]
        with running(port, sys.executable, *words, log=home / "tensorboard.log"):
            yield Server(f"http://127.0.0.1:{port}", runs)


def test_tensorboard_lists_the_tab(server: Server) -> None:
    with urllib.request.urlopen(f"{server.base}/data/plugins_listing", timeout=60) as answer:
        listed = json.loads(answer.read())["hrmdoc"]
    assert (listed["enabled"], listed["tab_name"]) == (True, "Diagnosis")
    assert listed["loading_mechanism"]["module_path"] == "/data/plugin/hrmdoc/index.js"


def test_the_runs_are_diagnosed_and_a_run_that_grows_is_looked_at_again(server: Server) -> None:
    until(lambda: len(server.rows()) == 2)
    rows = server.rows()
    assert rows[HOSTILE]["verdict"] == "critical"
    assert rows["well"]["verdict"] in ("healthy", "info")
    assert next(iter(rows)) == HOSTILE, "the worst first"
    write(server.runs / "later", 100, broken=1000)
    until(lambda: "later" in server.rows())
    before = server.rows()["later"]
    write(server.runs / "later", 120, broken=100)
    until(lambda: server.rows()["later"]["verdict"] == "critical")
    assert server.rows()["later"]["version"] > before["version"]
    shutil.rmtree(server.runs / "later")
    until(lambda: "later" not in server.rows())


def test_the_page_of_a_run_marks_its_curve_and_escapes_its_words(server: Server) -> None:
    until(lambda: HOSTILE in server.rows())
    text, kind = server.get(f"run?key={server.rows()[HOSTILE]['key']}")
    html = json.loads(text)["html"]
    assert kind.startswith("application/json")
    assert "Loss is NaN or infinite, from step 60" in html
    assert "<svg" in html
    assert '<ol class="marks">' in html
    assert "<img" not in html
    with pytest.raises(urllib.error.HTTPError, match="404"):
        server.get("run?key=../../etc/passwd")


def test_what_is_no_local_folder_is_said(tmp_path: Path) -> None:
    program = (
        "from tensorboard.plugins.base_plugin import TBContext\n"
        "from werkzeug.test import Client\n"
        "from hrmdoc.integrations.tensorboard import HrmdocPlugin\n"
        "plugin = HrmdocPlugin(TBContext(logdir='gs://bucket/runs'))\n"
        "print(plugin.is_active(), Client(plugin.get_plugin_apps()['/runs']).get('/').text)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("False")
    assert "the tab reads local folders" in done.stdout


def test_tensorboard_starts_without_the_rules_being_read() -> None:
    program = (
        "import sys, hrmdoc.integrations.tensorboard\n"
        "print([name for name in sys.modules if name.startswith('hrmdoc.') and 'integrations' not in name])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.chromium
def test_the_tab_shows_the_worst_run_and_another_by_the_keyboard(server: Server, tmp_path: Path) -> None:
    pytest.importorskip("selenium")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.keys import Keys

    options = webdriver.ChromeOptions()
    options.binary_location = needed("chromium")
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}"):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(needed("chromedriver")))
    try:
        driver.get(f"{server.base}/#hrmdoc")
        until(lambda: bool(driver.find_elements("tag name", "iframe")))
        driver.switch_to.frame(driver.find_elements("tag name", "iframe")[0])
        until(lambda: "Loss is NaN" in _text(driver, "main"))
        assert HOSTILE in _text(driver, "tbody")
        assert driver.execute_script("return document.querySelectorAll('img').length") == 0
        assert driver.execute_script("return document.querySelectorAll('main svg.chart').length") >= 1
        button = driver.find_element("css selector", "tr[data-name='well'] button")
        button.send_keys(Keys.ENTER)
        until(lambda: "Loss is NaN" not in _text(driver, "main"))
        assert driver.switch_to.active_element.text == "well", "the focus stays where it was"
        write(server.runs / "well", 320, broken=300)
        until(lambda: "Loss is NaN" in _text(driver, "main"))
        log: Any = driver.get_log("performance")  # type: ignore[no-untyped-call]
        requests = [json.loads(one["message"])["message"] for one in log]
        urls = [
            one["params"]["request"]["url"]
            for one in requests
            if one["method"] == "Network.requestWillBeSent"
        ]
        ours = [url for url in urls if "hrmdoc" in url]
        assert ours
        assert all(url.startswith(server.base) for url in ours)
    finally:
        driver.quit()


def _text(driver: Any, tag: str) -> str:
    found: str = driver.execute_script("return document.querySelector(arguments[0])?.innerText ?? ''", tag)
    return found
