"""Atomic writing: a complete new file, or the old one unchanged."""

import errno
import os
import re
import stat
import subprocess

import pytest

from foliax.atomic import atomic_path, check_writable, open_atomic


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


def test_a_missing_folder_is_named(tmp_path):
    for use in (write, check_writable):
        with pytest.raises(FileNotFoundError, match=r"none/file cannot .* no folder .*/none\."):
            use(tmp_path / "none" / "file")


def test_the_check_leaves_nothing(old):
    check_writable(old)
    check_writable(old.with_name("new"))
    assert old.read_bytes() == b"old"
    assert os.listdir(old.parent) == [old.name]


def test_the_check_finds_what_would_fail(tmp_path):
    with pytest.raises(IsADirectoryError, match="it is a folder"):
        check_writable(tmp_path)
    with pytest.raises(OSError, match="its name is too long"):
        check_writable(tmp_path / ("a" * 300))
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError, match="file is not a folder"):
        check_writable(tmp_path / "file" / "other")
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS])
def test_the_check_finds_a_full_disk(old, number, monkeypatch):
    def fail(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match=r"file.csv.gz cannot be written: .*folder\.") as found:
        check_writable(old)
    assert found.value.errno == number
    assert os.listdir(old.parent) == [old.name]


def test_errors_name_the_file_and_not_the_temporary_one(old, monkeypatch):
    def fail(source, target):
        raise OSError(errno.ENOSPC, "No space left on device", source, target)

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="no space is left on the disk") as found:
        write(old)
    assert ".foliax-" not in str(found.value)


def test_errors_about_other_files_stay(old):
    with pytest.raises(FileNotFoundError, match="another"), open_atomic(old):
        open(old.parent / "another").close()


def test_a_device_is_not_replaced(tmp_path):
    """As root, the replacement of /dev/null would succeed."""
    link = tmp_path / "link"
    link.symlink_to(os.devnull)
    for use in (write, check_writable):
        with pytest.raises(OSError, match="not a regular file"):
            use(link)
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


def test_a_loop_of_links_is_an_error(tmp_path):
    link = tmp_path / "link"
    link.symlink_to(link)
    with pytest.raises(OSError, match="form a loop"):
        write(link)


def test_leftovers_of_killed_processes_are_removed(tmp_path):
    process = subprocess.Popen(["true"])
    process.wait()
    with atomic_path(tmp_path / "other.csv") as running:
        dead = running.name.replace(f"-{os.getpid()}-", f"-{process.pid}-")
        foreign = re.sub("-[0-9a-f]{8}-", "-00000000-", dead)
        kept = {running.name, foreign, ".foliax-mine", "-other.csv"}
        for name in {dead, *kept} - {running.name}:
            (tmp_path / name).touch()
        write(tmp_path / "file")
        assert {*os.listdir(tmp_path)} == {"file", *kept}


def test_the_folder_is_synced(old, monkeypatch):
    synced = []
    sync = os.fsync

    def record(number):
        synced.append(stat.S_ISDIR(os.fstat(number).st_mode))
        sync(number)

    monkeypatch.setattr(os, "fsync", record)
    write(old)
    assert synced == [False, True]
