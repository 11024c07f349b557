"""What a program says that ends because its settings are wrong."""

import sys
from pathlib import Path
from types import TracebackType

from django.core.exceptions import ImproperlyConfigured

from config.env import BASE_DIR


def explain_without_traceback() -> None:
    """Let a program that wrong settings end say what is wrong without a traceback.

    What other packages call improperly configured keeps its own.
    """
    usual = sys.excepthook

    def explain(kind: type[BaseException], error: BaseException, where: TracebackType | None) -> None:
        if isinstance(error, ImproperlyConfigured) and _is_raised_here(where):
            print(error, file=sys.stderr)
        else:
            usual(kind, error, where)

    sys.excepthook = explain


def _is_raised_here(where: TracebackType | None) -> bool:
    while where is not None and where.tb_next is not None:
        where = where.tb_next
    return where is not None and Path(where.tb_frame.f_code.co_filename).is_relative_to(BASE_DIR / "config")
