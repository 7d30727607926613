"""The workflows' own steps in a fork of another owner: what they push and serve has no dead link, installs itself."""

import functools
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from html import unescape
from pathlib import Path
from urllib.parse import urldefrag, urljoin

import pytest
from projects import ROOT, copy

from publish.page import EDITIONS
from publish.serve import Quiet

pytestmark = pytest.mark.long
OWNER = "somebody-else/my-book"
ABOVE = "my-book"  # the path below which it is served
LIMIT = 1800  # seconds, beside whatever else is being tested
# Stands for Chromium and its fonts, which draw the cards: tests/publish/book/test_print.py looks at those.
CHROMIUM = """#!/bin/sh
for word; do case $word in --screenshot=*) echo drawn > "${word#--screenshot=}" ;; esac; done
"""


class Runner:
    """Takes the steps of a job as GitHub would: a checkout, commands, and artifacts handed on."""

    def __init__(self, folder: Path, site: str):
        self.folder, self.site, self.artifacts = folder, site, dict[str, Path]()
        self.origin, self.jobs = folder / "origin.git", 0
        tools = folder / "tools"
        tools.mkdir()
        for name, text in (("chromium", CHROMIUM), ("fc-list", "#!/bin/sh\necho a font\n")):
            (tools / name).write_text(text)
            (tools / name).chmod(0o700)
        (folder / "home").mkdir()
        bent = ("BOOK_", "PIP_", "MAKE", "GIT_", "PYTHON")
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(bent)}
        self.env |= {"PATH": f"{tools}:{os.environ['PATH']}", "HOME": str(folder / "home"), "VENV": sys.prefix}

    def said(self, text: str) -> str:
        """With the expressions that the workflows have; another one is a fault."""
        known = {"github.server_url": "https://github.com", "github.repository": OWNER}
        known["steps.pages.outputs.base_url"] = self.site
        return re.sub(r"\$\{\{ (\S+) \}\}", lambda m: known[m[1]], text)

    def job(self, workflow: str, name: str) -> Path:
        """The folder in which the job ran."""
        import yaml

        job = yaml.safe_load((ROOT / ".github" / "workflows" / workflow).read_text("utf-8"))["jobs"][name]
        self.jobs += 1
        here = self.folder / f"job{self.jobs}"
        for step in job["steps"]:
            given = {key: self.said(str(value)) for key, value in step.get("with", {}).items()}
            match step.get("uses", "").partition("@")[0]:
                case "":
                    self.command(step["run"], here, {k: self.said(v) for k, v in step.get("env", {}).items()})
                case "actions/checkout":
                    subprocess.run(["git", "clone", "-q", self.origin, here], check=True, env=self.env)
                case "actions/upload-artifact" | "actions/upload-pages-artifact":
                    assert "name" in given or step["uses"].startswith("actions/upload-pages"), step
                    self.artifacts[given.get("name", "pages")] = here / given["path"]
                case "actions/download-artifact":
                    hidden = shutil.ignore_patterns(".*")  # as upload-artifact leaves them out
                    shutil.copytree(self.artifacts[given["name"]], here / given["path"], ignore=hidden)
                case other:
                    assert other in ("actions/configure-pages", "actions/deploy-pages"), other
        return here

    def command(self, words: str, here: Path, env: dict[str, str]) -> None:
        if words == "sh .ci/system":  # installs Chromium
            return
        done = subprocess.run(
            ["bash", "-e", "-c", words], cwd=here, env=self.env | env, capture_output=True, text=True, timeout=LIMIT
        )
        assert done.returncode == 0, f"{words}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"


@pytest.fixture(scope="module")
def pushed(tmp_path_factory):
    """The runner after book.yml and site.yml, and the site's address, which answers."""
    folder = tmp_path_factory.mktemp("push")
    fork = copy(folder / "fork")
    author = "-c user.name=x -c user.email=x@x"
    for words in ("init -q -b main", "add -A", f"{author} commit -q -m fork", f"clone -q --bare . {folder}/origin.git"):
        subprocess.run(["git", *words.split()], cwd=fork, check=True, env=os.environ | {"HOME": str(folder)})
    served = folder / "served"
    served.mkdir()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(served)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    site = f"http://127.0.0.1:{server.server_port}/{ABOVE}"
    runner = Runner(folder, site)
    runner.job("book.yml", "build")
    runner.job("book.yml", "push")
    runner.job("site.yml", "deploy")
    (served / ABOVE).symlink_to(runner.artifacts["pages"])
    yield runner, site
    server.shutdown()
    server.server_close()


def pages(runner: Runner) -> dict[str, str]:
    """The pages of the site by their path."""
    top = runner.artifacts["pages"]
    return {p.relative_to(top).as_posix(): p.read_text("utf-8") for p in sorted(top.rglob("*.html"))}


