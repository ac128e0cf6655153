"""PostgreSQL fails over under the server while two relays are connected: no line that was acknowledged is lost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.postgres.clusters import Cluster, run_cluster
from tests.sizes import size
from tests.team.hosts import Machine, Server, await_that, end
from tests.team.networks import Wire
from tests.team.test_wire import begin, call, list_calls, list_ends

pytestmark = [pytest.mark.needs("root"), pytest.mark.needs("ip"), pytest.mark.needs("openssl")]

CALLS = size(30, 300)


@pytest.fixture
def cluster(postgres: str) -> Iterator[Cluster]:
    with run_cluster() as cluster:
        cluster.start_standby()
        cluster.wait_for_standby()
        yield cluster


@pytest.fixture
def server(cluster: Cluster, wire: Wire, stack: ExitStack, tmp_path: Path) -> Server:
    return stack.enter_context(Server(wire, tmp_path, cluster.socket_url))


@pytest.mark.parametrize("_run", range(size(1, 20)))
def test_a_standby_takes_over_and_no_acknowledged_line_of_two_relays_is_lost(
    cluster: Cluster, server: Server, other: Machine, machine: Machine, wire: Wire, stack: ExitStack, _run: int
) -> None:
    sessions = {"s-1": machine, "s-2": other}
    for session, one in sessions.items():
        with wire.inside(one.number):
            one.attach("claude-code")
            relay = one.start_relay()
        stack.callback(end, relay)
        begin(server, one, session)
    for number in range(CALLS):
        if number == CALLS // 3:
            cluster.kill_primary()
        if number == 2 * CALLS // 3:
            cluster.promote()
        for session, one in sessions.items():
            call(one, number, session)
    wanted = [f"call-{number}" for number in range(CALLS)]
    await_that(
        lambda: all(len(list_ends(server, session)) >= CALLS for session in sessions),
        lambda: [(list_ends(server, session), one.faults()) for session, one in sessions.items()],
        120,
    )
    for session in sessions:
        assert list_calls(server, session) == wanted
        assert list_ends(server, session) == wanted
