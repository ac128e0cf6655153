"""Watch the logs that agents write themselves, attached or not, and keep the board in step with them. Reads only."""

from punchlist.hosts.watch.watcher import Watcher, WatchProgress

__all__ = ["WatchProgress", "Watcher"]
