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
import hashlib
import os
import re
import secrets
import termios
import time
import tty
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from nandlab.base.errors import UsageError
from nandlab.board.job import BoardLost
from nandlab.board.reach import ALIVE, QUIET_S, TELL_S, Reply

LOOP = r"""
s(){ h=$(printf %s "$1"|md5sum);h=${h%"${h#????????}"};}
e(){ s "$1";echo "@$h $1";}
w(){ m=;[ "$n" = "$l" ]&&return
c=0;j=0;while [ $j -lt $i ]&&[ $c -lt 12 ];do
[ -f p.$n.$((10000+j)) ]||{ m=$m,$j;c=$((c+1));};j=$((j+1));done
[ "$m" ]&&return
cat p.$n.*|base64 -d>q;rm -f p.*
{ IFS= read -r z;(eval "$z");}<q>o 2>&1
x=$?;l=$n;{ base64<o|tr -d '\n'|fold -w ${d%/*};echo;}>b;t=$(wc -l<b);}
g(){ set -- $d;j=$1;tail -n +$((j+1)) b|head -n $2|while read -r y
do case $i in all|*,$j,*)e "d $n $j $y";;esac;j=$((j+1));done;e "z $n $3";}
l=-
while read -r k n i c d;do
s "$k $n $i $d";[ "$h" = "$c" ]||continue
case $k in
p)printf '%s\n' "$d">p.$n.$i;;
r)w;d=${d#*/};if [ "$m" ];then e "m $n $d $m";else e "r $n $d $x $((t))";fi;;
g)g;;
q)break;;
esac;done
"""
"""What the board's shell runs. Lines come as KIND NUMBER WORD SUM DATA: "p" is a part of a message;
"r" has it run, and tells how it ended and how many lines it printed, or which parts are missing;
"g" prints some of these lines; "q" ends. A message's first line is a command, the rest its
standard input."""
TIMES = 2
"""How often a question is sent where many bytes are lost: its answer does no work again."""
PART_MAX, PART_MIN = 1024, 48
"""Characters of a part, of which 3 bytes take 4; a line is less than 2 KiB with all else."""
AT_ONCE = 3200
"""The most characters that are sent before an answer."""
ANSWER_S, ANSWER_MAX_S = 0.2, 0.8
"""How long an answer is waited for before it is asked again: at first, and later; of a command
that takes long an eighth of its time."""
GIVEN_MAX = 24 << 10
"""Bytes of standard input in a message: the board looks through all its parts each time."""
PATIENCE_MAX_S = 3.0
"""The longest that the time of the answer before makes of the first wait."""
LINES_AT_ONCE, FEW = 64, 6
"""Lines that are asked for at once; and how many of them at the most by number."""
WIDE, NARROW = "1024", "38"
"""Characters of a line that the board prints; NARROW: where many are lost."""
POLL_S = 0.2
QUIET = "cat /proc/sys/kernel/printk >printk; dmesg -n 1 2>/dev/null"
LOUD = "read level rest <printk && dmesg -n $level 2>/dev/null"
"""Keeps the kernel's messages off the console, and has them there again."""
INTERRUPTED_S = 0.02
PIECE = 8192
"""The most bytes that are taken of a stream at once; a quarter, where many are lost: the board must
hear of the host meanwhile."""
REPLY = re.compile(rb"@([0-9a-f]{8}) ([^\r\n]*)\r?\n")


def _sum(text: str) -> str:
    return hashlib.md5(text.encode()).hexdigest()[:8]


def _line(kind: str, number: int, word: str, data: str = "-") -> bytes:
    return f"{kind} {number} {word} {_sum(f'{kind} {number} {word} {data}')} {data}\n".encode()


