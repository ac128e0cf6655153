"""The gate before the server: the link, cookies, tokens and their scopes."""

import httpx
import pytest

from punchlist.server.access import SECURITY_HEADERS
from tests.server.conftest import Running


def test_the_link_gives_a_cookie_once_and_takes_the_token_out_of_the_address(running: Running):
    with running.open_client() as client:
        answer = client.get(running.access.link)
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "samesite=strict" in cookie.lower()
        assert cookie.startswith(f"punchlist_{running.access.port}=")
        assert running.access.secret not in cookie
        assert client.get("/metrics").status_code == 200


@pytest.mark.parametrize("path", ["/metrics", "/nothing", "/healthz?token=wrong"])
def test_without_a_token_nothing_is_answered(running: Running, path: str):
    with running.open_client() as client:
        assert client.get(path).status_code in (401, 404)


def test_health_needs_no_token_and_every_answer_has_the_security_headers(running: Running):
    with running.open_client() as client:
        for path in ("/healthz", "/metrics", "/nothing"):
            answer = client.get(path)
            assert {name: answer.headers[name] for name in SECURITY_HEADERS} == SECURITY_HEADERS
        assert client.get("/healthz").text == "ok\n"


def test_a_program_reads_metrics_by_its_token(client: httpx.Client):
    answer = client.get("/metrics")
    assert answer.status_code == 200
    assert "punchlist_events_total 0\n" in answer.text
