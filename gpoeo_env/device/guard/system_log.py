"""The system's log: where a watchdog without a terminal is still heard."""

from __future__ import annotations

import logging
import syslog

__all__ = ["SystemLog"]


class SystemLog(logging.Handler):
    """Hands records to syslog; without a syslog daemon they go nowhere."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record."""
        priority = syslog.LOG_ERR if record.levelno >= logging.ERROR else syslog.LOG_WARNING
        syslog.syslog(priority | syslog.LOG_DAEMON, f"gpoeo watchdog: {record.getMessage()}")
