"""The wheel in an environment of its own: the base install has the page, with all its files."""

import json
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, distribution, distributions
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPCookieProcessor, Request, build_opener

import pytest
from packaging.requirements import Requirement

from punchlist.server.run_files import load_secret

ROOT = Path(__file__).parents[2]
UV = Path(sysconfig.get_path("scripts")) / "uv"


def find_needed(requirements: Iterable[str], found: dict[str, Distribution]) -> dict[str, Distribution]:
    """Return the distributions that these requirements lead to, as they are installed here."""
    for text in requirements:
        wanted = Requirement(text)
        if wanted.name not in found and (wanted.marker is None or wanted.marker.evaluate({"extra": ""})):
            found[wanted.name] = distribution(wanted.name)
            find_needed(found[wanted.name].requires or (), found)
    return found


@pytest.fixture(scope="module")
def bin_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of a fresh environment with the wheel and what it asks for, and nothing else.

    What it asks for is copied from the environment of the tests, so that no test needs the network.
    """
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    install = [UV, "pip", "install", "--quiet", "--offline", "--no-deps", "--python", folder / "venv/bin/python", wheel]
    subprocess.run(install, check=True)
    (packages,) = (folder / "venv/lib").glob("*/site-packages")
    (installed,) = distributions(path=[str(packages)], name="punchlist")
    for needed in find_needed(installed.requires or (), {}).values():
        for file in needed.files or ():
            if ".." not in file.parts:  # a program beside the packages
                target = packages / file
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(str(needed.locate_file(file)), target)
    return folder / "venv/bin"


@pytest.fixture
def link(bin_folder: Path, tmp_path: Path) -> Iterator[str]:
    """The link to `punchlist serve` of that environment, while it runs."""
    command = [bin_folder / "punchlist", "--db", tmp_path / "board.db", "serve", "--port", "0", "--no-watch"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path)
    assert server.stdout is not None
    with server:
        address = server.stdout.readline().removeprefix("Punchlist is at ").strip()
        yield f"{address}?token={load_secret(str(tmp_path / 'board.db'))}"  # without a terminal it is not printed
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
    assert re.search(r"pip install .*'punchlist\[mcp\]'", problem["detail"])
