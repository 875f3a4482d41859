"""Atomic writing: a complete new file, or the old one unchanged."""

import os
import stat

import pytest

from foliax.atomic import atomic_path, open_atomic


@pytest.fixture
def old(tmp_path):
    path = tmp_path / "file.csv.gz"
    path.write_bytes(b"old")
    return path


def write(path, data=b"new"):
    with open_atomic(path) as file:
        file.write(data)


def test_a_file_appears_at_the_end(tmp_path):
    path = tmp_path / "file"
    with open_atomic(path) as file:
        file.write(b"new")
        assert not path.exists()
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["file"]


def test_a_failure_leaves_the_old_file(old):
    def interrupted():
        yield b"half of it"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), open_atomic(old) as file:
        file.writelines(interrupted())
    assert old.read_bytes() == b"old"
    assert os.listdir(old.parent) == [old.name]


@pytest.mark.parametrize("function", ["fsync", "replace", "chmod"])
def test_a_full_disk_leaves_the_old_file(old, function, monkeypatch):
    def fail(*_):
        raise OSError("no space left")

    monkeypatch.setattr(os, function, fail)
    with pytest.raises(OSError, match="no space left"):
        write(old)
    assert old.read_bytes() == b"old"
    assert os.listdir(old.parent) == [old.name]


def test_temporary_names_differ_and_keep_the_ending(old):
    with atomic_path(old) as one, atomic_path(old) as other:
        assert one != other
        for path in (one, other):
            assert path.parent == old.parent
            assert path.name.startswith(".")
            assert path.name.endswith(".csv.gz")


def test_a_long_name_fits(tmp_path):
    path = tmp_path / ("a" * 250 + ".csv")
    write(path)
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444])
def test_the_permissions_stay(old, mode):
    old.chmod(mode)
    write(old)
    assert old.read_bytes() == b"new"
    assert stat.S_IMODE(old.stat().st_mode) == mode


def test_a_new_file_has_the_usual_permissions(tmp_path):
    (tmp_path / "usual").touch()
    write(tmp_path / "new")
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_a_private_file_is_private_while_it_is_written(old):
    old.chmod(0o600)
    with atomic_path(old) as temporary:
        assert stat.S_IMODE(temporary.stat().st_mode) == 0o600


def test_a_symbolic_link_stays(old, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    link = folder / "link.csv"
    link.symlink_to(old)
    write(link)
    assert link.is_symlink()
    assert old.read_bytes() == b"new"
    assert os.listdir(folder) == ["link.csv"]


def test_a_missing_folder_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        write(tmp_path / "none" / "file")
