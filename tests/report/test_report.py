# SPDX-License-Identifier: GPL-2.0-or-later
"""The report as a reader gets it: opened in a real browser, offline, and looked at.

An empty chart is the failure that no exception reports, so drawn areas are measured, and the
measuring is itself pointed at a page whose data was taken out.
"""

from __future__ import annotations

import itertools
import re
import shutil
from collections.abc import Callable, Iterator
from functools import cache, partial
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Literal
from urllib.parse import unquote

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright
from support import lifesamples, samples

from nandlab import report
from nandlab.analysis.figures import groups, totals
from nandlab.base import units
from nandlab.report.page import viewreports
from nandlab.results.record import Trial
from nandlab.results.seals import unseal_json as unsealed

pytestmark = pytest.mark.xdist_group("report")
CHROMIUM = shutil.which("chromium")
CHARTS = {
    f"ffsmark-{name}"
    for name in (
        ["time", "throughput", "flash", "latency", "wear-map", "wear-histogram", "ageing", "state"]
    )
}

VERDICT = {"verdict"}
"""The chart on the first screen."""
LIFE_CHARTS = {f"lifetime-{name}" for name in ("deaths", "wear-map", "wear-histogram")}

DRAWN_AREA = """plot => {
  const marks = plot.querySelectorAll(
    'g.role-mark.mark-rect path, g.role-mark.mark-symbol path, g.role-mark.mark-image image');
  let area = 0;
  for (const mark of marks) {
    const box = mark.getBoundingClientRect();
    const legend = mark.closest('g.role-legend');
    const seen = getComputedStyle(mark).opacity !== '0' && mark.getAttribute('opacity') !== '0';
    if (!legend && seen) area += box.width * box.height;
  }
  return area;
}"""
"""Px^2 of bars, points and images of the data; axes, legends and words do not count."""


@pytest.fixture(scope="module")
def page_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return report.write_run_report(samples.folder(tmp_path_factory.mktemp("study") / "run"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.fail("chromium is missing: setup/install-packages setup/apt-test.txt")
    with sync_playwright() as p:
        chromium = p.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        yield chromium
        chromium.close()


def opened(browser: Browser, path: Path, width: int) -> tuple[Page, list[str]]:
    """The page once every chart is drawn, and everything that it should not have done."""
    page = browser.new_page(viewport={"width": width, "height": 900})
    wrong: list[str] = []
    page.on("console", lambda m: wrong.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda e: wrong.append(str(e)))
    page.on(
        "request",
        lambda r: None if r.url.startswith(("file:", "data:")) else wrong.append(r.url),
    )
    page.goto(path.as_uri())
    page.wait_for_function("!document.querySelector('.plot:not([data-drawn])')", timeout=60_000)
    return page, wrong


Shown = Callable[[Path, int], tuple[Page, list[str]]]


@pytest.fixture(scope="module")
def shown(browser: Browser) -> Shown:
    """opened() by path and width, once for each: for tests that only look at a page."""
    return cache(partial(opened, browser))


def drawn_areas(page: Page) -> dict[str, float]:
    plots = page.query_selector_all(".plot")
    return {str(p.get_attribute("data-chart")): float(p.evaluate(DRAWN_AREA)) for p in plots}


@pytest.fixture(scope="module")
def life_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    trials = lifesamples.lifetime_study()
    return report.write_run_report(samples.folder(tmp_path_factory.mktemp("life") / "run", trials))


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 400])
def test_every_chart_is_drawn_offline_and_nothing_overflows(
    shown: Shown, page_path: Path, width: int
) -> None:
    page, wrong = shown(page_path, width)
    areas = drawn_areas(page)
    assert wrong == []
    assert set(areas) == CHARTS | VERDICT
    assert {name for name, area in areas.items() if area < 100} == set()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    form = "narrow" if width == 400 else "wide"
    assert page.evaluate("[...document.querySelectorAll('.plot')].map(p => p.dataset.drawn)") == [
        form
    ] * len(CHARTS | VERDICT)


