"""A small Hugging Face-compatible hub on the loopback address, which can misbehave."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any

from wtlib.specimens import FilePin, HubPin

REPO = "loopback/tiny-gpt2"
COMMIT = "0123456789abcdef0123456789abcdef01234567"


@dataclasses.dataclass(frozen=True)
class Request:
    """What the hub was asked."""

    method: str
    path: str
    start: int


class Hub:
    """Serves one model's files at one commit, and at the branch main.

    Attributes:
        files: content by name.
        requests: every request so far.
        cut: how many bytes of a body to send before the connection is cut; None: all.
        cuts: how many answers to cut, from now on.
        silent: never answer.
        status: answer every request with this HTTP status and `code` as the hub's error code.
        gateway: answer every request with a page that is not a hub's.
    """

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = files
        self.requests: list[Request] = []
        self.cut: int | None = None
        self.cuts = 0
        self.silent = False
        self.status = 200
        self.code = ""
        self.gateway = False
        self._closing = threading.Event()

        class Handler(BaseHTTPRequestHandler):
            hub = self

            def do_HEAD(self) -> None:
                self.hub._answer(self, body=False)

            def do_GET(self) -> None:
                self.hub._answer(self, body=True)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Hub:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def asked_for(self, name: str) -> list[Request]:
        """The bodies of `name` that were asked for."""
        return [r for r in self.requests if r.method == "GET" and r.path.endswith(f"/{name}")]

    def _answer(self, handler: BaseHTTPRequestHandler, *, body: bool) -> None:
        start = int((handler.headers.get("Range") or "bytes=0-")[6:].split("-")[0])
        self.requests.append(Request(handler.command, handler.path, start))
        if self.silent:
            self._closing.wait()
            return
        if self.gateway:
            self._send(handler, 200, {}, b"<p>Log in" if body else b"")
            return
        status, code = self.status, self.code
        revision, _, name = handler.path.removeprefix(f"/{REPO}/resolve/").partition("/")
        if status == 200 and not handler.path.startswith(f"/{REPO}/"):
            status, code = 404, "RepoNotFound"
        elif status == 200 and revision not in ("main", COMMIT):
            status, code = 404, "RevisionNotFound"
        elif status == 200 and name not in self.files:
            status, code = 404, "EntryNotFound"
        if status != 200:
            self._send(handler, status, {"X-Error-Code": code, "X-Repo-Commit": COMMIT}, b"")
            return
        content = self.files[name]
        etag = hashlib.sha256(content).hexdigest()
        if not name.endswith(".safetensors"):
            etag = etag[:40]  # small files are named by git's digest, which is shorter
        headers = {"ETag": f'"{etag}"', "X-Repo-Commit": COMMIT, "Accept-Ranges": "bytes"}
        if start:
            headers["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
        headers["Content-Length"] = str(len(content) - start)
        sent = content[start:] if body else b""
        if body and self.cuts and self.cut is not None and name.endswith(".safetensors"):
            self.cuts -= 1
            sent = sent[: self.cut]
        self._send(handler, 206 if start else 200, headers, sent)

    @staticmethod
    def _send(
        handler: BaseHTTPRequestHandler, status: int, headers: dict[str, str], body: bytes
    ) -> None:
        handler.send_response(status)
        for key, value in ({"Content-Length": str(len(body))} | headers).items():
            handler.send_header(key, value)
        handler.end_headers()
        handler.wfile.write(body)


def pin(files: dict[str, bytes]) -> HubPin:
    """The pin of these files as this hub serves them."""
    names = ("model.safetensors", "config.json", "tokenizer.json")
    return HubPin(
        name="gpt2",
        repo=REPO,
        revision=COMMIT,
        licence="MIT",
        files=tuple(
            FilePin(name, hashlib.sha256(files[name]).hexdigest(), len(files[name]))
            for name in names
        ),
    )


CHILD = """
import dataclasses, json, time
from wtlib import specimens
from wtlib.specimens import *

def describe(specimen):
    import torch
    logits = specimen.model(torch.tensor([[84, 104, 101]])).logits[0, -1, :5].tolist()
    return {{"line": str(specimen), "name": specimen.name, "identity": specimen.identity,
            "logits": logits, "ids": specimen.tokenizer("abc").input_ids,
            "training": specimen.model.training, "dtype": specimen.model.dtype}}

def timed(call):  # the time of the call, not that of the interpreter
    begin = time.monotonic()
    try:
        call()
    except SpecimenError as error:
        return {{"seconds": time.monotonic() - begin, "error": str(error)}}

def plain(value):
    return dataclasses.asdict(value) if dataclasses.is_dataclass(value) else str(value)

try:
    found = {expression}
except SpecimenError as error:
    found = {{"error": str(error)}}
print(json.dumps(found, default=plain))
"""


@dataclasses.dataclass(frozen=True)
class Reader:
    """A reader's machine: its own Hugging Face cache and library cache, and a hub's address.

    What the reader runs, runs in a process of its own, because the hub's client reads the
    environment when it is imported.
    """

    home: Path
    endpoint: str

    @property
    def environment(self) -> dict[str, str]:
        inherited = {
            key: value for key, value in os.environ.items() if not key.startswith(("HF_", "WTLIB_"))
        }
        return inherited | {
            "HF_ENDPOINT": self.endpoint,
            "HF_HOME": str(self.home / "huggingface"),
            "WTLIB_CACHE": str(self.home / "cache"),
            "OMP_NUM_THREADS": "1",
        }

    def start(self, expression: str, **environment: str) -> subprocess.Popen[str]:
        """Start a process that prints `expression` as JSON, or a WtlibError's message."""
        code = CHILD.format(expression=expression)
        return subprocess.Popen(
            [sys.executable, "-c", code],
            env=self.environment | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, expression: str, **environment: str) -> Any:
        """The value of `expression`; fails if anything was written to stderr."""
        return finish(self.start(expression, **environment))

    def error(self, expression: str, **environment: str) -> str:
        """The message of the SpecimenError that `expression` raises."""
        found = self.run(expression, **environment)
        assert isinstance(found, dict), found
        assert set(found) == {"error"}, found
        return str(found["error"])

    def cached_weights(self) -> list[Path]:
        """Everything in the Hugging Face cache that is, or could become, a weights' file."""
        hub = self.home / "huggingface" / "hub"
        found = [*hub.rglob("*.safetensors"), *hub.rglob("*.incomplete")]
        return found + [path for path in hub.rglob("blobs/*") if len(path.name) == 64]


def finish(process: subprocess.Popen[str]) -> Any:
    """The value that a started process prints; fails if anything was written to stderr."""
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert err == ""
    return json.loads(out)
