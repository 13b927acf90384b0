"""Damage is never silently believed."""

import random

import pytest

import logs

WHERE = ("matmul-64", "x86_64-linux-gnu:haswell", 2, "1")
FLIPS = 120


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE records SET seconds = 1e-9 WHERE id = 2",
        "UPDATE records SET seconds = 'fast' WHERE id = 2",
        "UPDATE records SET seconds = NULL WHERE id = 2",
        "UPDATE records SET status = 'crash' WHERE id = 2",
        "UPDATE records SET schedule = '{}' WHERE id = 2",
        "UPDATE records SET digest = digest || '0' WHERE id = 2",
        "UPDATE records SET message = CAST(x'ff' AS TEXT) WHERE id = 2",
        "UPDATE records SET message = x'00' WHERE id = 2",
        "UPDATE records SET threads = 2.5 WHERE id = 2",
        "UPDATE records SET measurements = 1000 WHERE id = 2",
    ],
)
def test_a_changed_row_is_skipped_counted_and_reported(path, record, statement):
    with logs.open_log(path) as log:
        for number in (1, 0, 2):
            log.append(record(number))
        with log._store.writing() as database:
            database.execute(statement)
        assert list(log.history()) == [record(1), record(2)]
        assert log.best(*WHERE) == record(1)
        assert log.damaged_rows == 1
        assert [fault[:14] for fault in log.check().damaged] == ["records, row 2"]


def test_a_damaged_row_is_healed_by_measuring_again(path, record):
    with logs.open_log(path) as log:
        log.append(record())
        with log._store.writing() as database:
            database.execute("UPDATE records SET seconds = 9")
        log.append(record())
        assert list(log.history()) == [record()]


def test_flipped_bits_never_change_a_record(path, tmp_path, record):
    originals = [record(number, features=str([1.5] * 200)) for number in range(60)]
    with logs.open_log(path) as log:
        for each in originals:
            log.append(each)
    content, chance, seen = path.read_bytes(), random.Random(7), {"same": 0, "caught": 0}
    known = {each.key: each for each in originals}
    for number in range(FLIPS):
        damaged = bytearray(content)
        damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
        copy = tmp_path / f"flipped{number}.db"
        copy.write_bytes(damaged)
        seen[_read(copy, known)] += 1
        copy.unlink()
    assert seen["caught"] > FLIPS / 4  # most of the file is content
    assert seen["same"] > 0


def _read(path, known):
    """Read all that a damaged log gives away; every record must be an original."""
    try:
        with logs.open_log(path, create=False) as log:
            history = list(log.history())
            assert all(known[each.key] == each for each in history)
            best = log.best(*WHERE)
            assert best is None or known[best.key] == best
            if not log.check().ok:
                return "caught"
            assert history == list(known.values())
            return "same"
    except logs.LogError:
        return "caught"
