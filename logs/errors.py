"""The one exception of the tuning log: what is wrong, where, and what to do about it."""


class LogError(Exception):
    """A tuning log, a record or an exchange file cannot be used as asked.

    `what` names the fault, `where` the file, row or field, `remedy` the next step of the user.
    `str()` of the error is one line: ``what (where): remedy``.
    """

    def __init__(self, what: str, where: str, remedy: str) -> None:
        super().__init__(what, where, remedy)
        self.what = what
        self.where = where
        self.remedy = remedy

    def __str__(self) -> str:
        return " ".join(f"{self.what} ({self.where}): {self.remedy}".splitlines())
