"""The gate before the server: the link, cookies, tokens and their scopes."""

import re
import socket
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from punchlist.board import Board
from punchlist.cli import main
from punchlist.server.access import LONGEST_BODY, SECURITY_HEADERS, Access, Grant
from punchlist.server.app import bind
from punchlist.server.run_files import load_secret
from punchlist.settings.environment import login_name
from punchlist.store.tokens import digest_of
from tests.server.conftest import Running, add_route, make_token


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


def test_a_browser_is_handed_a_key_at_sign_in_and_a_cookie_without_it_only_reads(running: Running):
    own = {"Origin": running.origin, "Sec-Fetch-Site": "same-origin"}
    with running.open_client(headers=own) as browser, running.open_client(headers=own) as thief:
        running.sign_in(browser)
        thief.cookies.update(browser.cookies)
        assert thief.get("/metrics").status_code == 200
        for key in ("", "0" * 64, next(iter(thief.cookies.values())).partition(".")[2]):
            answer = thief.post("/demo", headers={"X-Punchlist-Key": key})
            assert (answer.status_code, answer.json()["code"]) == (403, "key_missing")
        assert browser.post("/tasks", data={"text": "Sweep"}).status_code == 303


def test_a_sign_in_hands_its_key_to_no_other_host(running: Running):
    with running.open_client(headers={"Accept": "text/html"}) as browser:
        for path in ("//evil.example/", "/%09/evil.example", "/%22%3E%3Cscript%3E"):
            page = browser.get(f"{running.origin}{path}?token={running.access.secret}")
            to = re.findall(r'data-to="([^"]*)"', page.text)
            assert httpx.URL(running.origin).join(to[0]).host == "127.0.0.1"
            assert page.text.count("<script") == 1
            assert page.headers["cache-control"] == "no-store"


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


def test_a_token_reaches_as_far_as_its_scope_until_it_is_revoked(running: Running, board: Board):
    secret = make_token(board, "ci", "look")
    with running.open_client(headers={"Authorization": f"Bearer {secret}"}) as program, running.open_client() as person:
        assert program.get("/metrics").status_code == 200
        assert person.get("/", params={"token": secret, "q": "x y"}).headers["location"] == "/?q=x+y"
        assert person.get("/metrics").status_code == 200
        board.store.transact(lambda tx: tx.tokens.remove("ci", by="ada", at=board.now()))
        assert program.get("/metrics").status_code == 401
        assert person.get("/metrics").status_code == 401


def test_cookies_of_other_servers_on_this_host_do_not_sign_out(running: Running):
    with running.open_client() as client:
        own = client.get(running.access.link).headers["set-cookie"].partition(";")[0]
    others = ['theme={"dark": true}; a=b', "x", "=;;==", 'quoted="a; b"', "sess=[1,2]"]
    for cookies in [f"{other}; {own}" for other in others] + [f"{own}; {other}" for other in others]:
        with running.open_client(headers={"Cookie": cookies}) as client:
            assert client.get("/metrics").status_code == 200, cookies


def test_the_link_leads_to_no_other_host(running: Running):
    with running.open_client() as client:
        for path in ("//evil.example/", "/\\evil.example", "///evil.example"):
            answer = client.get(f"{running.origin}{path}?token={running.access.secret}")
            assert answer.status_code == 303
            assert httpx.URL(running.origin).join(answer.headers["location"]).host == "127.0.0.1"


@pytest.mark.parametrize("is_chunked", [False, True])
def test_a_body_of_more_than_a_megabyte_is_refused(client: httpx.Client, running: Running, is_chunked: bool):
    async def take_body(request: Request) -> Response:
        return Response(str(len(await request.body())))

    add_route(running, Route("/test", take_body, methods=["POST"]))
    headers = {"Content-Type": "application/json"}
    for size, status in ((LONGEST_BODY, 200), (LONGEST_BODY + 1, 413), (3 * LONGEST_BODY, 413)):
        body = b"x" * size
        pieces = (body[start : start + 50_000] for start in range(0, size, 50_000))
        answer = client.post("/test", headers=headers, content=pieces if is_chunked else body)
        assert answer.status_code == status
        assert status == 200 or answer.json()["code"] == "body_too_large"


