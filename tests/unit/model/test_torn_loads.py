"""What is loaded is one model, also while another takes its place."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from spherevec.errors import FormatError
from spherevec.model import KeyedVectors, Model
from spherevec.storage import files
from spherevec.storage.files import OpenFolder

GENERATIONS = 60


def a_model(generation, n=40):
    """Every part tells which generation it belongs to."""
    rows = np.zeros((n, 8), np.float32)
    rows[:, generation % 8] = 1
    words = KeyedVectors([f"{generation} {i}" for i in range(n)], rows, np.full(n, generation))
    return Model(
        words, words, KeyedVectors([f"{generation} {i}" for i in range(n)], rows), provenance={"generation": generation}
    )


def generation_of(model):
    """The one generation that all parts belong to."""
    (generation,) = {
        model.provenance["generation"],
        *model.counts.tolist(),
        *(int(name.split()[0]) for name in [*model.words.names, *model.docs.names]),
    }
    for table in (model.words, model.contexts, model.docs):
        assert (table.vectors[:, generation % 8] == 1).all()
    return generation


@pytest.mark.parametrize("verify", [False, True])
@pytest.mark.parametrize("swaps", [True, False])
@pytest.mark.parametrize("mmap", [True, False])
def test_a_model_that_is_replaced_between_any_two_files_is_loaded_whole(tmp_path, monkeypatch, verify, swaps, mmap):
    """The folder is replaced before each file that a load opens, in turn: by one step and, without swaps, by two."""
    if not swaps:
        monkeypatch.setattr(files, "_renameat2", lambda *_: False)
    real, opened = OpenFolder.open, 0
    for moment in range(12):
        old, new = a_model(2 * moment), a_model(2 * moment + 1)
        old.save(tmp_path / "m", overwrite=True)
        opened = 0

        def replaced_meanwhile(self, name, moment=moment, new=new):
            nonlocal opened
            opened += 1
            if opened == moment + 1:
                new.save(tmp_path / "m", overwrite=True)
            return real(self, name)

        with monkeypatch.context() as patch:
            patch.setattr(OpenFolder, "open", replaced_meanwhile)
            model = Model.load(tmp_path / "m", verify=verify, mmap=mmap)
        assert generation_of(model) in (2 * moment, 2 * moment + 1)
    assert opened < 12, "not every file was tried"


WRITER = """
    import sys
    from test_torn_loads import GENERATIONS, a_model
    for generation in range(1, GENERATIONS):
        a_model(generation).save(sys.argv[1], overwrite=True)
"""


@pytest.mark.process
def test_loads_beside_a_process_that_saves_all_the_time(tmp_path):
    a_model(0).save(tmp_path / "m")
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    command = [sys.executable, "-c", textwrap.dedent(WRITER), tmp_path / "m"]
    latest = loads = 0
    with subprocess.Popen(command, env={**os.environ, "PYTHONPATH": path}) as writer:
        while writer.poll() is None:
            generation = generation_of(Model.load(tmp_path / "m", verify=loads % 2 == 0))
            assert generation >= latest
            latest, loads = generation, loads + 1
    assert writer.returncode == 0 and generation_of(Model.load(tmp_path / "m")) == GENERATIONS - 1


def test_a_folder_that_changes_in_place_is_told(tmp_path, monkeypatch):
    """As when somebody copies another model over it, file by file."""
    a_model(0).save(tmp_path / "m")
    a_model(1).save(tmp_path / "other")
    real = OpenFolder.open
    seen = []

    def copied_meanwhile(self, name):
        seen.append(name)
        if len(seen) == 6:
            (tmp_path / "m" / "model.json").write_bytes((tmp_path / "other" / "model.json").read_bytes())
        return real(self, name)

    monkeypatch.setattr(OpenFolder, "open", copied_meanwhile)
    with pytest.raises(FormatError, match="changed while it was read"):
        Model.load(tmp_path / "m")