def status(url: str) -> int:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, method="HEAD"), timeout=30) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def test_no_link_is_dead(pushed):
    runner, site = pushed
    found, ids = dict[str, str](), dict[str, set[str]]()
    for path, text in pages(runner).items():
        ids[f"{site}/{path}"] = set(re.findall(r'\bid="([^"]+)"', text))
        bare = re.sub(r"<script\b[^>]*>.*?</script>", lambda m: m[0].partition(">")[0] + ">", text, flags=re.S)
        links = re.findall(r"""<[a-z]+\b[^>]*?\s(?:href|src)=["']([^"']*)["']""", bare)
        for link in links + re.findall(r'<meta [^>]*content="(http[^"]*)"', bare):
            if not re.match(r"(?:mailto|data|javascript):", link):
                found.setdefault(urljoin(f"{site}/{path}", unescape(link)), path)
    ours = {url: path for url, path in found.items() if url.startswith("http://127.0.0.1:")}
    assert all(url.startswith(f"{site}/") for url in ours) and len(ours) > 1000
    state = {url: status(url) for url in {urldefrag(url)[0] for url in ours}}
    dead = {url: path for url, path in ours.items() if state[urldefrag(url)[0]] != 200}
    dead |= {u: p for u, p in ours.items() if (f := urldefrag(u))[1] and f[0] in ids and f[1] not in ids[f[0]]}
    assert dead == {}
    lost = pages(runner)["404.html"]  # what answers an address that is none, in three languages
    assert re.findall(r'<p lang="([^"]+)"', lost) == list(EDITIONS)
    assert re.findall(r'href="([^"]+)"', lost) == [f"{site}/dev/{edition}/index.html" for edition in EDITIONS]


def test_colab_and_binder_find_in_the_pushed_branch_what_they_open(pushed):
    runner, site = pushed
    text = "".join(pages(runner).values())
    colab = set(re.findall(r'"https://colab\.research\.google\.com/github/([^"]+)"', text))
    binder = set(re.findall(r'"https://mybinder\.org/v2/gh/([^"]+)"', text))

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=runner.origin, check=True, capture_output=True, text=True).stdout

    there = {*git("-c", "core.quotePath=false", "ls-tree", "-r", "--name-only", "site-dev").splitlines()}
    assert len(colab) == len(binder) > 60
    assert {c.partition("/blob/")[0] for c in colab} == {OWNER}
    assert [c for c in colab if c.partition("/blob/site-dev/")[2] not in there] == []
    assert [b for b in binder if b.partition(f"{OWNER}/site-dev?labpath=")[2] not in there] == []
    wheels = [line.removeprefix("./") for line in git("show", "site-dev:requirements.txt").split()]
    assert len(wheels) == 2 and set(wheels) <= there and "runtime.txt" in there
    assert all(status(f"{site}/dev/{wheel}") == 200 for wheel in wheels)
    assert f"https://github.com/{OWNER}" in text and not any(path.startswith(".") for path in there)


def test_the_notebook_of_chapter_3_runs_in_an_empty_folder_with_what_it_fetches(pushed, tmp_path, monkeypatch):
    import nbformat
    from nbclient import NotebookClient

    _, site = pushed
    empty, library, kernel = (tmp_path / name for name in ("empty", "library", "jupyter/kernels/other/kernel.json"))
    for folder in (empty, library, kernel.parent):
        folder.mkdir(parents=True)
    # A Python of its own that has all of this one's packages but the project's, so that pip needs no index.
    ours = ("one_program", "minipod", "__editable__", "__pycache__")
    for entry in [e for p in {*sys.path} if p.endswith("site-packages") for e in Path(p).iterdir()]:
        if not (entry.name.startswith(ours) or entry.suffix == ".pth" or (library / entry.name).exists()):
            (library / entry.name).symlink_to(entry)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    next(tmp_path.glob("venv/lib/python*/site-packages")).joinpath("library.pth").write_text(f"{library}\n")
    argv = [f"{tmp_path}/venv/bin/python", "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    kernel.write_text(json.dumps({"argv": argv, "display_name": "other", "language": "python"}))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "jupyter"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PYTHONPATH", raising=False)
    with urllib.request.urlopen(f"{site}/dev/en/notebooks/ch03_sharding.ipynb", timeout=30) as answer:
        notebook = nbformat.reads(answer.read().decode(), 4)
    where = "import lessons, minipod\nprint(lessons.__file__, minipod.__file__)"
    notebook.cells.append(nbformat.v4.new_code_cell(where))
    client = NotebookClient(notebook, kernel_name="other", timeout=LIMIT, resources={"metadata": {"path": str(empty)}})
    client.execute()
    said = ["".join(o.get("text", "") for o in cell.get("outputs", [])) for cell in notebook.cells]
    assert all(str(tmp_path / "venv") in place for place in said[-1].split()) and len(said[-1].split()) == 2
    assert "float32" in "".join(said) and len(list(filter(None, said))) > 5
