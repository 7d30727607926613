"""python -m publish.serve [--port PORT]: show `_build/html` on 127.0.0.1."""

import argparse
import functools
import http
import http.server
import os
import sys

from publish import options


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A handler that serves files without logging."""

    def log_message(self, format: str, *args) -> None:
        pass

    def send_head(self):
        try:
            return super().send_head()
        except ValueError:  # an address with a null byte in it
            self.send_error(http.HTTPStatus.NOT_FOUND)
            return None


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m publish.serve", description="Serve the built book on 127.0.0.1.")
    parser.add_argument(
        "--port", type=int, default=os.environ.get("PORT") or 8000, help="port (default: the variable PORT, else 8000)"
    )
    options.add_build(parser, "of the built book")
    given = parser.parse_args(arguments)
    handler = functools.partial(Quiet, directory=str(given.build / "html"))
    if not (given.build / "html/index.html").exists():
        print("there is no book yet: run `make book` first", file=sys.stderr)
        return 1
    try:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", given.port), handler)
    except (OSError, OverflowError) as error:
        problem = f"port {given.port} cannot be used ({error})"
        print(f"{problem}: choose another port, PORT=8001 make serve", file=sys.stderr)
        return 1
    print(f"the book is at http://127.0.0.1:{server.server_port}/ (stop with Ctrl-C)", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
