"""The dashboard as people see it: a server of its own, and a real browser."""

import io
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import zipfile
from contextlib import contextmanager
from statistics import median

import numpy as np
import pytest
from measuring import faults
from test_dashboard import audit_of, expected_cards, npz, samples_of, uneven

import gfscore
from gfscore.dashboard.controls import TEMPERATURES
from gfscore.dashboard.subjects import zoo_subjects
from gfscore.results import Audit
from gfscore.samples import Samples
from many_models import many_models, with_robustness

pytest.importorskip("streamlit")
LIMIT = 20  # MB of an upload
PATIENCE = 180_000  # ms; on a machine with other work a page may take long, and that is no failure of it
MAIN = '[data-testid="stMain"]'
CARDS = """cards => cards.map(card => ["Label", "Value", "Delta"].map(
    part => card.querySelector(`[data-testid="stMetric${part}"]`)?.innerText.trim() ?? ""))"""
# What has the focus, marked as reached: null where nothing has, "again" where it was reached before, but for the cells
# of a table, which take the focus in turns. And what can have the focus, is seen and was not reached: of radio buttons
# arrows reach the others; Streamlit shows the button that folds the sliders away to who comes from there.
REACHED = """() => {
  const e = document.activeElement;
  if (e === document.body) return null;
  if (e.dataset.reached && !e.closest("[data-testid=stDataFrame]")) return "again";
  e.dataset.reached = "yes";
  const label = e.labels?.[0]?.innerText ?? document.getElementById(e.getAttribute("aria-labelledby"))?.innerText;
  return [e.ariaLabel, label, e.innerText, e.tagName, e.id].filter(Boolean).join(" ");
}"""
UNREACHED = """() => [...document.querySelectorAll("a[href], button, input, select, textarea, [tabindex]")].filter(
  e => e.tabIndex >= 0 && !e.disabled && !e.dataset.reached && e.checkVisibility({ visibilityProperty: true })
    && e.type !== "radio" && e.role !== "radio" && e.ariaLabel !== "Collapse sidebar"
    && !e.closest("[data-testid=stDataFrame] table")).map(e => e.outerHTML.slice(0, 200))"""
HOSTILE = [
    "<script>document.title='owned'</script>",
    "**bold** [x](https://evil.example) :smile: :red[r]",
    "</title><img src=x onerror=\"document.title='owned'\">",
    "$x^2$ www.evil.example `code` # head",
]


@contextmanager
def served_process(store, *arguments):
    """The address and the process of a dashboard that runs as long as the block."""
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        port = trial.getsockname()[1]
    command = [sys.executable, "-m", "gfscore", "dashboard", *map(str, arguments), "--port", str(port)]
    environment = os.environ | {"GFSCORE_STORE": str(store)}
    with (store / f"{port}.log").open("w") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, cwd=store)
    try:
        url = f"http://127.0.0.1:{port}"
        deadline = time.monotonic() + PATIENCE / 1000
        while not healthy(url):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.1)
        yield url, process
    finally:
        process.terminate()
        process.wait(PATIENCE / 1000)
    assert "Traceback" not in (store / f"{port}.log").read_text()


@contextmanager
def served(store, *arguments):
    """The address alone."""
    with served_process(store, *arguments) as (url, _):
        yield url


def healthy(url) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/_stcore/health") as answer:
            return answer.status == 200
    except urllib.error.URLError:
        return False


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return tmp_path_factory.mktemp("store")


@pytest.fixture(scope="module")
def zoo(store, browser):
    """The embedded networks; somebody has cancelled the measuring of their radii, which no test here waits for."""
    with served(store, "--upload-limit", LIMIT) as url:
        page = browser.new_page()
        started(page, url)
        page.get_by_text("Measuring radii").wait_for()
        page.get_by_role("button", name="Cancel").click()
        page.get_by_text("it was cancelled").wait_for()
        page.get_by_role("button", name="Measure it").wait_for()
        page.close()
        yield url


@pytest.fixture(scope="module")
def standard(zoo, store):
    """Samples of the zoo's first network: what the page opens on."""
    return zoo_subjects(lambda _done, _name: None, store)[0].samples


