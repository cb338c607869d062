"""Only what is ours is replaced, and it keeps its mode."""

from __future__ import annotations

import os
import stat

import pytest

from spherevec.errors import SpherevecError
from spherevec.storage import files
from spherevec.storage.files import atomic_file, atomic_folder, temporary_folder


def write(path, text="new", overwrite=True):
    with atomic_file(path, overwrite=overwrite) as file:
        file.write_text(text)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture(params=["linux", "other"])
def system(request, monkeypatch):
    """With the calls that only Linux has, and without."""
    if request.param == "other":
        monkeypatch.setattr(files, "_renameat2", lambda *_: False)
    return request.param


@pytest.mark.parametrize("name", ["fifo", "null", "socket"])
def test_only_regular_files_are_replaced(tmp_path, name):
    import socket

    path = tmp_path / name
    if name == "fifo":
        os.mkfifo(path)
    elif name == "socket":
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(str(path))
    else:
        path.symlink_to("/dev/null")
    before = path.stat().st_mode
    with pytest.raises(SpherevecError, match="only regular files are replaced"):
        write(path)
    assert path.stat().st_mode == before


def test_a_file_that_appears_meanwhile_is_not_overwritten(tmp_path, system):
    path = tmp_path / "f"
    with pytest.raises(SpherevecError, match="already exists"), atomic_file(path) as file:
        file.write_text("ours")
        path.write_text("theirs")
    assert path.read_text() == "theirs" and names(tmp_path) == ["f"]


def test_not_even_in_the_last_moment(tmp_path, monkeypatch, system):
    """After the last check, before the rename."""
    path, check = tmp_path / "f", files.check_file
    checks = []

    def last_moment(*arguments, **options):
        check(*arguments, **options)
        checks.append(1)
        if len(checks) == 2:
            path.write_text("theirs")
            monkeypatch.setattr(files.Path, "exists", lambda self: False)

    monkeypatch.setattr(files, "check_file", last_moment)
    with pytest.raises(SpherevecError, match="meanwhile"):
        write(path, overwrite=False)
    monkeypatch.undo()
    assert path.read_text() == "theirs"


def test_a_pipe_that_takes_the_place_meanwhile_stays(tmp_path):
    path = tmp_path / "f"
    path.write_text("old")
    with pytest.raises(SpherevecError, match="only regular files"), atomic_file(path, overwrite=True) as file:
        file.write_text("new")
        path.unlink()
        os.mkfifo(path)
    assert stat.S_ISFIFO(path.stat().st_mode)


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444, 0o755])
def test_a_file_keeps_its_mode(tmp_path, mode):
    path = tmp_path / "f"
    path.write_text("old")
    path.chmod(mode)
    write(path)
    assert path.read_text() == "new" and stat.S_IMODE(path.stat().st_mode) == mode


def test_a_folder_and_its_files_keep_their_modes(tmp_path, system):
    folder = tmp_path / "m"
    folder.mkdir(mode=0o700)
    for name, mode in (("a", 0o600), ("b", 0o640)):
        (folder / name).write_text("old")
        (folder / name).chmod(mode)
    with atomic_folder(folder, overwrite=True, ours={"a", "b", "c"}) as new:
        for name in "abc":
            (new / name).write_text("new")
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert modes == {"a": 0o600, "b": 0o640, "c": 0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {path.read_text() for path in folder.iterdir()} == {"new"}


def test_a_file_keeps_its_owner(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("only root may give files away")
    path = tmp_path / "f"
    path.write_text("old")
    os.chown(path, 1234, 2345)
    write(path)
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 2345)


def test_a_new_file_gets_what_the_user_gives_new_files(tmp_path):
    before = os.umask(0o027)
    try:
        write(tmp_path / "f")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == 0o640


@pytest.mark.parametrize("kind", ["fifo", "link", "file"])
def test_what_is_only_named_like_a_leftover_is_left_alone(tmp_path, kind):
    """A pipe of such a name made every run hang."""
    impostor, precious = tmp_path / ".f.partial-x", tmp_path / "precious"
    precious.mkdir()
    (precious / "one").write_text("1")
    if kind == "fifo":
        os.mkfifo(impostor)
    elif kind == "link":
        impostor.symlink_to(precious)
    else:
        impostor.write_text("")
    write(tmp_path / "f")
    assert (precious / "one").exists() and os.path.lexists(impostor)


def test_leftovers_of_dead_processes_are_removed(tmp_path):
    (tmp_path / ".f.partial-x").mkdir()
    (tmp_path / ".f.partial-x" / "f").write_text("half")
    write(tmp_path / "f")
    assert names(tmp_path) == ["f"]


def test_temporary_folders_of_the_living_stay(tmp_path):
    with temporary_folder(tmp_path / "f") as first, temporary_folder(tmp_path / "f") as second:
        assert first != second and first.is_dir() and second.is_dir()
    assert names(tmp_path) == []


@pytest.mark.parametrize("writer", [files.atomic_file, files.atomic_folder])
def test_the_root_of_the_file_system_is_refused(writer):
    with pytest.raises(SpherevecError, match="is the root of the file system"), writer("/", overwrite=True):
        pass
