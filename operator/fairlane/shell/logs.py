"""Log lines as JSON, one object a line."""

import datetime
import json
import logging
import sys

_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class Json(logging.Formatter):
    """Time, level, logger, message, the fields given as `extra`, and the traceback of an exception."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        instant = datetime.datetime.fromtimestamp(record.created, datetime.UTC)
        line = {"time": instant.isoformat(timespec="milliseconds"), "level": record.levelname, "logger": record.name, "message": record.getMessage()}
        extra = {name: value for name, value in vars(record).items() if name not in _OWN and isinstance(value, str | int | float)}
        trace = {"exception": self.formatException(record.exc_info)} if record.exc_info else {}
        return json.dumps(line | extra | trace, ensure_ascii=False)


def configure(level: str) -> None:
    """Send all log lines to standard error as JSON; the libraries' only from INFO on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Json())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.getLogger("fairlane").setLevel(level)
    for noisy in ("kopf.objects", "aiohttp.access", "asyncio", "httpx"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
