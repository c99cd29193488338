"""Errors of the core.

FairlaneError
└── Refused: the object asks for something that cannot be; `Stalled` shows the message, nothing that runs is touched
"""


class FairlaneError(Exception):
    """Any error that Fairlane raises itself."""


class Refused(FairlaneError):
    """The spec cannot be followed. The message names the field, the value and the remedy."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.message = message