@dataclass
class SerialLine:
    """A serial device with a shell at its other end, which the user has logged in to."""

    device: Path
    baud: int = 115200
    kernel_quiet: bool = True
    """Whether the kernel's messages are kept off the line."""
    place: str = field(default_factory=lambda: f"/tmp/nandlab-{secrets.token_hex(2)}")
    """The folder on the board with the parts of messages, for as long as the line is open."""
    _fd: int = -1
    _heard: bytes = b""
    _number: int = 0
    _tag: int = 0
    _part: int = PART_MAX
    _usual_s: float = 0.0
    """How long the last answer took: a slow board that is asked too often falls ever more behind,
    for it answers each question."""

    @property
    def where(self) -> str:
        """See Transport.where."""
        return str(self.device)

    async def call(self, command: str, given: bytes = b"", limit_s: float = QUIET_S) -> Reply:
        """See Transport.call."""
        if self._fd < 0:
            await self._open()
        if "\n" in command:
            raise ValueError("a command for a serial line must be one line")
        if len(given) > GIVEN_MAX:
            for at in range(0, len(given), GIVEN_MAX):
                await self._run(b"cat >>given\n" + given[at : at + GIVEN_MAX], limit_s)
            command, given = f"({command}) <given; set -- $?; rm given; exit $1", b""
        rc, lines = await self._run(f"{command}\n".encode() + given, limit_s)
        return Reply(rc, base64.b64decode(b"".join(await self._printed(lines))))

    async def stream(self, command: str, take: Callable[[bytes], None]) -> None:
        """See Transport.stream: the command writes to a file there, and we read that."""
        tidy = "rm -f fifo ended said; mkfifo fifo; : >said"
        run = f"({command} 0<>fifo >said 2>/dev/null; : >ended) </dev/null >/dev/null 2>&1 &"
        begun = await self.call(f"{tidy}; {run}")
        if begun.rc:
            raise BoardLost(f"{self.where}: {begun.text}", [])
        at, told = 1, 0.0
        while True:
            now = time.monotonic()
            tell = "echo 1<>fifo; " if now - told > TELL_S else ""
            told = now if tell else told
            piece = PIECE // 4 if self._lossy else PIECE
            look = f"[ -f ended ] && echo e || echo r; tail -c +{at} said | head -c {piece}"
            state, _, said = (await self.call(tell + look)).out.partition(b"\n")
            take(said.replace(ALIVE, b""))
            at += len(said)
            if state == b"e" and not said:
                return
            if not said:
                await asyncio.sleep(POLL_S)

    def forget(self) -> None:
        """See Transport.forget."""
        if self._fd >= 0:
            os.close(self._fd)
        self._fd, self._heard, self._part = -1, b"", PART_MAX

    async def close(self) -> None:
        """See Transport.close."""
        if self._fd < 0:
            return
        await self.call(f"{LOUD if self.kernel_quiet else ':'}; cd /; rm -rf {self.place}")
        for _ in range(5):
            os.write(self._fd, _line("q", 0, "-"))
        os.close(self._fd)
        self._fd = -1

    async def _run(self, message: bytes, limit_s: float) -> tuple[int, int]:
        """Has a message run: its exit status and how many lines it printed, as base64 has them."""
        while (told := await self._tried(message, limit_s)) is None:
            self._part = max(self._part // 4, PART_MIN)
        return told

    async def _tried(self, message: bytes, limit_s: float) -> tuple[int, int] | None:
        """Has a message run, as _run tells it; None: too many of its parts are lost."""
        self._number += 1
        data = base64.b64encode(message).decode()
        parts = [data[i : i + self._part] for i in range(0, len(data), self._part)]
        width = NARROW if self._lossy else WIDE
        missing: list[int] = []
        sent = new = lost = 0
        while True:
            now = self._some([*missing, *range(new, len(parts))], parts)
            for i in now:
                os.write(self._fd, _line("p", self._number, str(10000 + i), parts[i]))
            told = await self._ended(limit_s, len(parts), width)
            if told[0] == "r":
                self._part = min(PART_MAX, self._part * (1 if lost else 2))
                return int(told[3]), int(told[4])
            new = max([new, *(i + 1 for i in now)])
            missing = [i for i in map(int, filter(None, told[3].split(","))) if i < new]
            sent, lost = sent + len(now), lost + len(missing)
            if lost > 2 and lost * 2 > sent and self._part > PART_MIN:
                return None

    @property
    def _patience(self) -> float:
        """How long an answer is waited for before it is asked again, at first."""
        return min(max(ANSWER_S, 2 * self._usual_s), PATIENCE_MAX_S)

    @property
    def _lossy(self) -> bool:
        return self._part < PART_MAX

    @property
    def _times(self) -> int:
        """How often a question is sent."""
        return TIMES if self._lossy else 1

    @staticmethod
    def _some(wanted: list[int], parts: list[str]) -> list[int]:
        """Those parts that are sent next."""
        found: list[int] = []
        room = AT_ONCE
        for i in wanted:
            room -= len(parts[i]) + 24
            if found and room < 0:
                break
            found.append(i)
        return found

    async def _printed(self, lines: int) -> list[bytes]:
        """The lines that the last message printed, in base64."""
        have: dict[int, bytes] = {}
        until = time.monotonic() + QUIET_S
        while len(have) < lines:
            first = next(i for i in range(lines) if i not in have)
            window = range(first, min(first + LINES_AT_ONCE, lines))
            lacking = [i for i in window if i not in have]
            words = "all" if len(lacking) > FEW else f",{','.join(map(str, lacking))},"
            self._tag += 1
            word = f"{first} {len(window)} {self._tag}"
            ask = _line("g", self._number, words, word)
            os.write(self._fd, ask * (self._times if words != "all" else 1))
            while told := await self._answer(self._patience):
                until = time.monotonic() + QUIET_S
                if told == ["z", str(self._number), str(self._tag)]:
                    break
                if told[:2] == ["d", str(self._number)]:
                    have[int(told[2])] = told[3].encode()
            if time.monotonic() > until:
                raise self._lost()
        return [have[i] for i in range(lines)]

    async def _ended(self, limit_s: float, parts: int, width: str) -> list[str]:
        """The answer to "r"; BoardLost if none comes."""
        self._tag += 1  # an answer to what was asked before is none to this
        ask = _line("r", self._number, str(parts), f"{width}/{self._tag}")
        begun, patience = time.monotonic(), self._patience
        while (took := time.monotonic() - begun) < limit_s:
            os.write(self._fd, ask * self._times)
            again = time.monotonic() + patience
            while (left := again - time.monotonic()) > 0:
                told = await self._answer(left)
                if told[1:3] == [str(self._number), str(self._tag)]:
                    self._usual_s = time.monotonic() - begun
                    return told
            patience = max(patience, min(1.5 * patience, max(ANSWER_MAX_S, took / 8)))
        raise self._lost()

    async def _answer(self, limit_s: float) -> list[str]:
        """The words of the next line that arrived whole; empty: none within the limit."""
        until = time.monotonic() + limit_s
        while True:
            while found := REPLY.search(self._heard):
                self._heard = self._heard[found.end() :]
                text = found[2].decode(errors="replace")
                if _sum(text).encode() == found[1]:
                    return text.split(" ")
            if not await self._listen(until - time.monotonic()):
                return []

    async def _listen(self, limit_s: float) -> bool:
        """Waits for bytes on the line; False: none came."""
        loop = asyncio.get_running_loop()
        ready = loop.create_future()
        loop.add_reader(self._fd, _settle, ready)
        try:
            async with asyncio.timeout(max(limit_s, 0)):
                await ready
        except TimeoutError:
            return False
        finally:
            loop.remove_reader(self._fd)
        self._heard += os.read(self._fd, 1 << 16)
        return True

    async def _open(self) -> None:
        """Opens the device and brings LOOP to the board's shell."""
        speed = getattr(termios, f"B{self.baud}", None)
        if speed is None:
            raise UsageError(f"{self.device}: no serial line has {self.baud} baud")
        try:
            self._fd = os.open(self.device, os.O_RDWR | os.O_NOCTTY)
            tty.setraw(self._fd)
            mode = termios.tcgetattr(self._fd)
            mode[4] = mode[5] = speed
            termios.tcsetattr(self._fd, termios.TCSANOW, mode)
        except (OSError, termios.error) as e:
            raise UsageError(
                f"{self.device}: {e.args[-1]}: is it the board's serial line?"
            ) from None
        await self._plainly("stty -echo", "echo ok", "ok")
        await self._plainly(f"mkdir -p {self.place};cd {self.place}", "pwd", self.place)
        await self._bring_loop()
        os.write(self._fd, b". ./loop\n")
        self._number = int(time.time()) % 1_000_000 * 1000
        quiet = QUIET if self.kernel_quiet else ":"
        for _ in range(20):
            try:
                await self._run(f"{quiet}\n".encode(), 2)
                return
            except BoardLost:
                os.write(self._fd, b"\n. ./loop\n")
        raise self._lost()

    async def _bring_loop(self) -> None:
        """Writes LOOP into a file there, piece by piece, until its digest is right."""
        text = base64.b64encode(LOOP.encode()).decode()
        pieces = {f"b{10 + i}": text[at : at + 48] for i, at in enumerate(range(0, len(text), 48))}
        whole = hashlib.md5(LOOP.encode()).hexdigest()
        for name, piece in pieces.items():
            digest = hashlib.md5(f"{piece}\n".encode()).hexdigest()
            await self._plainly(f"echo {piece}>{name}", f"md5sum <{name}", f"{digest} -")
        await self._plainly("cat b[1-9][0-9]|base64 -d>loop", "md5sum <loop", f"{whole} -")

    async def _plainly(self, does: str, then: str, expected: str) -> None:
        """Types a command until one that follows it prints what is expected."""
        until = time.monotonic() + 4 * QUIET_S
        while time.monotonic() < until:
            # what was typed before may have left the shell within quotes: an interrupt ends that
            os.write(self._fd, b"\x03\n")
            await asyncio.sleep(INTERRUPTED_S)
            os.write(self._fd, f"{does};echo '<'$({then})'>'\n".encode())
            again = time.monotonic() + ANSWER_S
            while (left := again - time.monotonic()) > 0:
                if f"<{expected}>".encode() in self._heard:
                    self._heard = b""
                    return
                await self._listen(left)
        raise self._lost()

    def _lost(self) -> BoardLost:
        return BoardLost(f"{self.where}: no answer within {QUIET_S:g} s", [])


def _settle(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)
