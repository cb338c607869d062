"""The file that is written: complete, closed to the network, the same each time, and text stays text."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html.parser
import json
import re
from dataclasses import replace

import numpy as np
import pytest

from page_helpers import HOSTILE, small_page, unit_rows
from spherevec.errors import ConfigError, SpherevecError
from spherevec.explore.data import Field
from spherevec.explore.page import (
    SCRIPTS,
    NotebookPage,
    fill,
    joined_scripts,
    main_directions,
    page_html,
    quantized,
    save_page,
)
from spherevec.explore.plots import COLOURS, draw_map, flatten


class Tags(html.parser.HTMLParser):
    """Elements and attributes of a page."""

    def __init__(self):
        super().__init__()
        self.tags = []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))


def parsed(text):
    tags = Tags()
    tags.feed(text)
    return tags


def section(text, name):
    block = re.search(f'data-name="{name}" data-kind="([a-z0-9]+)">([^<]*)</script>', text)
    return block[1], gzip.decompress(base64.b64decode(block[2]))


@pytest.fixture(scope="module")
def page():
    return page_html(small_page())


def test_the_page_names_no_other_place(page):
    for tag, attributes in parsed(page).tags:
        assert not {"src", "action", "style"} & set(attributes), tag
        assert attributes.get("href", "#").startswith("#")
        assert not [name for name in attributes if name.startswith("on")]
    assert "http://" not in page
    assert "https://" not in page


def test_the_policy_allows_the_script_and_the_style_by_their_hashes(page):
    policy = next(a["content"] for _, a in parsed(page).tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)[1]
    script = re.search(r'<script type="module">(.*?)</script>', page, re.DOTALL)[1]
    for text in (style, script):
        assert f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" in policy


def test_hostile_text_adds_no_element():
    plain, hostile = (parsed(page_html(small_page(hostile=h))) for h in (False, True))
    assert [tag for tag, _ in plain.tags] == [tag for tag, _ in hostile.tags]


def test_hostile_text_survives_as_text():
    text = page_html(small_page(hostile=True))
    kind, content = section(text, "documents")
    assert kind == "json"
    titles = json.loads(content)["titles"]
    assert titles[0] == HOSTILE[0]
    assert titles[7] == HOSTILE[7].encode("utf-8", "replace").decode()  # a lone surrogate becomes a question mark


def test_the_same_data_give_the_same_bytes(page):
    assert page_html(small_page()) == page


def test_arrays_arrive_unchanged(page):
    data = small_page()
    kind, content = section(page, "doc_places")
    assert kind == "float32"
    assert np.array_equal(np.frombuffer(content, "<f4").reshape(-1, 3), data.doc_places)
    kind, content = section(page, "field_2")
    np.testing.assert_array_equal(np.frombuffer(content, "<f8"), data.fields[2].values)


def test_one_byte_a_coordinate_keeps_directions():
    rows = unit_rows(500, 100, np.random.default_rng(0))
    small = quantized(rows).astype(float)
    cosines = (small * rows).sum(axis=1) / np.linalg.norm(small, axis=1)
    assert cosines.min() > 0.9998
    assert quantized(np.zeros((2, 3), np.float32)).tolist() == [[0, 0, 0]] * 2


def test_many_documents_keep_their_main_directions():
    rng = np.random.default_rng(1)
    rows = (rng.standard_normal((4000, 8)) @ rng.standard_normal((8, 50))).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    basis = main_directions(rows, 4000 * 10, 4)
    assert basis.shape == (10, 50)
    np.testing.assert_allclose(basis @ basis.T, np.eye(10), atol=1e-5)
    kept = rows @ basis.T
    assert np.linalg.norm(kept, axis=1).min() > 0.999
    assert main_directions(rows, 4000 * 50, 4) is None


def test_texts_are_cut_to_the_budget(monkeypatch):
    monkeypatch.setattr("spherevec.explore.page.SNIPPET_BYTES", 50 * 20)
    text = page_html(small_page(n=50))
    documents = json.loads(section(text, "documents")[1])
    assert max(map(len, documents["snippets"])) == 20
    assert documents["snippets"][0].endswith("…")
    monkeypatch.setattr("spherevec.explore.page.SNIPPET_BYTES", 100)
    assert json.loads(section(page_html(small_page(n=50)), "documents")[1])["snippets"] is None


def test_a_file_is_not_replaced_by_accident(tmp_path):
    data = small_page(n=20, k=1)
    path = save_page(data, tmp_path / "page.html")
    before = path.read_bytes()
    with pytest.raises(SpherevecError, match="already exists"):
        save_page(data, path)
    assert save_page(data, path, overwrite=True).read_bytes() == before


def test_templates_are_filled_once():
    assert fill("a {{x}} b {{y}}", x="{{y}}", y="1") == "a {{y}} b 1"


def test_every_module_is_in_the_script_once():
    from importlib import resources

    files = {
        entry.name.removesuffix(".js")
        for entry in (resources.files("spherevec.explore") / "templates").iterdir()
        if entry.name.endswith(".js")
    }
    assert files == set(SCRIPTS)
    script = joined_scripts()
    assert not re.search(r"^(import|export) ", script, re.MULTILINE)
    names = re.findall(r"^(?:async )?(?:function|class|const|let) (\w+)", script, re.MULTILINE)
    assert len(names) == len(set(names))
    assert "</script" not in script
    assert "<!--" not in script


def test_modules_come_after_what_they_import():
    from importlib import resources

    for place, name in enumerate(SCRIPTS):
        text = (resources.files("spherevec.explore") / "templates" / f"{name}.js").read_text(encoding="utf-8")
        assert len(text.splitlines()) < 500
        for imported in re.findall(r'^import .* from "\./([a-z]+)\.js";$', text, re.MULTILINE):
            assert SCRIPTS.index(imported) < place, f"{name} imports {imported}"


def test_a_notebook_shows_the_page_in_a_closed_frame():
    shown = NotebookPage(small_page(n=20, k=2, hostile=True))._repr_html_()
    tags = parsed(shown).tags
    assert [tag for tag, _ in tags] == ["iframe"]
    assert tags[0][1]["sandbox"] == "allow-scripts allow-downloads"
    assert "<!doctype html>" in tags[0][1]["srcdoc"]
    with pytest.raises(ConfigError, match="height must be at least 200"):
        NotebookPage(small_page(n=5, k=1, epochs=2), height=10)


def test_the_flat_map_is_equal_area():
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((4000, 3))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    flat = flatten(rows)
    assert len(np.unique(flat.round(9), axis=0)) == len(rows)
    assert ((flat[:, 0] / 8**0.5) ** 2 + (flat[:, 1] / 2**0.5) ** 2 <= 2.0000001).all()
    # Areas: a small patch of the globe keeps its area wherever it is.
    for lon, lat in ((0.3, 0.2), (2.5, -1.1), (-1.4, 0.9)):
        h = 1e-4
        corners = [(lon, lat), (lon + h, lat), (lon, lat + h)]
        a, b, c = flatten(np.asarray([[np.cos(v) * np.cos(u), np.cos(v) * np.sin(u), np.sin(v)] for u, v in corners]))
        area = abs(np.cross(np.append(b - a, 0), np.append(c - a, 0))[2])
        assert area == pytest.approx(h * h * np.cos(lat), rel=1e-3)


def _distance_seen(left, right, matrix):
    """How different two colours look (Oklab) to an eye that this matrix of linear RGB describes."""

    def seen(colour):
        value = np.asarray([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
        linear = np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)
        rgb = np.clip(matrix @ linear, 0, 1)
        cones = np.asarray([[0.4122, 0.5363, 0.0514], [0.2119, 0.6807, 0.1074], [0.0883, 0.2817, 0.6300]]) @ rgb
        lab = [[0.2105, 0.7936, -0.0041], [1.9780, -2.4286, 0.4506], [0.0259, 0.7828, -0.8087]]
        return np.asarray(lab) @ np.cbrt(cones)

    return np.linalg.norm(seen(left) - seen(right))


def test_colours_differ_for_colour_blind_people_too():
    eyes = {
        "usual": np.eye(3),
        "deuteranopia": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
        "protanopia": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
        "tritanopia": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
    }
    for name, matrix in eyes.items():
        for i, left in enumerate(COLOURS):
            for right in COLOURS[:i]:
                assert _distance_seen(left, right, np.asarray(matrix)) > 0.1, (name, left, right)


def test_the_page_has_the_colours_of_the_plots():
    found = re.findall(r"\[(\d+), (\d+), (\d+)\]", joined_scripts().split("COLOURS = [")[1].split("];")[0])
    assert ["#{:02x}{:02x}{:02x}".format(*map(int, colour)) for colour in found] == list(COLOURS)


def test_a_picture_for_papers(tmp_path):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    data = small_page(n=60, k=3, hostile=True, epochs=5)
    for colour_by in (None, *HOSTILE[2:4], HOSTILE[0]):
        axes = draw_map(data, colour_by=colour_by)
        axes.figure.savefig(tmp_path / "map.png")
        assert (axes.get_legend() is not None) == (colour_by == HOSTILE[0])
        pyplot.close(axes.figure)
    with pytest.raises(ConfigError, match="no field 'nothing' to colour by"):
        draw_map(data, colour_by="nothing")
    draw_map(small_page(n=1, k=0, epochs=2))
    pyplot.close("all")


def test_a_picture_by_dates_has_a_bar_of_dates():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    data = small_page(n=60, k=3, epochs=5)
    seconds = np.linspace(*np.asarray(["2024-01-01", "2025-12-31"], "datetime64[s]").astype(float), 60)
    seconds[3] = np.nan
    last = float(np.datetime64("9999-12-31", "s").astype(np.int64))
    for values, shown in ((seconds, {"2024", "2025"}), (np.full(60, last), {"9999"}), (np.full(60, np.nan), set())):
        axes = draw_map(replace(data, fields=[Field("day", "date", values)]), colour_by="day")
        bar = axes.figure.axes[1]
        axes.figure.draw_without_rendering()
        ticks = {label.get_text()[:4] for label in bar.get_yticklabels()}
        assert bar.get_ylabel() == "day" and ticks == shown
        pyplot.close(axes.figure)


def test_a_picture_by_categories_names_the_eight_most_frequent_in_a_legend(tmp_path):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    data = small_page(n=66, k=3, epochs=5)
    codes = np.repeat(np.arange(11), np.arange(11, 0, -1)).astype(np.int32)
    for values, rest in ((codes, ["other"]), (np.minimum(codes, 7), []), (np.where(codes < 8, codes, -1), ["other"])):
        field = replace(data.fields[0], values=values, labels=[f"team {code}" for code in range(11)])
        axes = draw_map(replace(data, fields=[field]), colour_by="team")
        texts = [text.get_text() for text in axes.get_legend().get_texts()]
        assert sorted(texts) == [*rest, *(f"team {code}" for code in range(8))]
        assert len({key.get_facecolor() for key in axes.get_legend().get_patches()}) == len(texts)
        pyplot.close(axes.figure)
