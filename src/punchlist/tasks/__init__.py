"""Durable tasks: work that outlives a conversation, shared by many agents, processes and machines."""

from punchlist.tasks.claims import LEASE, LONGEST_LEASE
from punchlist.tasks.fields import NewTask, TaskChanges
from punchlist.tasks.handle import TaskGraph, Tasks
from punchlist.tasks.work import Work

__all__ = ["LEASE", "LONGEST_LEASE", "NewTask", "TaskChanges", "TaskGraph", "Tasks", "Work"]
