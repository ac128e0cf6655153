"""A worker on durable tasks: two threads claim tasks, one after the other. A task that fails is retried.

Any number of processes may do this on one board: a task has one worker at a time, and a worker that dies loses its task
to the next when its lease ends.
"""

import threading

from punchlist import Board
from punchlist.errors import TaskError


def run(tasks, task):
    """Do the work of one task. The first attempt at the build fails."""
    tasks.heartbeat(task.id, fence=task.fence)  # now and then in long work: it renews the lease
    if task.subject == "Build" and task.attempts == 1:
        raise RuntimeError("the disk is full")
    return f"{task.subject.lower()}: ok"


def work(tasks, name):
    """Claim and run tasks until none is ready."""
    while (task := tasks.claim(name, lease=60)) is not None:
        try:
            tasks.complete(task.id, fence=task.fence, result=run(tasks, task))
        except TaskError as error:  # the task was cancelled, or another worker has it by now
            print(error)
        except Exception as error:
            tasks.fail(task.id, str(error), fence=task.fence)


with Board.open("memory:") as board:
    tasks = board.tasks("release")
    tasks.create("Build", max_attempts=3, backoff=0)
    tasks.create("Test", blocked_by=["1"])
    tasks.create("Write the notes")
    workers = [threading.Thread(target=work, args=(tasks, f"worker-{number}")) for number in (1, 2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for task in tasks.list():
        print(task.id, task.subject, task.status, f"attempts={task.attempts}", task.result)
