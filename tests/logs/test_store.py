"""Logs that cannot be opened or written: one clear message, nothing damaged."""

import os
import sqlite3

import pytest

import logs

FILL_A_SMALL_DISK = """
import resource, sys, logs
log = logs.open_log(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, 150_000))
for number in range(2000):
    record = logs.Record("w", "t", 1, "1", str(number), "ok", 1.0, "h", seconds=1.0)
    try:
        log.append(record)
    except logs.LogError as error:
        print(error, flush=True)
        break
    print(number, flush=True)
log.close()
"""


def refused(path, text, **options):
    with pytest.raises(logs.LogError, match=text) as caught:
        logs.open_log(path, **options)
    assert "\n" not in str(caught.value)
    assert str(caught.value.where) in str(caught.value)


def siblings(path):
    return sorted(file.name for file in path.parent.iterdir())


def test_an_empty_file_becomes_a_log_only_if_wanted(path):
    path.touch()
    refused(path, "empty file", create=False)
    refused(path, "empty file", readonly=True)
    assert path.stat().st_size == 0
    with logs.open_log(path) as log:
        assert log.check().ok


def test_a_missing_log_is_not_created_unless_wanted(path):
    refused(path, "no such log", create=False)
    refused(path, "no such log", readonly=True)
    assert siblings(path) == []


def test_a_folder(tmp_path):
    refused(tmp_path, "is a folder")
    refused(tmp_path, "is a folder", readonly=True)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of POSIX")
@pytest.mark.parametrize("options", [{}, {"create": False}, {"readonly": True}])
def test_a_pipe_does_not_hang(tmp_path, options):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    for name in (tmp_path / "pipe", tmp_path / "link"):
        refused(name, "no regular file", **options)


