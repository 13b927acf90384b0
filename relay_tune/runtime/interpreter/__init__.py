"""The meaning of programs: the reference interpreter; `interpret` is what users call."""