@pytest.mark.browser
@pytest.mark.parametrize(("width", "height"), [(1280, 900), (390, 844)])
def test_the_first_screen_has_the_verdict_and_a_chart(
    shown: Shown, page_path: Path, width: int, height: int
) -> None:
    page, _ = shown(page_path, width)
    for part in (".lead", "table.judged tbody tr:last-child", "#verdict .plot"):
        box = page.locator(part).first.bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= height, part


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
def test_one_file_without_scripts_has_every_chart(
    browser: Browser, page_path: Path, tmp_path: Path, width: int
) -> None:
    alone = tmp_path / "mailed.html"
    alone.write_bytes(page_path.read_bytes())
    context = browser.new_context(
        java_script_enabled=False, viewport={"width": width, "height": 900}
    )
    page = context.new_page()
    wrong: list[str] = []
    page.on("request", lambda r: None if r.url == alone.as_uri() else wrong.append(r.url))
    page.goto(alone.as_uri())
    for plot in page.locator(".plot").all():
        seen = [svg for svg in plot.locator("svg.marks").all() if svg.is_visible()]
        assert len(seen) == 1
        box = seen[0].bounding_box()
        assert box is not None and box["height"] > 40
    assert page.locator(".plot").count() == len(CHARTS | VERDICT)
    assert [url for url in wrong if not url.startswith("data:")] == []
    context.close()


def test_charts_come_before_paragraphs_and_each_part_is_in_the_contents(page_path: Path) -> None:
    text = page_path.read_text()
    places = [text.index(f'id="{name}"') for name in ("verdict", "figures-ffsmark", "ffsmark")]
    assert places == sorted(places)
    contents = text[text.index('<nav class="contents"') : text.index("</nav>")]
    linked = re.findall(r'href="#([^"]+)"', contents)
    assert {"limits", "figures-ffsmark", "ffsmark", "measured", "every-trial"} <= set(linked)
    assert text.count("Not reached by") <= 1


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 400])
def test_a_life_has_its_charts_and_no_others(shown: Shown, life_path: Path, width: int) -> None:
    page, wrong = shown(life_path, width)
    areas = drawn_areas(page)
    assert wrong == []
    assert set(areas) == LIFE_CHARTS
    assert {name for name, area in areas.items() if area < 100} == set()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    lines = page.locator("[data-chart=lifetime-deaths] g.mark-line path")
    boxes = [b for line in lines.all() if (b := line.bounding_box())]
    assert len(boxes) == 6
    assert min(box["width"] * box["height"] for box in boxes) > 100


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_whoever_reads_it_finds_no_fault_that_axe_knows(
    shown: Shown, page_path: Path, life_path: Path, width: int, scheme: Literal["light", "dark"]
) -> None:
    for path in (page_path, life_path):
        page, _ = shown(path, width)
        page.emulate_media(color_scheme=scheme)
        assert Axe().run(page).response["violations"] == []


@pytest.mark.browser
def test_the_tab_key_need_not_stop_at_each_figure(shown: Shown, page_path: Path) -> None:
    page, _ = shown(page_path, 1280)
    stops = page.evaluate(
        """[...document.querySelectorAll("a[href], summary, [tabindex]")].filter(
             e => e.tabIndex >= 0 && e.checkVisibility({contentVisibilityAuto: true})).length"""
    )
    assert 20 < stops < 120


@pytest.mark.browser
def test_a_link_to_a_trial_unfolds_its_row_and_print_the_tables(
    browser: Browser, page_path: Path
) -> None:
    page, _ = opened(browser, page_path, 1280)
    page.locator("#ffsmark td.ids a").first.click()
    assert page.locator("tr:target").is_visible()
    folded = "document.querySelectorAll('details:not(.aside):not([open])').length"
    before = page.evaluate(folded)
    assert before
    for event, count in (("beforeprint", 0), ("afterprint", before)):
        page.evaluate(f"dispatchEvent(new Event('{event}'))")
        assert page.evaluate(folded) == count
    page.close()


@pytest.mark.browser
def test_the_form_follows_the_width_both_ways(browser: Browser, page_path: Path) -> None:
    page, wrong = opened(browser, page_path, 1280)
    for width, form in ((400, "narrow"), (1280, "wide")):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function(f"!document.querySelector('.plot:not([data-drawn={form}])')")
    assert wrong == []
    page.close()


