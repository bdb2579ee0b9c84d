# SPDX-License-Identifier: GPL-2.0-or-later
"""A serial line with a shell at its other end, as a transport that loses nothing.

Lines lose bytes: a paste at full speed lost one in twenty. And a command that has lost some may be
another command. So all that is asked of the board's shell goes through a loop in it, LOOP, which
executes nothing whose sum is wrong. A message goes in parts, each with its sum, of at most 2 KiB
and of less where many are lost; those that did not arrive are sent again. What a command printed
comes back in lines, each with its sum; those that did not arrive are asked for again. A command is
executed once, however often it is asked for.

The loop itself is brought by plain commands, before anything else. Bytes that these lose can do no
harm: they print, and write below the folder that they made.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import gzip
import hashlib
import re
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from nandlab.base.errors import UsageError
from nandlab.board.jobs.job import BoardLost
from nandlab.board.own.serialdevice import SerialDevice
from nandlab.board.own.serialloop import (
    LOOP,
    compute_line_checksum,
    format_message_part,
    format_request_line,
)
from nandlab.board.own.transport import ALIVE, QUIET_S, TELL_S, Reply

TIMES = 2
"""How often a question is sent where many bytes are lost: its answer does no work again."""
PART_MAX, PART_MIN = 1024, 48
"""Characters of a part, of which 3 bytes take 4; a line is less than 2 KiB with all else."""
AT_ONCE, AT_ONCE_MAX = 3200, 32 << 10
"""The most characters that are sent before an answer: at first, which any board's driver keeps; and
later, as long as nothing is lost and they take no more than a second of the line."""
ANSWER_S, ANSWER_MAX_S = 0.2, 0.8
"""How long an answer is waited for before it is asked again: at first, and later; of a command
that takes long an eighth of its time."""
INPUT_BYTES_MAX = 24 << 10
"""Bytes of standard input in a message: the board looks through all its parts each time. What is
longer is brought in several, packed if the board can unpack it."""
UNPACKS = f"echo {base64.b64encode(gzip.compress(b'ok')).decode()} | base64 -d | gunzip -c"
"""Prints "ok" on a board that can."""
PATIENCE_MAX_S = 3.0
"""The longest that the time of the answer before makes of the first wait."""
LINES_AT_ONCE, FEW = 64, 6
"""Lines that are asked for at once; and how many of them at the most by number."""
WIDE, NARROW = "1024", "38"
"""Characters of a line that the board prints; NARROW: where many are lost."""
POLL_S, POLL_MAX_S = 0.2, 2.0
"""How long is waited until a stream is looked at again: at first, and later. Each look is work for
the board, which is beside the load that is measured."""
QUIET = "[ -f printk ] || cat /proc/sys/kernel/printk >printk; dmesg -n 1 2>/dev/null"
LOUD = "read level rest <printk && dmesg -n $level 2>/dev/null"
"""Keeps the kernel's messages off the console, and has them there again."""
INTERRUPTED_S = 0.02
JOINED_S = 4.0
"""How long LOOP's pieces are joined until they are typed anew."""
PIECE_MIN, PIECE_MAX = 2048, 24 << 10
"""The most bytes that are taken of a stream at once: the least where many are lost, for the board
must hear of the host meanwhile; else what takes a second of the line or so."""
DIGEST_LINE = re.compile(rb"([0-9a-f]{32}) [ *](b\d\d)\r?\n")
"""As md5sum tells it."""
REPLY = re.compile(rb"@([0-9a-f]{8}) ([^\r\n]*)\r?\n")


