"""Split bytes that arrive in pieces into lines, in time proportional to the number of bytes."""

LONGEST = 65536  # bytes; of a longer line parts are handed on, so that nothing waits for an end that may never come


class Lines:
    """A splitter: `feed` takes what has arrived and returns (text, end) for each complete line.

    end  b"\\n", or b"\\r" when the next line replaces this one, as programs draw progress, or b"" when this is only a
         part of a very long line
    """

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self._returned = False  # the last byte was a carriage return, which may belong to a line end

    def feed(self, data: bytes) -> list[tuple[bytes, bytes]]:
        """Return (text, end) for each line that ends in `data`."""
        lines: list[tuple[bytes, bytes]] = []
        if self._returned and data:
            lines.append((self._take(), b"\n" if data[:1] == b"\n" else b"\r"))
            data = data.removeprefix(b"\n")
        self._returned = data.endswith(b"\r")
        *whole, rest = data.removesuffix(b"\r").replace(b"\r\n", b"\n").split(b"\n")
        for line in whole:
            self._split(line, lines)
            lines.append((self._take(), b"\n"))
        self._split(rest, lines)
        return lines

    def end(self) -> list[tuple[bytes, bytes]]:
        """Return what is left, once nothing more will come."""
        return [(self._take(), b"\n")] if self._parts else []

    def _split(self, text: bytes, lines: list[tuple[bytes, bytes]]) -> None:
        """Keep `text`, except for the parts that a carriage return or the greatest length has completed."""
        *replaced, rest = text.split(b"\r")
        for part in replaced:
            self._keep(part, lines)
            lines.append((self._take(), b"\r"))
        self._keep(rest, lines)

    def _keep(self, text: bytes, lines: list[tuple[bytes, bytes]]) -> None:
        while self._size + len(text) > LONGEST:
            cut = LONGEST - self._size
            while 0 < cut < len(text) and text[cut] & 0xC0 == 0x80:  # not within a character of UTF-8
                cut -= 1
            self._parts.append(text[:cut])
            lines.append((self._take(), b""))
            text = text[cut:]
        if text:
            self._parts.append(text)
            self._size += len(text)

    def _take(self) -> bytes:
        line = b"".join(self._parts)
        self._parts.clear()
        self._size = 0
        return line
