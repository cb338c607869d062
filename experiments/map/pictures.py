"""The pictures of the docs: pages of the map in a real browser, photographed.

python -m experiments.map.pictures MODEL docs/pictures --sentence "war against terror in iraq"
"""

from __future__ import annotations

import argparse
import io
import shutil
import tempfile
from pathlib import Path

import spherevec

FLAGS = ("--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
DESKTOP, PHONE = {"width": 1280, "height": 760}, {"width": 390, "height": 780}


def photograph(page: Path, out: Path, sentence: str) -> None:
    from PIL import Image
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=list(FLAGS))

        def shot(name: str, size: dict[str, int], theme: str, *steps: str) -> None:
            context = browser.new_context(viewport=size, color_scheme=theme, offline=True, reduced_motion="reduce")
            tab = context.new_page()
            tab.goto(page.absolute().as_uri())
            tab.wait_for_selector("html[data-ready]", state="attached", timeout=60_000)
            for step in steps:
                tab.evaluate(f"{{ {step} }}")
            tab.wait_for_timeout(1500)
            if name.endswith(".png"):  # fewer colours: a third of the size
                Image.open(io.BytesIO(tab.screenshot())).convert("RGB").quantize(192).save(out / name, optimize=True)
            else:
                tab.screenshot(path=out / name, type="jpeg", quality=82)
            context.close()

        shot("map.png", DESKTOP, "light")
        shot("phone.jpg", PHONE, "light", f"spherevec.place({sentence!r})")
        browser.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--sentence", required=True)
    parser.add_argument("--title")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        page = spherevec.load(arguments.model).explore(Path(folder) / "page.html", title=arguments.title)
        photograph(page, arguments.out, arguments.sentence)


if __name__ == "__main__":
    main()