@dataclass
class SerialLine:
    """A serial device with a shell at its other end, which the user has logged in to."""

    device: Path
    baud: int = 115200
    kernel_quiet: bool = True
    """Whether the kernel's messages are kept off the line."""
    place: str = field(default_factory=lambda: f"/tmp/nandlab-{secrets.token_hex(8)}")
    """The folder on the board with the parts of messages, for as long as the line is open."""
    _device: SerialDevice | None = None
    _heard: bytes = b""
    _number: int = 0
    _tag: int = 0
    _part: int = PART_MAX
    _at_once: int = AT_ONCE
    _unpacks: bool = False
    _was_open: bool = False
    _usual_s: float = 0.0
    """How long the last answer took: a slow board that is asked too often falls ever more behind,
    for it answers each question."""

    @property
    def address(self) -> str:
        """See Transport.address."""
        return str(self.device)

    async def call(self, command: str, input_bytes: bytes = b"", limit_s: float = QUIET_S) -> Reply:
        """See Transport.call."""
        if self._device is None:
            await self._open()
        if "\n" in command:
            raise ValueError("a command for a serial line must be one line")
        if len(input_bytes) > INPUT_BYTES_MAX:
            command, input_bytes = await self._brought(command, input_bytes, limit_s), b""
        rc, lines, line = await self._run(f"{command}\n".encode() + input_bytes, limit_s)
        printed = [line] if lines == 1 else await self._printed(lines)
        return Reply(rc, base64.b64decode(b"".join(printed)))

    async def _brought(self, command: str, input_bytes: bytes, limit_s: float) -> str:
        """Brings a long input to a file there: the command that runs ``command`` with it."""
        unpack = "cat"
        packed = gzip.compress(input_bytes, mtime=0) if self._unpacks else input_bytes
        if len(packed) < len(input_bytes):
            input_bytes, unpack = packed, "gunzip -c"
        for offset in range(0, len(input_bytes), INPUT_BYTES_MAX):
            to = ">>" if offset else ">"
            piece = input_bytes[offset : offset + INPUT_BYTES_MAX]
            rc, _, _ = await self._run(f"cat {to}given\n".encode() + piece, limit_s)
            if rc:
                return "echo no room for it; exit 1"
        return f"{unpack} <given | ({command}); set -- $?; rm given; exit $1"

    async def stream(self, command: str, take: Callable[[bytes], None]) -> None:
        """See Transport.stream: the command writes to a file there, and we read that."""
        tidy = "rm -f fifo ended said; mkfifo fifo; : >said"
        run = f"({command} 0<>fifo >said 2>/dev/null; : >ended) </dev/null >/dev/null 2>&1 &"
        begun = await self.call(f"{tidy}; {run}")
        if begun.rc:
            raise BoardLost(f"{self.address}: {begun.text}", [])
        position, last_tell_s, pause, heard = 1, 0.0, POLL_S, time.monotonic()
        while (now := time.monotonic()) - heard < QUIET_S:
            tell = "echo 1<>fifo; " if now - last_tell_s > TELL_S else ""
            last_tell_s = now if tell else last_tell_s
            piece = PIECE_MIN if self._lossy else min(max(self.baud // 10, PIECE_MIN), PIECE_MAX)
            look = f"[ -f ended ] && echo e || echo r; tail -c +{position} said | head -c {piece}"
            state, _, output = (await self.call(tell + look)).out.partition(b"\n")
            position += len(output)
            heard = time.monotonic() if output else heard
            news = output.replace(ALIVE, b"")
            take(news)
            if state == b"e" and not output:
                return
            pause = POLL_S if news else min(1.5 * pause, POLL_MAX_S)
            if len(output) < piece and state != b"e":
                await asyncio.sleep(pause)
        raise self._lost()

    def forget(self) -> None:
        """See Transport.forget."""
        if self._device is not None:
            self._device.close()
        self._device, self._heard, self._part, self._at_once = None, b"", PART_MAX, AT_ONCE

    async def close(self) -> None:
        """See Transport.close."""
        if self._device is None:
            return
        await self.call(f"{LOUD if self.kernel_quiet else ':'}; cd /; rm -rf {self.place}")
        await self._send(format_request_line("q", 0, "-") * 5)
        self.forget()

    async def _run(self, message: bytes, limit_s: float) -> tuple[int, int, bytes]:
        """Has a message run: its exit status, how many lines it printed, as base64 has them, and
        the line if it is one."""
        while (told := await self._tried(message, limit_s)) is None:
            self._part = max(self._part // 4, PART_MIN)
        return told

    async def _tried(self, message: bytes, limit_s: float) -> tuple[int, int, bytes] | None:
        """Has a message run, as _run tells it; None: too many of its parts are lost."""
        self._number += 1
        data = base64.b64encode(message).decode()
        parts = [data[i : i + self._part] for i in range(0, len(data), self._part)]
        checksum = compute_line_checksum("\n".join(parts))
        missing: list[int] = []
        sent = new = lost = 0
        while True:
            now = self._some([*missing, *range(new, len(parts))], parts)
            await self._send(
                b"".join(format_message_part(self._number, 10000 + i, parts[i]) for i in now)
            )
            answer = await self._ended(limit_s, len(parts), checksum)
            if answer[0] == "r":
                self._part = min(PART_MAX, self._part * (1 if lost else 2))
                return int(answer[3]), int(answer[4]), answer[5].encode()
            new = max([new, *(i + 1 for i in now)])
            missing = [i for i in map(int, filter(None, answer[3].split(","))) if i < new]
            sent, lost = sent + len(now), lost + len(missing)
            self._at_once = (
                self._compute_smaller_burst() if missing else self._compute_larger_burst()
            )
            if lost > 2 and lost * 2 > sent and self._part > PART_MIN:
                return None

    def _compute_larger_burst(self) -> int:
        return min(2 * self._at_once, max(AT_ONCE, min(self.baud // 10, AT_ONCE_MAX)))

    def _compute_smaller_burst(self) -> int:
        return max(self._at_once // 2, AT_ONCE)

    @property
    def _patience(self) -> float:
        """How long an answer is waited for before it is asked again, at first.

        Where nothing is lost the board is only slow, and each question again is more work for it.
        """
        usual = 2 * self._usual_s if self._lossy else 8 * self._usual_s
        return min(max(ANSWER_S if self._lossy else ANSWER_MAX_S, usual), PATIENCE_MAX_S)

    @property
    def _lossy(self) -> bool:
        return self._part < PART_MAX

    @property
    def _times(self) -> int:
        """How often a question is sent."""
        return TIMES if self._lossy else 1

    def _some(self, candidates: list[int], parts: list[str]) -> list[int]:
        """Those parts that are sent next."""
        numbers: list[int] = []
        room = self._at_once
        for i in candidates:
            room -= len(parts[i]) + 24
            if numbers and room < 0:
                break
            numbers.append(i)
        return numbers

    async def _printed(self, lines: int) -> list[bytes]:
        """The lines that the last message printed, in base64."""
        have: dict[int, bytes] = {}
        until, since = time.monotonic() + QUIET_S, self._tag
        while len(have) < lines:
            lost, heard = await self._lines(have, lines, since)
            if not self._lossy and lost > len(have):
                self._part //= 4  # shorter lines arrive
                lines, have = int((await self._ended(QUIET_S, 0, "-"))[4]), {}
                since, heard = self._tag, True
            until = time.monotonic() + QUIET_S if heard else until
            if time.monotonic() > until:
                raise self._lost()
        return [have[i] for i in range(lines)]

    async def _lines(self, have: dict[int, bytes], lines: int, since: int) -> tuple[int, bool]:
        """Asks for the next lines that are lacking: how many the board sent in vain, and whether
        anything was heard of it.

        Answers to questions up to ``since`` are of lines of another width.
        """
        first = next(i for i in range(lines) if i not in have)
        window = range(first, min(first + LINES_AT_ONCE, lines))
        lacking = [i for i in window if i not in have]
        words = "all" if len(lacking) > FEW else f",{','.join(map(str, lacking))},"
        self._tag += 1
        ask = format_request_line("g", self._number, words, f"{first} {len(window)} {self._tag}")
        await self._send(ask * (self._times if words != "all" else 1))
        heard = False
        while told := await self._answer(self._patience):
            heard = True
            if told[:2] == ["d", str(self._number)] and int(told[2]) > since:
                have[int(told[3])] = told[4].encode()
            if told == ["z", str(self._number), str(self._tag)]:
                return sum(i not in have for i in lacking), heard
        return 0, heard

    async def _ended(self, limit_s: float, parts: int, checksum: str) -> list[str]:
        """The answer to "r"; BoardLost if the board says nothing for so long."""
        self._tag += 1  # an answer to what was asked before is none to this
        width = NARROW if self._lossy else WIDE
        ask = format_request_line("r", self._number, str(parts), f"{width} {checksum} {self._tag}")
        begun = heard = time.monotonic()
        patience = self._patience
        while (now := time.monotonic()) - heard < limit_s:
            await self._send(ask * self._times)
            again = time.monotonic() + patience
            while (seconds_left := again - time.monotonic()) > 0:
                answer = await self._answer(seconds_left)
                if answer[1:3] == [str(self._number), str(self._tag)]:
                    self._usual_s = time.monotonic() - begun
                    return answer
                # an answer to an older question: the board is behind, and not lost
                heard = time.monotonic() if answer else heard
            patience = max(patience, min(1.5 * patience, max(ANSWER_MAX_S, (now - begun) / 8)))
        raise self._lost()

    async def _answer(self, limit_s: float) -> list[str]:
        """The words of the next line that arrived whole; empty: none within the limit."""
        until = time.monotonic() + limit_s
        while True:
            while found := REPLY.search(self._heard):
                self._heard = self._heard[found.end() :]
                text = found[2].decode(errors="replace")
                if compute_line_checksum(text).encode() == found[1]:
                    return text.split(" ")
            if not await self._listen(until - time.monotonic()):
                return []

    async def _send(self, said: bytes) -> None:
        """Sends bytes; BoardLost if none leaves for QUIET_S."""
        assert self._device
        try:
            await self._device.send(said, QUIET_S)
        except TimeoutError:
            raise self._lost() from None
        except OSError as e:
            raise self._lost(str(e)) from None

    async def _listen(self, limit_s: float) -> bool:
        """Waits for bytes on the line; False: none came."""
        assert self._device
        try:
            came = await self._device.heard(limit_s)
        except OSError as e:
            raise self._lost(str(e)) from None
        self._heard += came
        return bool(came)

    async def _open(self) -> None:
        """Opens the device and brings LOOP to the board's shell."""
        try:
            self._device = SerialDevice(self.device, self.baud)
        except OSError as e:
            if self._was_open:
                raise self._lost(str(e)) from None
            raise UsageError(
                f"{self.device}: {e.strerror or e}: is it the board's serial line?"
            ) from None
        self._was_open = True
        await self._plainly("stty -echo", "echo ok", "ok")
        await self._plainly(f"mkdir -p {self.place};cd {self.place}", "pwd", self.place)
        await self._bring_loop()
        await self._send(b". ./loop\n")
        self._number = int(time.time()) % 1_000_000 * 1000
        quiet = QUIET if self.kernel_quiet else ":"
        for _ in range(20):
            with contextlib.suppress(BoardLost):
                await self._run(f"{quiet}\n".encode(), 2)
                self._unpacks = (await self.call(UNPACKS)).text == "ok"
                return
            await self._send(b"\n. ./loop\n")
        raise self._lost()

    async def _bring_loop(self) -> None:
        """Writes LOOP into a file there, in pieces, until its digest is right.

        A line that has lost bytes opens no quotes, so no interrupt is needed between them: it would
        take away those that were not read yet.
        """
        text = base64.b64encode(LOOP.encode()).decode()
        pieces = {f"b{10 + i}": text[at : at + 48] for i, at in enumerate(range(0, len(text), 48))}
        whole = hashlib.md5(LOOP.encode()).hexdigest()
        join = ("cat b[1-9][0-9]|base64 -d>loop", "md5sum <loop", f"{whole} -")
        until = time.monotonic() + 4 * QUIET_S
        while True:
            await self._type(pieces, until)
            # what was typed late may have spoilt a piece that was right
            with contextlib.suppress(BoardLost):
                await self._plainly(*join, limit_s=JOINED_S)
                return

    async def _interrupt(self) -> None:
        """Ends whatever the shell is at; what was typed before may have left it within quotes."""
        await self._send(b"\x03\n")
        await asyncio.sleep(INTERRUPTED_S)

    async def _type(self, pieces: dict[str, str], until: float) -> None:
        """Types pieces into files until each was right once; BoardLost when the time is over."""
        digests = {k: hashlib.md5(f"{v}\n".encode()).hexdigest() for k, v in pieces.items()}
        while digests:
            lines = "".join(f"echo {pieces[name]}>{name}\n" for name in digests)
            await self._interrupt()
            await self._send(f"{lines}md5sum b[1-9][0-9]\n\n".encode())
            while await self._listen(ANSWER_S):
                for told in DIGEST_LINE.finditer(self._heard):
                    if digests.get(told[2].decode(), "").encode() == told[1]:
                        del digests[told[2].decode()]
            self._heard = b""
            if time.monotonic() > until:
                raise self._lost()

    async def _plainly(
        self, does: str, then: str, expected: str, limit_s: float = 4 * QUIET_S
    ) -> None:
        """Types a command until one that follows it prints what is expected."""
        until = time.monotonic() + limit_s
        while time.monotonic() < until:
            await self._interrupt()
            await self._send(f"{does};echo '<'$({then})'>'\n".encode())
            again = time.monotonic() + ANSWER_S
            while (left := again - time.monotonic()) > 0:
                if f"<{expected}>".encode() in self._heard:
                    self._heard = b""
                    return
                await self._listen(left)
        raise self._lost()

    def _lost(self, why: str = f"no answer within {QUIET_S:g} s") -> BoardLost:
        return BoardLost(f"{self.address}: {why}", [])
