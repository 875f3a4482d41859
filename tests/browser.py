"""A page in a headless browser: the result of a script, the console, a screenshot."""

from __future__ import annotations

import contextlib
import html
import json
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
TIMEOUT_SECONDS = 60.0
"""Wait this long for the script; a slow machine takes some seconds."""


class Visit(NamedTuple):
    """The script's result, the lines on the console, and a screenshot."""

    result: Any
    console: list[str]
    screenshot: Path


def visit(
    page: str, folder: Path, *, script: str = "", width: int = 1200, height: int = 900
) -> Visit:
    """Load a page, run a script in it, and take a screenshot.

    Args:
        page: HTML of the page.
        folder: folder for the screenshot and the browser's profile.
        script: body of an async function that runs after loading; returns the result as JSON.
        width: width of the page in pixels. The page is in a frame, because Chromium's windows
            cannot be narrower than 500 pixels.
        height: height of the page in pixels.

    Returns:
        The visit.

    Raises:
        AssertionError: the script failed or sent no result.
    """
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        pytest.skip(f"No browser found. Tried: {', '.join(BROWSERS)}")
    picture = folder / f"page-{width}.png"
    with _served(_framed(page, script, width, height)) as (address, answer):
        done = subprocess.run(
            [
                browser,
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--hide-scrollbars",
                "--enable-logging=stderr",
                f"--user-data-dir={folder / 'browser'}",
                f"--window-size={max(width, 500)},{height}",
                f"--screenshot={picture}",
                address,
            ],
            capture_output=True,
            text=True,
            timeout=2 * TIMEOUT_SECONDS,
            check=True,
        )
    console = re.findall(r":CONSOLE[^\]]*\] (.*)", done.stderr)
    if "result" not in answer:
        why = answer.get("error", "it sent no result")
        raise AssertionError(f"The script failed: {why}. The console says: {console}")
    return Visit(answer["result"], console, picture)


@contextlib.contextmanager
def _served(page: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Serve a page; yields its address and the script's answer, which ends the loading."""
    answer: dict[str, Any] = {}
    sent = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            if self.path == "/sent":
                sent.wait(TIMEOUT_SECONDS)
            content = page.encode() if self.path == "/" else b""
            self.send_response(200 if content else 204)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(content)

        def do_POST(self):
            answer.update(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()
            sent.set()

        def log_message(self, format, *args):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/", answer
        finally:
            sent.set()
            server.shutdown()


def _framed(page: str, script: str, width: int, height: int) -> str:
    run = (
        "<script>window.addEventListener('load', async () => { let answer; try {"
        f"const result = await (async () => {{ {script} }})();"
        "answer = { result: result ?? null }; } catch (error) { answer = { error: `${error}` }; }"
        "fetch('/', { method: 'POST', body: JSON.stringify(answer) }); });</script>"
    )
    inner = html.escape(page + run, quote=True)
    style = f"border:0;width:{width}px;height:{height}px"
    # "/sent" responds after the script's answer, which delays the screenshot until then.
    return (
        '<!doctype html><meta charset="utf-8"><body style="margin:0">'
        f'<iframe style="{style}" srcdoc="{inner}"></iframe>'
        '<script src="/sent" async></script></body>'
    )