@pytest.fixture(scope="module")
def files(store, tmp_path_factory):
    """Logits of digits with their images, then eight audits with robust accuracies, none of which takes a moment."""
    folder, labels = tmp_path_factory.mktemp("files"), gfscore.zoo.test_set().labels
    rng = np.random.default_rng(0)
    lift = np.linspace(0.5, 4, 10)[labels][:, None] * np.eye(10)[labels]
    samples = Samples.of(rng.normal(0, 1, lift.shape) + lift, labels)
    (folder / "digits.npz").write_bytes(npz(samples))
    audit = gfscore.audit_models({"digits": samples})
    models = [with_robustness(audit.model.model_copy(update={"name": f"net {i}"}), i) for i in range(8)]
    audit.model_copy(update={"models": tuple(models)}).save(folder / "audit.json")
    paths = (folder / "digits.npz", folder / "audit.json", "--data", "zoo:digits")
    with served(store, *paths, "--upload-limit", LIMIT) as url:
        yield url, samples


def settled(page) -> None:
    """Wait until the script has run and the charts stand."""
    page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]', timeout=PATIENCE)


def started(page, url) -> None:
    page.set_default_timeout(PATIENCE)
    page.goto(url)
    page.get_by_test_id("stMetric").first.wait_for(timeout=PATIENCE)
    settled(page)


def cards(page) -> dict[str, tuple[str, str]]:
    """The cards of the score: those of robust accuracy come when radii are measured."""
    found = page.get_by_test_id("stMetric").evaluate_all(CARDS)  # in one look: cards come and go while the script runs
    return {label: (value, delta) for label, value, delta in found if " at " not in label}


def until(page, condition, seconds=PATIENCE / 1000) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "nothing happened"
        page.wait_for_timeout(10)


def press(page, slider: str, key: str, times: int = 1) -> None:
    handle = page.get_by_role("slider", name=slider)
    handle.focus()
    for _ in range(times):
        handle.press(key)


def choose(page, box: str, name: str) -> None:
    """Take an entry of a box."""
    page.get_by_role("combobox", name=box, exact=True).click()
    page.get_by_role("option", name=name, exact=True).click()
    settled(page)


def class_box(page):
    return page.get_by_role("combobox", name="Class")


def test_the_zoo_opens_and_the_temperature_slider_gives_the_right_numbers(page, zoo, standard, artefact):
    started(page, zoo)
    assert cards(page) == expected_cards(gfscore.audit(standard.logits, standard.labels).model)
    press(page, "Temperature T", "ArrowRight", 5)
    wanted = expected_cards(audit_of(standard, temperature=TEMPERATURES[45]))
    until(page, lambda: cards(page) == wanted)
    settled(page)
    page.set_viewport_size({"width": 1400, "height": 2100})
    settled(page)
    page.screenshot(path=artefact("page.png"))


def test_a_click_on_a_class_shows_its_samples(page, files, artefact):
    started(page, files[0])
    chart = page.get_by_test_id("stVegaLiteChart").first
    chart.locator('path[aria-label*="name: 3;"]').last.click()
    until(page, lambda: "3" in class_box(page).input_value())
    settled(page)
    assert page.get_by_test_id("stImage").locator("img").count() == 12
    assert page.get_by_text("Most often mistaken for").is_visible()
    page.set_viewport_size({"width": 1400, "height": 2100})
    settled(page)
    page.screenshot(path=artefact("class.png"))


def test_the_table_sorts_and_its_rows_select(page, files):
    url, samples = files
    started(page, url)
    choose(page, "Model", "net 0")
    page.get_by_text("Worst class:").wait_for()
    settled(page)
    scores = [entry.score for entry in gfscore.audit(samples.logits, samples.labels).model.classes]
    table = page.get_by_test_id("stDataFrame").first
    table.locator("td").first.wait_for(state="attached")

    def click(x: int, y: int) -> None:  # the table draws itself: only places can be clicked on
        table.scroll_into_view_if_needed()
        box = table.locator("canvas").first.bounding_box()
        page.mouse.click(box["x"] + x, box["y"] + y)
        page.wait_for_timeout(300)

    def selects(position: int, wanted: int) -> None:
        click(17, 53 + 35 * position)  # the box left of the row
        until(page, lambda: class_box(page).input_value() == str(wanted))
        settled(page)

    selects(4, wanted=4)
    click(345, 18)  # the heading of the scores, left of its menu
    settled(page)
    for position in (2, 9):
        selects(position, wanted=sorted(range(10), key=lambda k: scores[k])[position])


