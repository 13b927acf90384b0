import logs


def test_a_sound_log(path, record):
    with logs.open_log(path) as log:
        log.append(record(1))
        log.put_task("w", "{}")
        log.put_limit("t", "flops", 1.0)
        report = log.check()
    assert report.ok and report.records == 1
    assert (report.path, report.schema_version) == (str(path), logs.SCHEMA_VERSION)


def test_damaged_pages_are_reported_not_raised(path, record):
    with logs.open_log(path) as log:
        for number in range(100):
            log.append(record(number, message="x" * 300))
    content = bytearray(path.read_bytes())
    content[-8192:-4096] = b"\xff" * 4096
    path.write_bytes(content)
    with logs.open_log(path) as log:
        report = log.check()
    assert not report.ok and report.faults


def test_a_row_missing_from_the_index_is_reported(path, record):
    with logs.open_log(path) as log:
        log.append(record(1))
        log.append(record(2))
    content = path.read_bytes()
    schedule = record(2).schedule.encode()
    assert content.count(schedule) == 2  # in the table and in its index
    path.write_bytes(content.replace(schedule, schedule.replace(b"2", b"7"), 1))
    with logs.open_log(path) as log:
        report = log.check()
    assert report.faults or report.damaged