@pytest.mark.browser
@pytest.mark.parametrize("written", ["page_path", "life_path"])
def test_a_chart_without_its_data_is_caught(
    browser: Browser, request: pytest.FixtureRequest, tmp_path: Path, written: str
) -> None:
    """The check of the checker: data taken out, marks gone, area nought."""
    text = request.getfixturevalue(written).read_text()
    emptied = re.sub(
        r'"(trials|ends|summary|whole|images|bins|bars)":\[\{.*?\}\](?=[,}])', r'"\1":[]', text
    )
    assert len(emptied) < len(text)
    (tmp_path / "index.html").write_text(emptied)
    page, _ = opened(browser, tmp_path / "index.html", 1280)
    assert set(drawn_areas(page).values()) == {0}
    page.close()


@pytest.mark.browser
def test_long_labels_are_neither_cut_nor_over_the_edge(browser: Browser, tmp_path: Path) -> None:
    lives = [lifesamples.lifetime_trial("ubifs", options=o) for o in samples.LONG_OPTIONS]
    named = [t.model_copy(update={"id": f"life-{i}"}) for i, t in enumerate(lives)]
    path = report.write_run_report(samples.folder(tmp_path / "run", [*samples.big_study(), *named]))
    for width in (1280, 400):
        page, wrong = opened(browser, path, width)
        assert wrong == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        texts = page.locator(".plot text").all_text_contents()
        assert not [t for t in texts if "…" in t]
        outside = page.evaluate(
            """[...document.querySelectorAll('.plot svg text')].filter(t => {
                 const own = t.getBoundingClientRect();
                 const all = t.ownerSVGElement.getBoundingClientRect();
                 return own.width && (own.left < all.left - 1 || own.right > all.right + 1);
               }).map(t => t.textContent)"""
        )
        assert outside == []
        page.close()


@pytest.mark.browser
def test_a_single_trial_makes_a_report(browser: Browser, tmp_path: Path) -> None:
    trial = samples.trial("ubifs")
    page, wrong = opened(
        browser, report.write_run_report(samples.folder(tmp_path / "run", [trial])), 1280
    )
    areas = drawn_areas(page)
    assert wrong == []
    assert set(areas) == (CHARTS | VERDICT) - {"ffsmark-ageing"}
    assert min(areas.values()) > 0
    page.close()


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.targets += [v for k, v in attrs if k in ("href", "src") and v]


def test_every_link_leads_to_a_file_that_is_there(page_path: Path) -> None:
    text = page_path.read_text()
    links = _Links()
    links.feed(text)
    assert len(links.targets) > 50
    for target in set(links.targets):
        if target.startswith("#"):
            assert f'id="{unquote(target[1:])}"' in text
        else:
            assert target.startswith("data:") or (page_path.parent / unquote(target)).is_file()


def test_a_figure_links_to_the_trial_that_has_it(page_path: Path) -> None:
    """From the page alone: a row's median and range of transactions are in the files they link."""
    section = page_path.read_text().partition('id="ffsmark">')[2]
    overview = re.split("</?tbody>", section)[1]
    rows = [
        re.findall(r'<td [^>]*class="num">(.*?)</td>', row)[0]
        for row in overview.split("</tr>")[:-1]
    ]
    links = [re.findall(r'<a href="#([^"]+)" [^>]*>([^<]+)</a>', cell) for cell in rows]
    assert {len(found) for found in links} >= {3}
    every = dict(re.findall(r'<tr id="([^"]+)"><td><a href="([^"]+)">', page_path.read_text()))
    for row, said in itertools.chain(*links):
        target = every[unquote(row)]
        trial = Trial.model_validate(unsealed((page_path.parent / unquote(target)).read_bytes()))
        total = totals.compute_phase_ns(trial, "transactions")
        assert total is not None
        assert said == units.format_time(total)


def test_what_failed_is_told_before_the_answers_by_topic(page_path: Path) -> None:
    text = page_path.read_text()
    said = text.index("3 of 33 trials are not in the figures")
    assert said < text.index("finishes the transactions first")
    for expected in (
        "No space left on device (ENOSPC)",
        "ubifs: error: &lt;no space&gt;",
        "no answer within 600 s of host time",
        "never-run-1",
        "asked 25 % invalid, the chip held 19 %",
    ):
        assert expected in text
    assert "<no space>" not in text


