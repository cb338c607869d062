"""The site builds without a warning, from one folder, and its command reference has every command and option."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from spherevec.cli import cli

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("sphinx")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-d", str(folder / "doctrees")]
    done = subprocess.run([*command, str(ROOT / "docs"), str(folder / "html")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder / "html"


@pytest.mark.slow
def test_every_command_and_option_is_in_the_reference(site: Path) -> None:
    page = (site / "reference/command-line.html").read_text("utf-8")
    root = click.Context(cli)
    for name in cli.list_commands(root):
        command = cli.get_command(root, name)
        assert command is not None
        section = re.search(rf'<section id="{name}">(.*?)</section>', page, re.DOTALL)
        assert section, name
        for option in command.params:
            if isinstance(option, click.Option):
                assert option.opts[0] in section[1], f"{name} {option.opts[0]}"


@pytest.mark.slow
def test_no_page_asks_the_network_for_anything(site: Path) -> None:
    for page in site.rglob("*.html"):
        loaded = re.findall(r'<(?:script|link|img|iframe)[^>]*(?:src|href)="(https?:)?//', page.read_text("utf-8"))
        assert not loaded, page
