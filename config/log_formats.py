"""The form of log lines for programs that collect them; `config.log_filters` has what lines leave out."""

import logging
import time
from typing import Any

import orjson


class JsonFormatter(logging.Formatter):
    """One JSON object a line. A record's `fields` become fields of the object."""

    def format(self, record: logging.LogRecord) -> str:
        when = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, Any] = {
            "time": f"{when}.{int(record.msecs):03}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "request_id": getattr(record, "request_id", None),
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            # A filter may have written the traceback, without what it quotes.
            line["exception"] = record.exc_text or self.formatException(record.exc_info)
        if record.stack_info:
            line["stack"] = self.formatStack(record.stack_info)
        return orjson.dumps({name: value for name, value in line.items() if value is not None}, default=str).decode()