def test_doubts_stand_in_the_box_of_the_answer_and_beside_their_sentences(page_path: Path) -> None:
    head = page_path.read_text().partition('id="figures-ffsmark"')[0]
    for expected in (
        "What limits the answer",
        "1 trial of 32 carries the doubt state_missed.",
        "asked 25 % invalid, the chip held 19 %",
        "Take JFFS2 (power cuts not tried)",
        "Who promises what after a power cut",
    ):
        assert expected in head
    fresh, aged = page_path.read_text().split('<h3 class="state">')[1:3]
    marks = re.findall(r'<span class="doubt">In doubt: ([^<]*)</span>', aged)
    doubts = [f"{code} (YAFFS2 1 of 5 trials)" for code in ("kernel_log", "state_missed")]
    assert doubts in [mark.split("; ") for mark in marks]
    assert "In doubt" not in fresh


def test_a_life_is_told_with_its_end(life_path: Path) -> None:
    text = life_path.read_text()
    for expected in (
        "UBIFS lives longest: 525 MiB (460 MiB to 525 MiB or more) written by the load.",
        "1 of 3 still lived when the rounds ended",
        "endurance 50 ± 20 %",
        ">3 of 3 gave up with “ffsmark: write f0001283: No space left on device (ENOSPC)”</td>",
    ):
        assert expected in text
    assert "No transaction time was measured." not in text


def test_what_is_assumed_of_the_chip_is_told(page_path: Path) -> None:
    text = page_path.read_text()
    assert "<td>geometry.nop</td><td>4.</td>" in text
    assert "<td>Data sheet, page 1.</td>" not in text.partition("Figures:")[0]


def test_the_same_run_gives_the_same_bytes(page_path: Path, tmp_path: Path) -> None:
    """Only its folder is named as it is."""
    again = report.write_run_report(samples.folder(tmp_path / "run"))
    places = [(page.parent, str(page.parent.parent).encode()) for page in (page_path, again)]
    for name in sorted(path.name for path in page_path.parent.iterdir()):
        one, other = ((at / name).read_bytes().replace(run, b"") for at, run in places)
        assert one == other


def test_the_page_names_run_and_conditions(page_path: Path) -> None:
    text = unescape(page_path.read_text())
    run = page_path.parent.parent
    assert f"<code>nandlab advise {run} --limit" in text
    assert f": nandlab powercut {run}; " in text
    assert ": docs/power-cuts-seen.md</li>" in text
    assert not re.search(r"nandlab \w+ (RUN|STUDY)\b", text)
    head = text[: text.index("</header>")]
    assert "aged: 50 % of the pages valid, 25 % invalid" in head
    assert "<small>compr=none</small>" in head
    assert "not tried: failing blocks and pages (nandlab faults " in head


def test_charts_stand_beside_the_page_and_out_is_obeyed(tmp_path: Path) -> None:
    run = samples.folder(tmp_path / "run", [samples.trial()])
    path = report.write_run_report(run, tmp_path / "elsewhere" / "r")
    assert path == tmp_path / "elsewhere" / "r" / "index.html"
    assert 'href="../../run/trials/' in path.read_text()
    names = {p.name for p in path.parent.iterdir()}
    assert {"ffsmark-time.svg", "ffsmark-time.png", "ffsmark-wear-map.png"} <= names
    assert not [n for n in names if n.startswith(".part")]


def test_steps_and_ram_stand_in_the_tables_where_they_were_measured(tmp_path: Path) -> None:
    memory = [samples.trial(memory=samples.MEMORY, counters={"x": 1})]
    (with_memory,), (without,) = (
        groups.group_trials_into_settings(memory),
        groups.group_trials_into_settings([samples.trial()]),
    )
    table = viewreports.render_setting_overview(with_memory)
    told = dict(zip(table.head, table.rows[0].cells, strict=True))
    assert told["memory, mounted"].text == "424 KiB"
    assert told["memory, peak"].text == "512 KiB"
    assert told["mount"].text == "50 ms"
    assert not any("memory" in title for title in viewreports.render_setting_overview(without).head)
    table = next(
        d.table for d in viewreports.render_view_charts(without) if d.chart.name == "ffsmark-time"
    )
    told = dict(zip(table.head, table.rows[0].cells, strict=True))
    assert [told[step].text for step in ("format", "settle")] == ["200 ms", "2 s"]
    assert "unmount" not in told


def test_a_run_without_a_finished_trial_says_so(tmp_path: Path) -> None:
    text = report.write_run_report(samples.folder(tmp_path / "run", [], ["a", "b"])).read_text()
    assert "there is nothing to answer with" in text
    assert "2 of 2 trials are not" in text
