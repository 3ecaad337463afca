"""Task files as records. Reading them is in `loading`, which needs pydantic: a command without a task does not."""

from markbook.config.spec import (
    CONTEXT_MODES,
    ContextMode,
    Data,
    FewShot,
    Filter,
    GroupMetric,
    Member,
    Output,
    Pipeline,
    Sampling,
    Task,
    TaskGroup,
    Text,
    Use,
)
from markbook.config.tree import Function

__all__ = [
    "CONTEXT_MODES",
    "ContextMode",
    "Data",
    "FewShot",
    "Filter",
    "Function",
    "GroupMetric",
    "Member",
    "Output",
    "Pipeline",
    "Sampling",
    "Task",
    "TaskGroup",
    "Text",
    "Use",
]
