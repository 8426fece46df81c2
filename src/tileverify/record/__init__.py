"""``tileverify record``: write down every ``cuda.tile`` launch of a program as bytecode and launch specs."""

from .run import RecordOptions, RecordSummary, record

__all__ = ["RecordOptions", "RecordSummary", "record"]