def test_models_compare_and_downloads_work(page, zoo, standard, artefact):
    started(page, zoo)
    press(page, "Temperature T", "ArrowRight", 2)
    page.get_by_role("tab", name="Compare models").click()
    page.get_by_text("What changes from one model to another").wait_for(timeout=PATIENCE)
    assert page.locator(".gfscore-legend [role=listitem]").count() == 8
    page.get_by_text("More pictures").click()
    page.get_by_text("Score of each model, and how unevenly it is spread").wait_for(timeout=PATIENCE)
    settled(page)
    page.set_viewport_size({"width": 1400, "height": 3600})
    settled(page)
    page.screenshot(path=artefact("compare.png"))
    page.get_by_role("tab", name="Download").click()
    page.get_by_role("button", name="Clear all").click()
    page.get_by_text("Choose at least one model.").wait_for()
    page.get_by_role("combobox", name="Models").fill("standard")
    page.get_by_role("option", name="standard").click()
    page.keyboard.press("Escape")  # the list lies over the button
    page.get_by_role("button", name="Prepare the files").click()

    def taken(label) -> bytes:
        with page.expect_download(timeout=PATIENCE) as download:
            page.get_by_role("button", name=label).click()
        return download.value.path().read_bytes()

    audit = Audit.from_json(taken("Result (JSON)"))
    wanted = gfscore.audit(standard.logits, standard.labels, temperature=TEMPERATURES[42]).model
    assert audit.rdi.value == pytest.approx(wanted.rdi.value, abs=1e-12)
    press(page, "Threshold τ", "ArrowRight")  # the script runs again
    report = taken("Report (HTML)").decode()
    assert report.startswith("<!DOCTYPE html>")
    assert "standard" in report
    with zipfile.ZipFile(io.BytesIO(taken("Figures (ZIP)"))) as archive:
        assert "forest.svg" in archive.namelist()
    press(page, "Fairness weight λ", "ArrowRight")
    page.get_by_role("button", name="Report (HTML)").wait_for(state="detached")  # it would be of other settings


def upload(page, *files) -> None:
    page.locator('input[type="file"]').set_input_files(files if len(files) > 1 else files[0])


def test_uploads_work_and_bad_ones_are_sentences(page, zoo, tmp_path, artefact):
    started(page, zoo)
    samples = samples_of(class_names=HOSTILE)
    upload(page, {"name": "<img src=x onerror=1>.npz", "mimeType": "", "buffer": npz(samples)})
    wanted = expected_cards(gfscore.audit_models({"x": samples}).model)
    until(page, lambda: cards(page) == wanted)
    settled(page)
    assert page.title() == "gfscore"
    assert page.locator('img[src="x"], a[href*="evil"]').count() == 0
    assert class_box(page).input_value() == HOSTILE[0]
    press(page, "Threshold τ", "End")
    page.get_by_text(f"{HOSTILE[0]} has the lowest").wait_for()
    page.set_viewport_size({"width": 1400, "height": 2100})  # a list at the edge is closed by scrolling
    settled(page)
    for name in HOSTILE[1:]:
        class_box(page).click()
        page.get_by_role("option", name=name, exact=True).click()
        settled(page)
    page.screenshot(path=artefact("hostile.png"))

    upload(page, {"name": "torn.npz", "mimeType": "", "buffer": npz(samples)[:150]})
    page.get_by_text("torn.npz: is not an npz archive, or is cut short.").wait_for()
    huge = tmp_path / "huge.npz"
    with huge.open("wb") as file:
        file.truncate(1 << 30)
    upload(page, huge)
    page.get_by_text(f"File must be {LIMIT}.0MB or smaller.").wait_for(state="attached")  # for screen readers only
    box = page.get_by_text(f"Larger than {LIMIT} MB is refused.").bounding_box()
    assert box["width"] > 100
    assert box["height"] > 10
    page.screenshot(path=artefact("refused.png"))
    assert cards(page) == wanted  # what was open stays open


def test_the_server_refuses_what_the_page_would_not_send(page, zoo):
    started(page, zoo)
    with page.expect_request(lambda request: request.method == "PUT") as sent:
        upload(page, {"name": "torn.npz", "mimeType": "", "buffer": b"x"})
    url, token = sent.value.url, sent.value.headers.get("x-xsrftoken")
    headers = {} if token is None else {"X-Xsrftoken": token}

    def answer(address: str, megabytes: int) -> int:
        file = {"name": "a.npz", "mimeType": "application/zip", "buffer": bytes(megabytes << 20)}
        return page.request.put(address, headers=headers, multipart={"a.npz": file}).status

    page.get_by_text("torn.npz: is not an npz archive").wait_for(timeout=PATIENCE)
    assert answer(url, LIMIT - 1) == 204  # the frame around a file counts, too
    assert answer(url, LIMIT + 1) == 413
    assert answer(f"{zoo}/_stcore/upload_file/no-session/no-file", 1) == 400


