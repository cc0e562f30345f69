"""What loggers, launchers and collectors write before a message, as parts of regular expressions that all
readers of prefixes share."""

from __future__ import annotations

LEVEL = r"(?:INFO|WARNING|WARN|ERROR|DEBUG|CRITICAL|FATAL|TRACE|SUCCESS|NOTICE)"
DAY = r"\d{4}-\d\d-\d\d"
CLOCK = r"\d\d:\d\d:\d\d"
FRACTION = r"(?:[.,]\d{1,9})?"
ZONE = r"(?:Z|[+-]\d\d:?\d\d)?"
RAY_PROCESS = r"\((?P<process>(?:[^()]{1,80} )?pid=\d{1,10})(?:, ip=[\w.:]{1,60})?\) ?"
"""Ray, before each line of a worker."""
SYSLOG_SENDER = r"[\w.\-]{1,64} (?!\d)[\w.@/\-]{1,64}(?:\[\d{1,9}\])?:(?! ?[-+]?\.?\d) ?"
"""Machine and process, as syslog and journald name them; a number behind the colon is that of a measure."""
