"""The page in a real browser, the network cut off."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace

import numpy as np
import pytest

from browser_helpers import AXE, FIREFOX, PATIENCE, Visit, missing, new_context, shown, visit
from page_helpers import HOSTILE, small_page
from spherevec.corpus.tokenize.tokenizer import tokenizer_of
from spherevec.explore.data import Field, PageTopic
from spherevec.explore.from_model import description
from spherevec.explore.page import NotebookPage, save_page


def test_the_page_opens_without_a_network_and_without_complaint(browser, file):
    with visit(browser, file) as one:
        assert one.page.title() == "Test page"
        assert one.text("#legend") == "300 documents"
        assert one.page.evaluate("spherevec.painter !== null")
        # Something is drawn: sea, land and points have many colours.
        colours = one.page.evaluate(
            """() => {
              const { gl, canvas } = spherevec.painter;
              spherevec.draw();
              const pixels = new Uint8Array(4 * canvas.width * canvas.height);
              gl.readPixels(0, 0, canvas.width, canvas.height, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
              return new Set(new Uint32Array(pixels.buffer)).size;
            }"""
        )
        assert colours > 500


def test_the_policy_stops_other_scripts_and_requests(browser, file):
    with visit(browser, file) as one:
        one.page.evaluate(
            """() => {
              const script = document.createElement("script");
              script.textContent = "window.hacked = 1";
              document.body.append(script);
              const picture = new Image();
              picture.src = "http://127.0.0.1:9/x.png";
              document.body.append(picture);
            }"""
        )
        for _ in range(PATIENCE // 50):
            if any(re.search("Content Security Policy|blocked", fault) for fault in one.faults):
                break
            one.page.wait_for_timeout(50)
        else:
            raise AssertionError(f"nothing was stopped: {one.faults}")
        assert one.page.evaluate("window.hacked") is None
        one.faults.clear()


def test_search_places_a_sentence(browser, file):
    with visit(browser, file) as one:
        one.page.fill("#query", "word1 word7, WORD7 unheard")
        one.page.wait_for_selector("#panel:not([hidden])")
        panel = one.text("#panel")
        assert "Nearest documents" in panel
        assert "Not known to the model: unheard" in panel
        assert one.page.evaluate("spherevec.marks.pin !== null && spherevec.marks.near.length") == 10
        one.page.fill("#query", "nothing known here")
        one.wait("document.getElementById('panel').innerText.includes('No word of this text is known')")


def test_the_list_of_answers_is_the_exact_one(browser, file, data):
    with visit(browser, file) as one:
        one.page.evaluate("spherevec.openDocument(5)")
        rows = one.page.locator("#panel [data-doc]").evaluate_all("nodes => nodes.map((n) => Number(n.dataset.doc))")
        cosines = data.doc_vectors @ data.doc_vectors[5]
        cosines[5] = -2
        best = np.argsort(-cosines)[:10]
        assert len(set(rows) & set(best.tolist())) >= 9  # one byte a coordinate may swap the last
        topic = one.page.locator("#panel [data-topic]").first.get_attribute("data-topic")
        assert int(topic) == data.doc_topics[5]


def test_a_click_opens_a_document_and_a_word_button_a_word(browser, file):
    with visit(browser, file) as one:
        at = one.page.evaluate(
            """() => {
              const app = spherevec, place = app.world.docPlace(3);
              app.flyTo(place, 6);
              app.labels.entries = [];  // no name in the way of the click
              app.draw();
              return app.stage.centre;
            }"""
        )
        one.page.mouse.move(*at)
        one.page.wait_for_selector("#tip:not([hidden])")
        assert one.text("#tip").startswith("Title of document")
        one.page.mouse.click(*at)
        one.page.wait_for_selector("#panel:not([hidden])")
        assert one.page.evaluate("spherevec.open.kind") == "doc"
        one.page.locator("#panel [data-word]").first.click()
        assert one.page.evaluate("spherevec.open.kind") == "word"
        one.page.locator("#panel [data-topic]").first.click()
        assert one.page.evaluate("spherevec.open.kind") == "topic"


def test_filters_and_the_time_slider_change_what_is_drawn(browser, file, data):
    with visit(browser, file) as one:
        one.page.click("#settings-button")
        team = one.page.locator("#settings select[data-field='0']")
        team.select_option("1")
        assert shown(one) == int((np.asarray(data.fields[0].values) == 1).sum())
        assert "of 300 documents shown" in one.text("#legend")
        one.page.click("#clear")
        assert shown(one) == 300
        one.page.locator("#settings input[data-end='low']").fill("250")
        one.page.keyboard.press("Tab")
        assert shown(one) == int((np.asarray(data.fields[1].values) >= 250).sum())
        one.page.click("#clear")
        one.page.fill("#filter-text", "document 7")
        one.wait("spherevec.filters.shown < 300")
        assert shown(one) == sum("7" in str(row) for row in range(300))
        one.page.click("#clear")
        one.page.focus("#time-from")
        for _ in range(40):
            one.page.keyboard.press("ArrowRight")
        dates = np.asarray(data.fields[2].values)
        low, high = np.nanmin(dates), np.nanmax(dates)
        assert shown(one) == int((dates >= low + (high - low) * 40 / 400).sum())
        one.page.select_option("#colour-by", label="length")
        assert "length" in one.text("#legend")
        one.page.select_option("#size-by", label="length")
        sizes = one.page.evaluate("Array.from(spherevec.filters.paint(false).growths)")
        assert max(sizes) == pytest.approx(3, abs=1e-5)


def test_every_kind_of_field_filters_and_what_is_open_keeps_to_it(browser, tmp_path):
    page = small_page()
    answered = Field("answered", "date", np.linspace(1.0e9, 1.2e9, 300))
    path = save_page(replace(page, fields=[*page.fields, answered]), tmp_path / "page.html")
    with visit(browser, path) as one:
        one.page.click("#settings-button")
        one.page.locator("#settings select[data-field='0']").select_option("-1")
        assert shown(one) == int((np.asarray(page.fields[0].values) == -1).sum())
        one.page.click("#clear")
        one.page.fill("#settings input[data-field='3']", "REMARK 7")
        one.wait("spherevec.filters.shown < 300")
        rows = {row for row in range(300) if f"remark {row}".startswith("remark 7")}
        assert shown(one) == len(rows)
        one.page.evaluate("spherevec.openDocument(200)")
        near = one.page.locator("#panel [data-doc]").evaluate_all("nodes => nodes.map((n) => Number(n.dataset.doc))")
        assert near and set(near) <= rows
        one.page.click("#clear")
        one.wait("document.querySelectorAll('#panel [data-doc]').length === 10")
        one.page.locator("#settings input[data-field='4'][data-end='high']").fill("2004-09-15")
        one.page.keyboard.press("Tab")
        assert shown(one) == int((np.asarray(answered.values) <= 1095292799).sum())
        one.wait("location.hash.includes('f=4')")
        link = one.page.evaluate("location.hash")
        one.page.select_option("#size-by", label="answered")
        assert len(set(one.page.evaluate("Array.from(spherevec.filters.paint(false).growths)"))) > 100
        count = shown(one)
    with visit(browser, path, link) as other:
        assert shown(other) == count
        # A link is followed even if the page writes its own before it hears of it.
        other.page.evaluate("own => { location.hash = '#v=0,0,1'; history.replaceState(null, '', own); }", link)
        other.wait("spherevec.filters.shown === 300")
        assert other.page.locator("#panel").is_hidden()


def test_a_slow_machine_draws_less_while_the_map_moves(browser, file):
    with visit(browser, file) as one:
        one.page.evaluate("{ spherevec.pace.level = 2; spherevec.turn(0.1, 0); spherevec.draw(); }")
        assert one.page.evaluate("spherevec.canvas.width") < 0.5 * one.page.evaluate("spherevec.names.width")
        one.wait("spherevec.canvas.width === spherevec.names.width")


def test_the_keyboard_alone_does_it_all(browser, file):
    with visit(browser, file) as one:
        press = one.page.keyboard.press
        press("Tab")
        assert one.page.evaluate("document.activeElement.id") == "skip"
        press("Tab")
        assert one.page.evaluate("document.activeElement.id") == "map"
        assert one.page.locator("#cross").is_visible()
        before = one.page.evaluate("({...spherevec.view})")
        press("ArrowRight")
        press("ArrowUp")
        press("+")
        after = one.page.evaluate("({...spherevec.view})")
        assert after["zoom"] > before["zoom"]
        assert after["lon"] != before["lon"]
        press("Enter")
        assert one.page.evaluate("spherevec.open.kind") == "doc"
        press("Escape")
        assert one.page.locator("#panel").is_hidden()
        press("s")
        assert one.page.evaluate("spherevec.selected.length") > 0
        press("Escape")
        press("m")
        assert one.page.evaluate("spherevec.view.flat") is False
        assert one.page.get_attribute("#globe", "aria-pressed") == "true"
        press("t")
        assert one.page.locator("#topics").is_hidden()
        press("l")
        assert one.page.locator("#list caption").count() == 3
        one.page.keyboard.press("Escape")
        assert one.page.locator("#list").is_hidden()
        press("/")
        assert one.page.evaluate("document.activeElement.id") == "query"
        one.page.keyboard.type("word3")
        press("Enter")
        one.page.wait_for_selector("#panel:not([hidden])")


def test_topics_of_two_levels_are_listed_and_named_on_the_map(browser, data, tmp_path):
    topics = [replace(topic, parent=int(row > 2)) for row, topic in enumerate(data.topics)]
    parents = [
        PageTopic(name, ["word1"], sum(t.size for t in topics if t.parent == row))
        for row, name in enumerate(("left", "right"))
    ]
    path = save_page(replace(data, topics=topics, parents=parents), tmp_path / "two.html")
    with visit(browser, path) as one:
        rows = one.page.locator("#topics button").evaluate_all("nodes => nodes.map((n) => n.textContent)")
        assert rows == [
            text
            for row, parent in enumerate(parents)
            for text in (f"{parent.name}{parent.size}", *(f"{t.name}{t.size}" for t in topics if t.parent == row))
        ]
        named = "spherevec.labels.shown.map(({ entry }) => entry.kind)"
        assert one.page.evaluate(named).count("broad") == 2
        one.page.click("#topics [data-broad='1']")
        assert one.page.locator("#panel [data-topic]").count() == 3
        assert one.page.locator("#topics").is_hidden()  # details cover the list
        one.wait("location.hash.includes('broad=1')")
        one.page.evaluate("spherevec.stopFlight(), spherevec.view.zoom = 4, spherevec.draw()")
        assert "broad" not in one.page.evaluate(named)  # finer names take over
        one.page.click("#panel-close")
        assert one.page.locator("#topics").is_visible()


@pytest.mark.parametrize("k", [6, 13, 30])
def test_neighbouring_regions_differ_in_colour_and_none_comes_twice_before_all_have_come(browser, k, tmp_path):
    data = small_page(n=2000, k=k, epochs=2)
    rng = np.random.default_rng(3)
    places = rng.standard_normal((len(data.doc_places), 3)).astype(np.float32)
    places /= np.linalg.norm(places, axis=1, keepdims=True)
    nearest = np.argmax(places @ places[:k].T, axis=1).astype(np.int32)  # regions that fill the globe
    regions = replace(data, doc_places=places, doc_topics=nearest, topic_places=places[:k])
    path = save_page(regions, tmp_path / "regions.html")
    with visit(browser, path) as one:
        pairs = one.page.evaluate("[...spherevec.world.land.borders.keys()]")
        colours = one.page.evaluate("spherevec.world.topicColours")
    borders = [tuple(map(int, pair.split(","))) for pair in pairs]
    assert len(borders) >= len(data.topics)
    assert not [pair for pair in borders if colours[pair[0]] == colours[pair[1]]]
    assert len({*map(tuple, colours[:8])}) == min(k, 8)


def test_islands_close_together_differ_in_colour(browser, tmp_path):
    k, data = 16, small_page(n=800, k=16, epochs=2)
    turns = np.arange(k) % 8 * (np.pi / 4)  # each of the smaller eight lies north of one of the larger
    places = np.stack([np.cos(turns), np.sin(turns), np.arange(k) // 8 * 0.6], axis=1).astype(np.float32)
    places /= np.linalg.norm(places, axis=1, keepdims=True)
    islands = replace(data, doc_places=places[data.doc_topics], topic_places=places)
    with visit(browser, save_page(islands, tmp_path / "islands.html")) as one:
        assert not one.page.evaluate("spherevec.world.land.borders.size")
        colours = one.page.evaluate("spherevec.world.topicColours")
    assert all(colours[row] != colours[row - 8] for row in range(8, k))


def test_the_lasso_gives_words_and_a_file(browser, file, data, tmp_path):
    with visit(browser, file, accept_downloads=True) as one:
        one.page.click("#lasso")
        x, y = one.page.evaluate("spherevec.stage.centre")
        one.page.mouse.move(x - 250, y - 250)
        one.page.mouse.down()
        for dx, dy in ((250, -250), (250, 250), (-250, 250), (-250, -240)):
            one.page.mouse.move(x + dx, y + dy)
        one.page.mouse.up()
        one.page.wait_for_selector("#save-csv")
        count = one.page.evaluate("spherevec.selected.length")
        assert count > 5
        assert "Words that set them apart" in one.text("#panel")
        selected = one.page.evaluate("spherevec.selected")
        if FIREFOX:  # does not tell of the files that it saves
            text = one.page.evaluate("spherevec.panel.csv(spherevec.selected)")
        else:
            with one.page.expect_download() as download:
                one.page.click("#save-csv")
            download.value.save_as(tmp_path / "selection.csv")
            text = (tmp_path / "selection.csv").read_bytes().decode()
        table = list(csv.reader(io.StringIO(text, newline="")))
        assert table[0] == ["id", "title", "topic", "team", "length", "created", "remark"]
        assert len(table) == count + 1
        # Numbers are for other programs: as they are, and nothing where there is none.
        lengths = [float(row[4]) if row[4] else np.nan for row in table[1:]]
        np.testing.assert_array_equal(lengths, np.asarray(data.fields[1].values)[selected])


def test_a_link_restores_the_view(browser, file):
    with visit(browser, file) as one:
        one.page.click("#globe")
        one.page.click("#settings-button")
        one.page.locator("#settings select[data-field='0']").select_option("2")
        one.page.select_option("#colour-by", label="length")
        one.page.evaluate("spherevec.openDocument(11)")
        one.wait("location.hash.includes('doc=id-11') && location.hash.includes('m=globe')")
        link = one.page.evaluate("location.hash")
        view, count = one.page.evaluate("({...spherevec.view})"), shown(one)
    with visit(browser, file, link) as other:
        restored = other.page.evaluate("({...spherevec.view})")
        assert restored["flat"] is False
        for name in ("lon", "lat", "zoom"):
            assert restored[name] == pytest.approx(view[name], abs=1e-3)
        assert shown(other) == count
        assert "Title of document 11" in other.text("#panel")


@pytest.mark.parametrize("link", ["#v=x,y,z&f=9:3&colour=77&topic=99&doc=none&only=a&size=-1", "#%00&v=,,", "#v=1"])
def test_a_strange_link_does_no_harm(browser, file, link):
    with visit(browser, file, link) as one:
        assert shown(one) == 300


def test_hostile_text_is_text_everywhere(browser, tmp_path):
    path = save_page(small_page(hostile=True, n=60, words=60), tmp_path / "hostile.html")
    with visit(browser, path) as one:
        for step in (
            "spherevec.openDocument(0)", "spherevec.openTopic(0)", "spherevec.openWord(1)", "spherevec.selectView()",
            "spherevec.openList()", "spherevec.closeList()", "document.getElementById('about-button').click()",
        ):  # fmt: skip
            one.page.evaluate(f"{{ {step} }}")
        one.page.evaluate("text => spherevec.place(text)", " ".join(HOSTILE))
        one.page.evaluate("document.getElementById('about').close(); spherevec.hover(spherevec.stage.centre)")
        one.page.wait_for_timeout(100)
        assert one.page.evaluate("window.hacked") is None
        assert one.page.locator("img, iframe, object, embed").count() == 0
        assert one.page.evaluate("document.querySelectorAll('script:not([data-name])').length") == 1
        text = one.page.evaluate("spherevec.panel.csv([0, 1, 2, 9])")
        assert "'=cmd" in text
        # It is there, in every place, as text.
        one.page.evaluate("spherevec.openDocument(0)")
        for place in ("#panel h2", "#panel .id", "#panel .snippet", "#panel dl", "#name"):
            assert HOSTILE[0] in one.text(place), place
        one.page.evaluate("spherevec.openTopic(0)")
        assert HOSTILE[0] in one.text("#panel h2")
        assert HOSTILE[1] in one.text("#panel .words")
        one.page.evaluate("spherevec.openWord(1)")
        assert HOSTILE[1] in one.text("#panel h2")
        one.page.click("#settings-button")
        one.page.select_option("#colour-by", "0")
        for name in HOSTILE[:4]:
            assert name in one.page.locator("#settings").text_content()
        assert HOSTILE[0] in one.text("#legend")
        assert HOSTILE[3].strip() in one.page.locator("#time").text_content()
        one.page.evaluate("spherevec.openList()")
        assert HOSTILE[0] in one.text("#list")
        one.page.evaluate("spherevec.closeList()")
        one.page.click("#about-button")
        about = one.text("#about")
        for name in HOSTILE[:3]:
            assert name in about
        assert one.page.evaluate("window.hacked") is None


@pytest.mark.parametrize(
    "changes",
    [
        {"n": 1, "k": 1, "words": 12},
        {"n": 40, "k": 1},
        {"n": 40, "k": 0, "kept": False, "ids": None, "titles": None, "snippets": None},
        {"n": 0, "k": 0, "kept": False},
        {"fit": None},
        {"tokenizer": description(tokenizer_of(str.split), False), "word_counts": None},
    ],
    ids=["one document", "one topic", "nothing kept", "words only", "no search", "another tokenizer"],
)
def test_small_and_bare_pages_work(browser, tmp_path, changes):
    path = save_page(small_page(**changes), tmp_path / "page.html")
    with visit(browser, path) as one:
        for key in ("+", "m", "s", "l", "Escape"):
            one.page.focus("#map")
            one.page.keyboard.press(key)
        if changes.get("fit", 1) is None:
            assert one.page.is_disabled("#query")
        else:
            one.page.evaluate("spherevec.place('word1 word2')")
            assert "Nearest words" in one.text("#panel")
        if changes.get("tokenizer"):
            assert "a tokenizer of its own" in one.text("#panel")


def test_names_do_not_overlap_and_more_appear(browser, tmp_path):
    path = save_page(small_page(n=2000, k=100, words=300, epochs=120), tmp_path / "page.html")
    with visit(browser, path, width=1440, height=900) as one:
        count = """() => {
          spherevec.draw();
          const boxes = spherevec.labels.shown.map((name) => name.box);
          for (const [i, a] of boxes.entries()) for (const b of boxes.slice(0, i)) {
            if (a[0] < b[2] && a[2] > b[0] && a[1] < b[3] && a[3] > b[1]) return -1;
          }
          return boxes.length;
        }"""
        first = one.page.evaluate(count)
        assert first > 15


def test_more_names_appear_as_one_zooms_in(browser, tmp_path):
    path = save_page(small_page(n=2000, k=5, words=300, epochs=150), tmp_path / "page.html")
    with visit(browser, path) as one:
        near = """(zoom) => {
          const at = spherevec.world.topicPlaces.subarray(0, 3);
          spherevec.flyTo(at, zoom);
          spherevec.draw();
          return spherevec.labels.shown.filter(({ entry: { place } }) =>
            place[0] * at[0] + place[1] * at[1] + place[2] * at[2] > 0.95).length;
        }"""
        far, close = (one.page.evaluate(near, zoom) for zoom in (1, 5))
        assert close > far


def test_two_fingers_zoom(browser, file):
    with visit(browser, file, has_touch=True, width=390, height=844) as one:
        before = one.page.evaluate("spherevec.view.zoom")
        one.page.evaluate(
            """() => {
              const map = document.getElementById("map");
              map.setPointerCapture = () => {};
              const send = (type, id, x, y) => map.dispatchEvent(new PointerEvent(type,
                { pointerId: id, clientX: x, clientY: y, pointerType: "touch", bubbles: true }));
              send("pointerdown", 1, 180, 400); send("pointerdown", 2, 220, 400);
              send("pointermove", 1, 100, 400); send("pointermove", 2, 300, 400);
              send("pointerup", 1, 100, 400); send("pointerup", 2, 300, 400);
            }"""
        )
        assert one.page.evaluate("spherevec.view.zoom") > before * 2


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_no_serious_accessibility_fault(browser, file, theme, width):
    if not AXE.is_file():
        missing(f"no axe-core at {AXE}: npm install --prefix .venv/npm axe-core")
    with visit(browser, file, color_scheme=theme, width=width, height=844) as one:
        one.page.evaluate(AXE.read_text(encoding="utf-8"))
        steps = [
            "1", "spherevec.openDocument(2)", "document.getElementById('settings-button').click()",
            "spherevec.openList()", "spherevec.closeList(); document.getElementById('about-button').click()",
        ]  # fmt: skip
        for step in steps:
            one.page.evaluate(f"{{ {step} }}")
            found = one.page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
            serious = [
                f"{fault['id']}: {fault['nodes'][0]['html'][:120]}"
                for fault in found["violations"]
                if fault["impact"] in ("serious", "critical")
            ]
            assert serious == [], step


def test_the_page_works_inside_a_notebook_cell(browser, data, tmp_path):
    path = tmp_path / "cell.html"
    path.write_text(
        f"<!doctype html><meta charset=utf-8><title>cell</title>{NotebookPage(data)._repr_html_()}", encoding="utf-8"
    )
    context = new_context(browser, offline=True)
    one = Visit(context.new_page())
    one.page.goto(f"file://{path}")
    frame = one.page.frame_locator("iframe")
    frame.locator("html[data-ready]").wait_for(state="attached")
    frame.locator("#query").fill("word1")
    frame.locator("#panel:not([hidden])").wait_for()
    assert one.faults == []
    context.close()


def test_a_browser_without_graphics_still_has_the_list(browser, file):
    context = new_context(browser, offline=True)
    context.add_init_script(
        """const before = HTMLCanvasElement.prototype.getContext;
        HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
          return kind === "webgl2" ? null : before.call(this, kind, ...rest);
        };"""
    )
    one = Visit(context.new_page())
    one.open(file)
    assert "no WebGL 2" in one.page.locator("#news").text_content()
    one.page.click("#list-button")
    assert re.search(r"Documents \(300\)", one.text("#list"))
    assert one.faults == []
    context.close()