def walk_by_keyboard(page) -> list[str]:
    """What the Tab key comes by, once round the whole page; nothing that can have the focus may be left out."""
    page.evaluate("document.querySelectorAll('[data-reached]').forEach(e => delete e.dataset.reached)")
    found: list[str] = []
    for _ in range(400):
        page.keyboard.press("Tab")
        reached = page.evaluate(REACHED)
        if reached == "again":
            break
        if reached is not None:  # beyond the end of the page
            found.append(reached)
    assert page.evaluate(UNREACHED) == []
    return found


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.long)])
def test_every_tab_is_accessible_and_the_keyboard_reaches_all_of_it(open_page, files, accessibility, artefact, scheme):
    page = open_page(color_scheme=scheme, viewport={"width": 1200, "height": 2400})
    started(page, files[0])
    choose(page, "Model", "net 0")
    page.get_by_text("Worst class:").wait_for()
    settled(page)  # what is old is grey until then
    assert accessibility(page, MAIN) == []  # curves; below, samples
    upload(page, {"name": "uneven.npz", "mimeType": "", "buffer": npz(uneven())})
    page.get_by_text("uneven: ").first.wait_for()
    tabs = {
        "One model": (
            "Its samples",
            ["Threshold", "Add files", "Remove uneven", "Could chance", "Scores by temperature"],
        ),
        "Compare models": ("What changes", ["Models", "More pictures", "From", "To"]),
        "Repair": ("Find the", ["Model to repair", "The mean may lose", "Find the trade-offs"]),
        "Download": ("Format of the figures", ["Format of the figures", "Prepare the files"]),
    }
    for tab, (shown, wanted) in tabs.items():
        page.get_by_role("tab", name=tab).click()
        page.get_by_text(shown).first.wait_for(timeout=PATIENCE)
        settled(page)
        if tab != "Compare models" or scheme == "dark":  # from cell to cell through its tables: that takes long
            reached = walk_by_keyboard(page)
            for name in (tab, "Size of the attack, eps", *wanted):
                assert any(name in text for text in reached), name
        if tab == "Repair":
            page.get_by_role("button", name="Find the trade-offs").click()
            page.get_by_role("button", name="Bias of each class").wait_for()
            settled(page)
        page.screenshot(path=artefact(f"{tab.split()[0]}.png"))
        assert accessibility(page, MAIN) == []
    assert accessibility(page, '[data-testid="stSidebar"]') == []


def test_settings_of_the_folder_switch_no_guard_off(open_page, tmp_path):
    (tmp_path / ".streamlit").mkdir()
    (tmp_path / ".streamlit" / "config.toml").write_text(
        "[server]\nenableXsrfProtection = false\nenableCORS = false\n"
        'corsAllowedOrigins = ["http://evil.example"]\n[theme]\nfont = "E:http://evil.example/x.css"\n'
    )
    (tmp_path / "net.npz").write_bytes(npz(samples_of()))
    with served(tmp_path, tmp_path / "net.npz") as url:
        page = open_page()
        started(page, url)  # at the end it must not have asked another host
        for origin, wanted in (("http://evil.example", 403), (url, 101)):
            assert knock(url, origin) == wanted
        page.goto("about:blank")  # it would miss the server


def knock(url: str, origin: str) -> int:
    """The status that a web site of some origin gets when it asks for the page's numbers."""
    host, port = url.removeprefix("http://").split(":")
    lines = (
        "GET /_stcore/stream HTTP/1.1",
        f"Host: {host}:{port}",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
        f"Origin: {origin}",
    )
    with socket.create_connection((host, int(port)), timeout=60) as line:
        line.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        return int(line.recv(64).split()[1])


def timed_moves(page, moves=6) -> list[float]:
    """Seconds from a key press to the last picture, of each move of the temperature slider."""
    found = []
    for _ in range(moves):
        before = cards(page)
        start = time.perf_counter()
        press(page, "Temperature T", "ArrowRight")
        until(page, lambda before=before: cards(page) != before)
        settled(page)
        found.append(time.perf_counter() - start)
    return found


