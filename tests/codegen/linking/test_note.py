from relay_tune.codegen.linking.note import (
    CHECKSUM_OFFSET,
    Note,
    note_size,
    read_note,
    write_note,
)


def test_a_note_is_read_as_it_was_written() -> None:
    for length in range(6):
        note = Note(1 << 40, 0xDEADBEEF, 1 << 33, b"text!"[:length])
        data = write_note(note)
        assert len(data) == note_size(note.description)
        assert read_note(data) == note
        assert data[CHECKSUM_OFFSET : CHECKSUM_OFFSET + 4] == b"\xef\xbe\xad\xde"


def test_other_notes_and_parts_of_one() -> None:
    data = write_note(Note(1, 2, 3, b"description"))
    assert all(read_note(data[:end]) is None for end in range(len(data) - 1))
    assert read_note(b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0" + bytes(20)) is None
