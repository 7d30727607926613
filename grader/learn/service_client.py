"""Act as the client of grader/run/service.py: start the process, send requests, pass on replies, notice its end."""

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable
from pathlib import Path

from grader.run.service_messages import Reply, Request
from grader.see.wire import Malformed, decode, encode
from minipod.processes import json_lines, kill_group

HERE = Path(__file__).resolve().parents[2]  # where `lessons` is imported from
PATIENCE = 3.0  # seconds that the process has to end by itself


class Client:
    """A client of one checking process. `replied` gets each reply; `ended` the last error line if it ends by itself."""

    def __init__(self, command: list[str], replied: Callable[[Reply], None], ended: Callable[[str], None]) -> None:
        self.command, self.replied, self.ended = command, replied, ended
        self._process: asyncio.subprocess.Process | None = None
        self._reading: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start the process; requests may be sent at once. It has its own session, so Ctrl+C does not reach it."""
        pipe = asyncio.subprocess.PIPE
        self._process = await asyncio.create_subprocess_exec(
            *self.command,
            cwd=HERE,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            start_new_session=True,
            limit=json_lines.LONGEST,
        )
        self._reading = asyncio.create_task(self._read(self._process))

    def send(self, request: Request) -> None:
        """Send a request; it is lost if the process has ended, which `ended` reports."""
        if self._process and self._process.stdin and not self._process.stdin.is_closing():
            self._process.stdin.write(json_lines.encode(encode(request)))

    async def stop(self) -> None:
        """End the process and everything that it has started; `ended` is not called."""
        process, self._process = self._process, None
        if process is None or process.stdin is None:
            return
        process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), PATIENCE)
        except TimeoutError:
            kill_group(process.pid)
            await process.wait()
        if self._reading:
            await self._reading

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout and process.stderr
        last_line: deque[str] = deque(maxlen=1)
        listening = asyncio.create_task(_keep_last_line(process.stderr, last_line))
        fault = ""
        try:
            while (reply := await _reply(process.stdout)) is not None:
                if process is self._process:
                    self.replied(reply)
        except json_lines.Garbled as error:
            fault = str(error)
            kill_group(process.pid)
        code = await process.wait()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(listening, 1)
        if process is self._process:
            self._process = None
            self.ended(fault or (last_line[0] if last_line else f"exit status {code}"))


async def _reply(stream: asyncio.StreamReader) -> Reply | None:
    """Return the next reply; None at the end. Raises Garbled for a line that is not a reply."""
    try:
        line = await stream.readline()
    except ValueError:
        raise json_lines.Garbled(b"too long") from None
    try:
        return decode(Reply, json_lines.parse(line)) if line else None
    except Malformed:
        raise json_lines.Garbled(line) from None


async def _keep_last_line(stream: asyncio.StreamReader, last_line: deque[str]) -> None:
    async for line in stream:
        if text := line.decode(errors="replace").strip():
            last_line.append(text)