def say(what, seconds) -> None:
    sys.stdout.write(f"{what}: {', '.join(f'{each:.2f}' for each in seconds)} s a move\n")


@pytest.mark.long
@pytest.mark.parametrize(("n", "k", "limit"), [(10_000, 10, 0.5), (50_000, 1000, 1.5)])
def test_a_slider_is_answered_in_time(page, store, tmp_path, n, k, limit, artefact):
    rng = np.random.default_rng(0)
    labels = np.arange(n) % k
    logits = rng.normal(0, 1, (n, k)).astype(np.float32)
    logits[np.arange(n), labels] += rng.normal(4, 1, n)
    np.savez(tmp_path / "net.npz", logits=logits, labels=labels)
    with served(store, tmp_path / "net.npz") as url:
        started(page, url)
        seconds = timed_moves(page)
        page.screenshot(path=artefact("page.png"))
        page.goto("about:blank")  # it would miss the server
    say(f"{n:,} x {k:,}", seconds)
    assert median(seconds) < limit


@pytest.mark.long
def test_real_logits_of_a_thousand_classes(page, store, realdata, artefact):
    with served(store, realdata / "logits" / "imagenet5k_efficientnet_lite0.npz") as url:
        started(page, url)
        seconds = timed_moves(page)
        page.set_viewport_size({"width": 1400, "height": 2600})
        page.wait_for_timeout(1000)
        page.screenshot(path=artefact("page.png"))
        page.goto("about:blank")
    say("real logits, 5,000 x 1,000", seconds)
    assert median(seconds) < 1.5


def test_on_a_phone_all_can_be_seen_to_its_edge(open_page, files, artefact):
    page = open_page(viewport={"width": 400, "height": 4200})
    started(page, files[0])
    choose(page, "Model", "net 0")
    page.get_by_text("by the size of the attack").first.wait_for()
    assert faults(page, MAIN) == []  # beside it the sliders wait, off the screen
    for chart in page.get_by_test_id("stVegaLiteChart").all():
        drawn = chart.locator("svg").first.bounding_box()
        assert drawn["x"] + drawn["width"] <= 400 + 1
    places = [card.bounding_box() for card in page.get_by_test_id("stMetric").all()]
    order = [(round(place["y"]), place["x"]) for place in places]
    assert order == sorted(order)  # read from left to right, line by line
    page.screenshot(path=artefact("phone.png"))
    page.get_by_role("tab", name="Compare models").click()
    page.get_by_text("What changes").first.wait_for()
    settled(page)
    assert faults(page, MAIN) == []
    assert page.locator(".gfscore-legend").bounding_box()["height"] <= 0.3 * 4200 + 1


@pytest.mark.long
@pytest.mark.parametrize("look", [{"width": 1400}, {"width": 400}, {"width": 1400, "dark": True}], ids=str)
@pytest.mark.parametrize(("m", "k"), [(2, 2), (50, 10), (2, 1000)])
def test_two_classes_fifty_models_and_a_thousand_classes_fit(open_page, store, tmp_path, artefact, m, k, look):
    many_models(m, k, 5).save(tmp_path / "audit.json")
    scheme = "dark" if "dark" in look else "light"
    page = open_page(color_scheme=scheme, viewport={"width": look["width"], "height": 2400})
    with served(store, tmp_path) as url:
        started(page, url)
        for tab in ("One model", "Compare models", "Repair", "Download"):
            page.get_by_role("tab", name=tab).click()
            page.get_by_role("tab", name=tab, selected=True).wait_for()
            settled(page)
            assert faults(page, MAIN) == []
            page.screenshot(path=artefact(f"{tab.split()[0]}.png"))
        page.goto("about:blank")  # it would miss the server


@pytest.mark.long
def test_the_zoo_measures_its_radii_beside_the_page(page, tmp_path):
    with served(tmp_path) as url:
        started(page, url)
        page.get_by_text("Measuring radii").wait_for()
        page.get_by_text("Worst class:").wait_for(timeout=PATIENCE)
        page.get_by_text("Measuring radii").wait_for(state="detached", timeout=3 * PATIENCE)
        page.get_by_text("by the size of the attack").first.wait_for()  # robust accuracy leads
        page.goto("about:blank")
