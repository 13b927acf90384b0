import os
from dataclasses import replace

import logs
from logs.process import ProcessIdentity, this_process

DIE_MEASURING = """
import os, sys, logs
log = logs.open_log(sys.argv[1])
key = logs.Key("w", "t", 1, "1", "{}")
print(log.claim(key), flush=True)
sys.stdin.readline()
os._exit(1)
"""
KEY = logs.Key("w", "t", 1, "1", "{}")


def place(log, **changes):
    """Put the claim on KEY into other hands."""
    columns = ", ".join(f"{name} = ?" for name in changes)
    with log._store.writing() as database:
        database.execute(f"UPDATE claims SET {columns}", list(changes.values()))


def test_a_claim_ends_with_its_record(path, record):
    with logs.open_log(path) as log:
        assert log.claim(record().key)
        assert [claim.key for claim in log.claims()] == [record().key]
        log.append(record())
        assert log.claims() == []


def test_what_is_measured_is_claimed_only_on_purpose(path, record):
    with logs.open_log(path) as log:
        log.append(record())
        assert not log.claim(record().key)
        assert log.claim(record().key, again=True)


def test_several_keys_are_claimed_and_released_at_once(path, record, start):
    others, mine = replace(KEY, schedule="[1]"), replace(KEY, schedule="[2]")
    with logs.open_log(path) as log:
        measured = replace(record(), schedule="[]")
        log.append(measured)
        other = start(DIE_MEASURING, path)
        assert other.stdout.readline() == "True\n"
        assert log.claim_all([measured.key, KEY, others, mine]) == [False, False, True, True]
        log.release(KEY, others, mine)
        assert [claim.key for claim in log.claims()] == [KEY]


def test_a_living_process_keeps_its_claim_past_the_lease(path, start):
    with logs.open_log(path) as log:
        other = start(DIE_MEASURING, path)
        assert other.stdout.readline() == "True\n"
        place(log, lease_until=1.0)
        assert log.stale_claims() == []
        assert not log.claim(KEY)


def test_a_dead_process_leaves_a_stale_claim_and_attempts_end(path, start):
    with logs.open_log(path) as log:
        for attempt in (1, 2):
            other = start(DIE_MEASURING, path)
            assert other.stdout.readline() == "True\n"
            other.communicate("die\n")
            assert [claim.attempts for claim in log.stale_claims()] == [attempt]
        assert not log.claim(KEY)
        assert log.claim(KEY, max_attempts=3)


RESERVE_AND_RUN = """
import os, sys, logs
log = logs.open_log(sys.argv[1])
keys = [logs.Key("w", "t", 1, "1", text) for text in sys.argv[2:]]
print(log.claim_all(keys, running=False), flush=True)
for key in keys[:-1]:
    log.set_running(key, True)
    log.set_running(key, False)
log.set_running(keys[-1], True)
os._exit(1)
"""


def test_only_what_was_running_is_blamed_for_a_death(path, start):
    innocent, guilty = replace(KEY, schedule="[1]"), replace(KEY, schedule="[2]")
    with logs.open_log(path) as log:
        for death in (1, 2):
            other = start(RESERVE_AND_RUN, path, innocent.schedule, guilty.schedule)
            assert other.stdout.readline() == "[True, True]\n"
            other.communicate()
            stale = {claim.key: (claim.attempts, claim.running) for claim in log.stale_claims()}
            assert stale == {innocent: (1, False), guilty: (death, True)}
        assert log.claim_all([innocent, guilty], max_attempts=2, running=False) == [True, False]


def test_what_others_claimed_is_not_set_running(path):
    with logs.open_log(path) as log:
        log.claim(KEY, running=False)
        place(log, started="1")
        log.set_running(KEY, True)
        assert [claim.running for claim in log.claims()] == [False]


def test_a_damaged_record_is_measured_again(path, record):
    with logs.open_log(path) as log:
        log.append(record())
        with log._store.writing() as database:
            database.execute("UPDATE records SET seconds = 1e-9")
        assert log.claim(record().key)


def test_a_killed_process_that_nobody_waited_for_is_dead(path, start):
    with logs.open_log(path) as log:
        other = start(DIE_MEASURING, path)
        other.stdout.readline()
        other.kill()
        os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)  # it stays a zombie
        assert len(log.stale_claims()) == 1


def test_claiming_again_renews_the_lease(path):
    with logs.open_log(path) as log:
        log.claim(KEY, lease_seconds=10)
        first = log.claims()[0]
        assert log.claim(KEY, lease_seconds=1000)
        renewed = log.claims()[0]
    assert renewed.lease_until > first.lease_until
    assert renewed.attempts == 1


def test_of_another_host_the_lease_decides(path):
    with logs.open_log(path) as log:
        log.claim(KEY)
        place(log, host="elsewhere")
        assert log.stale_claims() == []
        place(log, lease_until=1.0)
        assert len(log.stale_claims()) == 1
        assert log.claim(KEY)


def test_a_reused_process_number_is_not_the_same_process(path):
    with logs.open_log(path) as log:
        log.claim(KEY)
        place(log, started="1")
        assert len(log.stale_claims()) == 1


def test_the_machine_went_down(path):
    with logs.open_log(path) as log:
        log.claim(KEY)
        place(log, boot="an earlier boot")
        assert len(log.stale_claims()) == 1


def test_release_gives_up(path):
    with logs.open_log(path) as log:
        log.claim(KEY)
        log.release(KEY)
        assert log.claims() == []


def test_release_leaves_the_claims_of_others(path):
    with logs.open_log(path) as log:
        log.claim(KEY)
        place(log, started="1")
        log.release(KEY)
        assert len(log.stale_claims()) == 1


def test_a_damaged_claim_holds_nobody_up(path):
    with logs.open_log(path) as log:
        log.claim(KEY)
        place(log, pid="../../etc", lease_until="soon")
        assert log.claims() == []
        assert log.claim(KEY)


def test_identity_names_this_very_process():
    here = this_process()
    assert here == this_process()
    assert isinstance(here, ProcessIdentity) and here.host