def test_an_error_of_ours_is_answered_with_the_security_headers_and_without_its_words(
    client: httpx.Client, running: Running
):
    async def fail(_request: Request) -> Response:
        raise RuntimeError("a secret word")

    add_route(running, Route("/test", fail))
    answer = client.get("/test")
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert answer.headers["content-security-policy"] == SECURITY_HEADERS["content-security-policy"]


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "example.org"])
def test_another_address_needs_a_token_that_was_made_for_it(
    host: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert main(["--db", str(tmp_path / "board.db"), "serve", "--host", host]) == 1
    assert "token create" in capsys.readouterr().err


def test_another_address_needs_tls_or_a_word_that_a_proxy_has_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    board = str(tmp_path / "board.db")
    assert main(["--db", board, "token", "create", "ci"]) == 0
    assert main(["--db", board, "serve", "--host", "0.0.0.0"]) == 1
    assert "--tls-cert" in capsys.readouterr().err
    assert main(["--db", board, "serve", "--tls-cert", str(tmp_path / "none.pem")]) == 1
    assert "cannot be used" in capsys.readouterr().err


def test_a_server_answers_to_its_name_and_over_that_the_cookie_goes_by_tls_alone(board: Board):
    access = Access("s" * 43, board.store, port=8137, name="board.example.org")
    assert access.link.startswith("https://board.example.org/?token=")
    assert access.is_own_host("board.example.org")
    assert access.is_own_host("Board.example.org:443")
    assert not access.is_own_host("example.org")
    assert access.is_secure("board.example.org")
    assert not access.is_secure("127.0.0.1:8137")
    with_tls = Access("s" * 43, board.store, host="0.0.0.0", port=8443, name="board.example.org", has_tls=True)
    assert with_tls.origin == "https://board.example.org:8443"


def make_sign_in(board: Board, name: str, *, minutes: float = 10) -> str:
    secret, ends = f"si_{name} {minutes}", board.now() + timedelta(minutes=minutes)
    token = board.store.read(lambda tx: tx.tokens.find(name=name))
    assert token is not None
    board.store.transact(lambda tx: tx.tokens.add_sign_in(digest_of(secret), token.id, expires_at=ends))
    return secret


def test_a_sign_in_link_signs_a_person_in_once_and_no_program_uses_it_up(running: Running, board: Board):
    make_token(board, "ada", "edit", person=True)
    own = {"Origin": running.origin, "Sec-Fetch-Site": "same-origin"}
    secret = make_sign_in(board, "ada")
    with running.open_client(headers=own) as browser, running.open_client(headers=own) as second:
        assert browser.get("/", params={"token": secret}).status_code == 401  # as a chat previews it
        running.sign_in(browser, secret)
        assert browser.post("/tasks", data={"text": "Sweep"}).status_code == 303
        page = second.get("/", params={"token": secret}, headers={"Accept": "text/html"})
        assert (page.status_code, list(second.cookies)) == (401, [])
        assert "was used" in page.text
        assert second.get("/metrics", headers={"Authorization": f"Bearer {secret}"}).status_code == 401
        board.store.transact(lambda tx: tx.tokens.remove("ada", by="root", at=board.now()))
        assert browser.get("/metrics").status_code == 401
    said = [(event.kind, event.by) for event in board.events() if event.kind.startswith("token")]
    assert said[-2:] == [("token.signed_in", "ada"), ("token.revoked", "root")]
    created = next(event for event in board.events() if event.kind == "task.created")
    assert created.by == "ada"


def test_a_sign_in_link_that_is_too_old_signs_nobody_in(running: Running, board: Board):
    make_token(board, "ada", "edit", person=True)
    secret = make_sign_in(board, "ada", minutes=-1)
    with running.open_client(headers={"Accept": "text/html"}) as browser:
        assert browser.get("/", params={"token": secret}).status_code == 401


def test_a_renewed_token_has_another_secret_and_is_the_same_machine(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    def run(*words: str) -> str:
        assert main(["--db", str(tmp_path / "board.db"), "token", *words]) == 0
        return capsys.readouterr().out.strip()

    old = run("create", "laptop-1", "--scope", "report", "--project", "https://git.example.org/shop", "--expires", "1h")
    new = run("renew", "laptop-1")
    with Board.open(tmp_path / "board.db") as board:
        access = Access("s" * 43, board.store)
        assert access.find_token(old) is None
        found, row = access.find_token(new), board.store.read(lambda tx: tx.tokens.find(name="laptop-1"))
        assert found is not None
        assert row is not None
        assert (found.grant.machine, found.grant.projects) == (row.machine, ("git.example.org/shop",))
        assert row.expires_at is not None
        assert row.expires_at > board.now() + timedelta(days=89)
        assert [event.kind for event in board.events()] == ["token.created", "token.renewed"]


def test_away_from_this_machine_the_link_of_the_owner_does_not_count(board: Board):
    access = Access("s" * 43, board.store, host="0.0.0.0", port=1)
    assert access.find_token("s" * 43) is None
    assert access.link == "http://127.0.0.1:1/"


def test_the_link_stays_the_same_and_its_file_is_private(tmp_path: Path):
    board = str(tmp_path / "board.db")
    secret = load_secret(board)
    assert load_secret(board) == secret
    assert (tmp_path / "board.db.token").stat().st_mode & 0o777 == 0o600
    (tmp_path / "board.db.token").chmod(0o644)
    assert load_secret(board) == secret
    assert (tmp_path / "board.db.token").stat().st_mode & 0o777 == 0o600
    (tmp_path / "board.db.token").write_text("cut")
    assert load_secret(board) not in (secret, "cut")
    (tmp_path / "other.db.token").symlink_to(tmp_path / "board.db.token")
    with pytest.raises(OSError, match="link"):
        load_secret(str(tmp_path / "other.db"))


def test_a_token_is_made_listed_and_revoked_by_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    def run(*words: str) -> str:
        assert main(["--db", str(tmp_path / "board.db"), "token", *words]) == 0
        return capsys.readouterr().out

    secret = run("create", "ci", "--scope", "answer").strip()
    with Board.open(tmp_path / "board.db") as board:
        token = Access("s" * 43, board.store).find_token(secret)
    assert token is not None
    assert token.grant == Grant("ci", frozenset({"look", "answer"}))
    assert secret.encode() not in b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert secret not in run("list", "--json")
    assert main(["--db", str(tmp_path / "board.db"), "token", "create", "ci"]) == 1
    run("revoke", "ci")
    assert main(["--db", str(tmp_path / "board.db"), "token", "revoke", "ci"]) == 1


def test_a_token_does_not_take_the_name_of_the_owner(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["--db", str(tmp_path / "board.db"), "token", "create", login_name()]) == 1
    assert "your own name" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_connection_sends_at_once_what_there_is_to_send():
    with bind("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        connection, _ = listener.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1
