"""python -m publish.serve [--port PORT]: show `_build/html` on 127.0.0.1."""

import argparse
import functools
import http.server
import os
import sys
from pathlib import Path

from publish.page import ROOT


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files and says nothing of it."""

    def log_message(self, format: str, *args) -> None:
        pass

    def send_head(self):
        try:
            return super().send_head()
        except ValueError:  # a zero byte in the address: no file can have such a name
            self.send_error(http.HTTPStatus.NOT_FOUND)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m publish.serve", description="Show the book on 127.0.0.1.")
    parser.add_argument("--port", default=os.environ.get("PORT") or "8000", help="1 to 65535 (default: PORT, or 8000)")
    parser.add_argument("--build", type=Path, default=ROOT / "_build", help="the folder it was built in (_build)")
    options = parser.parse_args(arguments)
    folder, wanted = options.build / "html", options.port
    if not (folder / "index.html").exists():
        print("there is no book yet: run `make book` first", file=sys.stderr)
        return 1
    if not wanted.isdecimal() or not 0 < int(wanted) < 65536:
        print(f"«{wanted}» is not a port: choose a number from 1 to 65535", file=sys.stderr)
        return 2
    try:
        server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", int(wanted)), functools.partial(Quiet, directory=str(folder))
        )
    except OSError as error:
        print(f"port {wanted} cannot be used ({error.strerror}): choose another, PORT=8001 make serve", file=sys.stderr)
        return 1
    print(f"the book is at http://127.0.0.1:{wanted}/ (stop with Ctrl-C)", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
