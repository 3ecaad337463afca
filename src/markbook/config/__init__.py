"""Task files: read strictly, with every mistake at its place, and without running anything in them."""

from markbook.config.files import Loaded, load, load_all, ready_folder, ready_tasks
from markbook.config.native import json_schema
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
from markbook.config.tree import Function, Node, parse_tree, plain, read_tree

__all__ = [
    "CONTEXT_MODES",
    "ContextMode",
    "Data",
    "FewShot",
    "Filter",
    "Function",
    "GroupMetric",
    "Loaded",
    "Member",
    "Node",
    "Output",
    "Pipeline",
    "Sampling",
    "Task",
    "TaskGroup",
    "Text",
    "Use",
    "json_schema",
    "load",
    "load_all",
    "parse_tree",
    "plain",
    "read_tree",
    "ready_folder",
    "ready_tasks",
]