NEW_ON_A_FULL_DISK = """
import resource, signal, sys, logs
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
try:
    logs.open_log(sys.argv[1])
except logs.LogError as error:
    print(error, flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
@pytest.mark.parametrize("room", [0, 100, 5000, 20_000])
def test_a_full_disk_leaves_no_empty_log(path, start, room):
    output, error = start(NEW_ON_A_FULL_DISK, path, room).communicate()
    assert "storage refuses" in output and error == ""
    assert not path.exists() or path.stat().st_size > 0
    with logs.open_log(path) as log:  # once there is room again
        assert log.check().ok


def test_a_missing_folder(tmp_path):
    refused(tmp_path / "nowhere" / "tuning.db", "folder does not exist")


@pytest.mark.parametrize("readonly", [False, True])
@pytest.mark.parametrize(
    "content", [b"a poem\n", b"x" * 20_000, b"SQLite format 3\0" + b"z" * 9000]
)
def test_not_a_database(path, content, readonly):
    path.write_bytes(content)
    refused(path, "not a tuning log|damaged", readonly=readonly)
    assert path.read_bytes() == content
    assert siblings(path) == ["tuning.db"]


def test_a_database_of_another_program(path):
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE records (id INTEGER)")
    connection.close()
    before = path.read_bytes()
    refused(path, "another program")
    assert path.read_bytes() == before
    assert siblings(path) == ["tuning.db"]


def test_an_empty_database_of_another_program(path):
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA application_id = 77")
    connection.close()
    refused(path, "another program")


@pytest.mark.parametrize("length", [50, 100, 1000, 4096, 5000, 8192])
def test_a_truncated_log(path, record, length):
    with logs.open_log(path) as log:
        for number in range(30):
            log.append(record(number))
    content = path.read_bytes()[:length]
    path.write_bytes(content)
    for readonly in (False, True):
        refused(path, "damaged|not a tuning log", readonly=readonly)
    assert path.read_bytes() == content


@pytest.mark.parametrize("missing", [1, 1000, 4095])
def test_a_log_cut_within_its_last_page_loses_nothing_silently(path, record, missing):
    records = [record(number) for number in range(30)]
    with logs.open_log(path) as log:
        for each in records:
            log.append(each)
    path.write_bytes(path.read_bytes()[:-missing])
    with logs.open_log(path) as log:
        if log.check().ok:
            assert list(log.history()) == records


def test_odd_names(tmp_path, record):
    for name in ("a b?mode=ro#x%41.db", "größe;.db", "file:x"):
        with logs.open_log(tmp_path / name) as log:
            log.append(record())
        assert (tmp_path / name).is_file()


def test_readonly_reads_and_refuses_to_write(path, record):
    with logs.open_log(path) as log:
        log.append(record())
    with logs.open_log(path, create=False, readonly=True) as log:
        assert list(log.history()) == [record()]
        for write in (log.append, lambda each: log.claim(each.key)):
            with pytest.raises(logs.LogError, match="reading only"):
                write(record(1))


def test_readonly_leaves_one_unchanged_file(path, record):
    with logs.open_log(path) as log:
        log.append(record())
    before = path.read_bytes()
    with logs.open_log(path, readonly=True) as one, logs.open_log(path, readonly=True) as other:
        assert list(one.history()) == list(other.history()) == [record()]
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    assert path.read_bytes() == before


def test_readonly_leaves_the_work_of_a_killed_writer(path, record):
    with logs.open_log(path) as log:
        log.append(record())
        files = {file: file.read_bytes() for file in path.parent.iterdir()}
    for file, content in files.items():
        file.write_bytes(content)
    with logs.open_log(path, create=False, readonly=True) as reader:
        assert list(reader.history()) == [record()]
    assert path.read_bytes() == files[path]


def test_readonly_sees_what_a_writer_adds(path, record):
    with logs.open_log(path) as writer, logs.open_log(path, readonly=True) as reader:
        writer.append(record())
        assert list(reader.history()) == [record()]


def prepared(folder, record, file_mode, folder_mode):
    path = folder / "tuning.db"
    with logs.open_log(path) as log:
        log.append(record())
    path.chmod(file_mode)
    folder.chmod(folder_mode)
    return path


def test_a_file_that_may_only_be_read(shared_folder, record, request):
    path = prepared(shared_folder, record, 0o444, 0o555)
    request.getfixturevalue("without_privileges")
    refused(path, "cannot be (written|opened for writing)")
    with logs.open_log(path, create=False, readonly=True) as log:
        assert list(log.history()) == [record()]


def test_a_file_that_may_not_be_read(shared_folder, record, request):
    path = prepared(shared_folder, record, 0o000, 0o755)
    request.getfixturevalue("without_privileges")
    refused(path, "cannot be opened for writing")
    refused(path, "cannot be opened .* you may read it", readonly=True)


def test_a_folder_where_nothing_may_be_written(shared_folder, request):
    shared_folder.chmod(0o555)
    request.getfixturevalue("without_privileges")
    refused(shared_folder / "tuning.db", "cannot be opened for writing .* you may write the file")


def test_unfinished_work_in_a_folder_that_may_only_be_read(shared_folder, record, request):
    path = prepared(shared_folder, record, 0o644, 0o755)
    with logs.open_log(path) as log:
        log.append(record(1))
        content = {name: (shared_folder / name).read_bytes() for name in siblings(path)}
    for name in ("tuning.db", "tuning.db-wal"):
        (shared_folder / name).write_bytes(content[name])
        (shared_folder / name).chmod(0o444)
    shared_folder.chmod(0o555)
    request.getfixturevalue("without_privileges")
    refused(path, "unfinished work", readonly=True)


def test_a_full_disk_keeps_all_that_was_acknowledged(path, start):
    output, errors = start(FILL_A_SMALL_DISK, path).communicate()
    assert errors == ""
    *acknowledged, message = output.splitlines()
    assert "storage refuses" in message and str(path) in message
    with logs.open_log(path) as log:
        assert log.check().ok
        assert {record.schedule for record in log.history()} == set(acknowledged)
