"""The pages in a real browser."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

import hrmdoc
from hrmdoc.reports import review
from tests import waiting
from tests.services import needed
from tests.web.conftest import write_runs
from tests.web.serving import served

pytestmark = pytest.mark.chromium
PATIENCE_S = 40


class Browser:
    """A browser at a server.

    Args:
        address: with the token.
    """

    def __init__(self, driver: webdriver.Chrome, address: str, runs: Path) -> None:
        self.driver, self.runs = driver, runs
        self.base = address.partition("/?")[0]
        driver.get(address)
        self.until("return document.querySelectorAll('#runs tr:not(.waiting)').length == 3")

    def js(self, code: str, *words: Any) -> Any:
        return self.driver.execute_script(code, *words)

    def until(self, code: str) -> Any:
        """Waits until JavaScript says so."""
        return WebDriverWait(self.driver, PATIENCE_S, 0.2).until(lambda driver: driver.execute_script(code))

    def board(self) -> None:
        self.driver.get(self.base + "/")
        self.until("return document.querySelectorAll('#runs tr').length == 3")

    def run(self, name: str) -> None:
        self.board()
        self.driver.get(
            self.js("return document.querySelector(`tr[data-name='${arguments[0]}'] a`).href", name)
        )

    def media(self, width: int, theme: str = "light") -> None:
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        features = [{"name": "prefers-color-scheme", "value": theme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    home = tmp_path_factory.mktemp("chromium")
    runs = write_runs(home / "runs")
    options = webdriver.ChromeOptions()
    options.binary_location = needed("chromium")
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={home / 'profile'}"):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    with served("--allow-apply", runs, home=home) as (_, address):
        driver = webdriver.Chrome(options=options, service=Service(needed("chromedriver")))
        try:
            yield Browser(driver, address, runs)
        finally:
            driver.quit()


@pytest.fixture(autouse=True)
def wide(browser: Browser) -> None:
    browser.media(1280)


def names(browser: Browser) -> list[str]:
    return list(
        browser.js("return [...document.querySelectorAll('#runs tr:not([hidden])')].map(r => r.dataset.name)")
    )


def test_the_board_shows_the_worst_first_and_is_sifted_while_one_types(browser: Browser) -> None:
    browser.board()
    assert names(browser)[-1] == "healthy"
    assert browser.js("return document.querySelector('h1').textContent").startswith("2 of 3 runs")
    browser.driver.find_element(By.ID, "q").send_keys("sick learning")
    assert names(browser) == ["sick"]


def test_hostile_metrics_and_messages_run_nothing(browser: Browser) -> None:
    browser.board()
    assert browser.js("return window.hit") is None
    browser.run("hostile")
    assert browser.js("return window.hit") is None
    assert browser.js("return document.querySelectorAll('img').length") == 0
    assert "window.hit" in browser.js("return document.body.textContent")


def test_no_page_breaks_its_policy_or_asks_anybody_else(browser: Browser) -> None:
    browser.driver.get_log("performance")
    browser.driver.get_log("browser")
    for show in (
        browser.board,
        lambda: browser.run("sick"),
        lambda: browser.driver.get(browser.base + "/playbooks/loss"),
    ):
        show()
    assert browser.driver.get_log("browser") == []
    told = [json.loads(entry["message"])["message"] for entry in browser.driver.get_log("performance")]
    asked = {one["params"]["request"]["url"] for one in told if one["method"] == "Network.requestWillBeSent"}
    assert asked
    assert {urlsplit(url).netloc for url in asked} == {urlsplit(browser.base).netloc}


@pytest.mark.parametrize("path", ["board", "sick", "hostile", "/playbooks/loss", "/playbooks"])
def test_a_phone_needs_no_scrolling_sideways(browser: Browser, path: str) -> None:
    browser.media(390)
    if path.startswith("/"):
        browser.driver.get(browser.base + path)
    else:
        browser.board() if path == "board" else browser.run(path)
    assert browser.js("return document.documentElement.scrollWidth") <= 390


def test_pages_are_dark_where_the_user_wants_it(browser: Browser) -> None:
    lightness = "return getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)"
    browser.board()
    assert min(browser.js(lightness)) > 200
    browser.media(1280, "dark")
    assert max(browser.js(lightness)) < 60


def test_one_cross_hair_goes_through_all_curves_by_mouse_and_by_keys(browser: Browser) -> None:
    browser.run("sick")
    on = "return [...document.querySelectorAll('.h.on text')].map(t => t.textContent)"
    charts = browser.driver.find_elements(By.CSS_SELECTOR, "svg.chart")
    ActionChains(browser.driver).move_to_element(charts[0]).perform()
    assert len(browser.js(on)) == len(charts)
    before = browser.js(on)[0]
    browser.js("arguments[0].focus()", charts[0])
    ActionChains(browser.driver).send_keys(Keys.ARROW_RIGHT).perform()
    after = browser.js(on)[0]
    assert before != after
    assert browser.js("return document.getElementById('said').textContent") == after


def test_a_drag_zooms(browser: Browser) -> None:
    browser.run("sick")
    chart = browser.driver.find_element(By.CSS_SELECTOR, "svg.chart")
    ActionChains(browser.driver).move_to_element_with_offset(chart, -60, 0).click_and_hold().move_by_offset(
        120, 0
    ).release().perform()
    browser.until("return +document.querySelector('svg.chart').dataset.first > 20")
    assert browser.js("return +document.querySelector('svg.chart').dataset.last") < 380
    assert "from=" in browser.driver.current_url


def test_a_playbook_opens_beside_the_run_and_escape_closes_it(browser: Browser) -> None:
    browser.run("sick")
    address = browser.driver.current_url
    browser.js("document.querySelector('a.playbook').click()")
    browser.until("return !document.getElementById('beside').hidden")
    assert browser.js("return document.querySelector('#beside h2') !== null")
    ActionChains(browser.driver).send_keys(Keys.ESCAPE).perform()
    assert browser.js("return document.getElementById('beside').hidden")
    assert browser.driver.current_url == address


def test_a_patch_is_applied_and_taken_back_and_the_page_stays_current(browser: Browser) -> None:
    browser.run("sick")
    address, config = browser.driver.current_url, browser.runs / "sick" / "config.yaml"
    before = config.read_bytes()
    browser.driver.get_log("browser")
    for button in ("button.do", "form[action$='/undo'] button"):
        browser.js(f'document.querySelector("{button}").click()')
        browser.until("return document.querySelector('.said') !== null")
        assert (config.read_bytes() == before) is (button != "button.do")
        assert browser.driver.current_url == address
        browser.js("return refresh()")
        browser.js("document.querySelector('.said').remove()")
    assert browser.driver.get_log("browser") == []


def test_without_scripts_all_can_be_read(browser: Browser) -> None:
    browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.driver.get(browser.base + "/?q=sick")
        rows = browser.driver.find_elements(By.CSS_SELECTOR, "#runs tr")
        assert len(rows) == 1
        address = str(rows[0].find_element(By.CSS_SELECTOR, "a").get_attribute("href"))

        def text() -> str:
            browser.driver.get(address)
            return browser.driver.find_element(By.TAG_NAME, "main").text

        # the config may just have been written by the test before: the run is examined again, then
        waiting.until(lambda: "+learning_rate" in text())
        assert "What to do first" in text()
        assert browser.driver.find_element(By.XPATH, "//button[starts-with(., 'Apply to')]").is_displayed()
    finally:
        browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_the_report_file_tells_values_without_scripts(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "review.html"
    page.write_text(review.html([hrmdoc.analyze(browser.runs / "sick")]), "utf-8")
    browser.driver.get(page.as_uri())
    chart = browser.driver.find_element(By.CSS_SELECTOR, "svg.chart")
    shown = (
        "return [...document.querySelectorAll('.h text')]"
        ".filter(t => getComputedStyle(t).visibility == 'visible').map(t => t.textContent)"
    )
    assert browser.js(shown) == []
    ActionChains(browser.driver).move_to_element(chart).perform()
    assert len(browser.js(shown)) == 1
    assert browser.js(shown)[0].startswith("step ")


def test_a_run_that_turns_sick_is_shown_without_a_reload(browser: Browser) -> None:
    browser.board()
    browser.js("window.stayed = true")
    with (browser.runs / "healthy" / "metrics.jsonl").open("a") as log:
        log.writelines(json.dumps({"step": step, "loss": float("nan")}) + "\n" for step in range(400, 440, 2))
    browser.until("return document.querySelector(\"tr[data-name='healthy']\").dataset.verdict == 'critical'")
    assert browser.js("return document.querySelector('h1').textContent").startswith("3 of 3 runs")
    assert browser.js("return window.stayed")
    assert "healthy: critical" in browser.js("return document.getElementById('said').textContent")
