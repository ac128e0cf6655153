"""The wheel in an environment of its own: the base install has the page, with all its files."""

import json
import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPCookieProcessor, Request, build_opener

import pytest

ROOT = Path(__file__).parents[2]
UV = Path(sysconfig.get_path("scripts")) / "uv"


@pytest.fixture(scope="module")
def bin_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of a fresh environment into which the wheel was installed, and nothing that it does not ask for."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    install = [UV, "pip", "install", "--quiet", "--python", folder / "venv/bin/python"]
    pinned = ["--constraint", ROOT / "requirements.lock", wheel]
    # `make setup` has put these versions into uv's cache; where that was emptied, they come from the registry.
    if subprocess.run([*install, "--offline", *pinned], check=False, capture_output=True).returncode != 0:
        subprocess.run([*install, *pinned], check=True)
    return folder / "venv/bin"


@pytest.fixture
def link(bin_folder: Path, tmp_path: Path) -> Iterator[str]:
    """The link that `punchlist serve` of that environment prints, while it runs."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PUNCHLIST_", "PYTHON"))}
    command = [bin_folder / "punchlist", "--db", tmp_path / "board.db", "serve", "--port", "0", "--no-watch"]
    environment = {**inherited, "HOME": str(tmp_path)}
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path, env=environment)
    assert server.stdout is not None
    with server:
        yield server.stdout.readline().removeprefix("Punchlist is at ").strip()
        server.terminate()
    assert server.returncode == 0


def test_a_base_install_serves_the_page_and_every_file_that_it_names(link: str) -> None:
    browser = build_opener(HTTPCookieProcessor())
    page = browser.open(link).read().decode()
    assert "<h1" in page
    origin = "{0.scheme}://{0.netloc}".format(urlsplit(link))
    files = set(re.findall(r'(?:src|href)="(/static/[^"]+)"', page))
    assert {"/static/style.css", "/static/page.js"} <= files
    for file in sorted(files):
        answer = browser.open(origin + file)
        assert (answer.status, bool(answer.read())) == (200, True)


def test_without_its_extra_mcp_over_http_names_what_to_install(link: str) -> None:
    address = urlsplit(link)
    headers = {"Authorization": f"Bearer {address.query.removeprefix('token=')}", "Content-Type": "application/json"}
    request = Request(f"http://{address.netloc}/mcp", b"{}", headers)
    with pytest.raises(HTTPError) as refused:
        build_opener().open(request)
    with refused.value as answer:
        problem = json.loads(answer.read())
    assert (answer.code, problem["code"]) == (501, "extra_missing")
    assert 'pip install "punchlist[mcp]"' in problem["detail"]
