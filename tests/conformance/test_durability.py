# SPDX-License-Identifier: GPL-2.0-or-later
"""What must be on flash when the power goes, and what must never get there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest
from support.cases import Cases
from support.chipsteps import SYNCFS, held
from support.place import SIM, Place, places

from nandlab.board.jobs.job import Board, JobRecord, Step
from nandlab.plan.medium import MOUNTPOINT as MNT

pytestmark = [pytest.mark.board, pytest.mark.timeout(600)]
PLACES = {p.system: p for p in places(every_part=False, small=True)}
ENOUGH_MIB = {"jffs2": 4, "ubifs": 8, "yaffs2": 8}
LEAST = {s: replace(p, mib=ENOUGH_MIB.get(s)) for s, p in PLACES.items()}
"""Where a job fills the disk twice, or looks through the whole flash: less than what is small."""
EVERY = pytest.mark.parametrize(
    "system", [pytest.param(s, marks=pytest.mark.xdist_group(f"synced-{s}")) for s in PLACES]
)
TEXT = "two and twenty bytes.."
EXPIRY_S = 60
"""The kernel writes back what is older than 30 s, and looks every 5 s; UBIFS's and JFFS2's own
buffers take some seconds more."""


THEN = {"sync": "sync", "syncfs": SYNCFS, "write-back": f"sleep {EXPIRY_S}"}
"""How what was written gets to the flash: by a sync right after another, and by time alone."""


@pytest.fixture(scope="module")
def held_files(board: Board) -> Callable[[str], Cases]:
    """A file system's job that writes to a file which stays open, and cuts the power, THEN."""

    def ran(system: str) -> Cases:
        place = PLACES[system]
        cases = {
            name: (
                Step("hold", held(f"{MNT}/held", TEXT, f"{then}; {place.cut()}")),
                Step("cut", place.another_machine()),
                Step("found", f"cat {MNT}/held"),
            )
            for name, then in THEN.items()
        }
        return place.run_cases(board, cases)

    return cache(ran)


@pytest.mark.parametrize(
    "system", [pytest.param(s, marks=pytest.mark.xdist_group(f"held-{s}")) for s in PLACES]
)
@pytest.mark.parametrize("then", THEN)
def test_what_an_open_file_was_given_is_there(
    held_files: Callable[[str], Cases], system: str, then: str
) -> None:
    assert held_files(system)[then]["found"].stdout == TEXT


def names_and_attributes(place: Place) -> list[Step]:
    """Each is changed after a sync, while the file is held open, and synced again."""
    exact = "precise_times" not in place.differs()
    told = "%n %s %a %Y %Z" if exact else "%n %s"
    seen = (
        f"cd {MNT} && find . -mindepth 1 ! -name lost+found | sort | xargs stat -c '{told}'; cd /"
    )
    link = "hard_links" not in place.differs()
    make = "for f in cut grown moved gone touched linked; do head -c 5000 /bin/busybox > $f; done"
    change = (
        "truncate -s 77 cut; truncate -s 9999 grown; mv moved d/here; rm gone; chmod 600 touched"
    )
    if link:
        change += "; ln linked d/link; ln cut d/two; rm cut"
    return [
        Step("make", f"cd {MNT} && mkdir d && {make}; sync"),
        Step("later", "sleep 3"),
        Step("change", f"cd {MNT} && exec 5<> grown && {change}; sync"),
        Step("before", f"{seen}; {place.cut()}"),
        Step("cut", place.another_machine()),
        Step("after", seen),
    ]


def mapped_pages(place: Place) -> list[Step]:
    """Written through a mapping that is gone, and not synced; then mounted to write again."""
    writes = r"seq s\nopen 0 f c\nwrite 0 0 9000 2\nfsync 0\nmapwrite 0 100 8000 4\nclose 0\n"
    return [
        Step("write", f"printf '{writes}' > w && fsops w {MNT}; md5sum {MNT}/s/f > /tmp/sum"),
        Step("read-only", f"mount -o remount,ro {MNT} && ! touch {MNT}/no 2> /dev/null"),
        Step("same", "echo 3 > /proc/sys/vm/drop_caches && md5sum -c /tmp/sum"),
        Step("again", f"{place.remount()} && md5sum -c /tmp/sum"),
        Step("to-and-fro", f"mount -o remount,ro {MNT} && mount -o remount,rw {MNT}"),
        Step("write-on", f"cp {MNT}/s/f {MNT}/copy && sync && cmp {MNT}/s/f {MNT}/copy"),
    ]


def mapped_on_full_disk(place: Place) -> list[Step]:
    """Written into a hole, through a mapping."""
    hole = r"seq s\nopen 0 f c\nftrunc 0 400000\nfsync 0\n"
    maps = r"seq s\nopen 0 f -\nmapwrite 0 0 60000 2\nfsync 0\n"
    return [
        Step("hole", f"printf '{hole}' > h && fsops h {MNT} && mkdir {MNT}/full"),
        Step("fill", f"diskfull fill {MNT}/full", deadline_s=3600),
        Step("map", f"printf '{maps}' > m && fsops m {MNT}; md5sum {MNT}/s/f > /tmp/sum"),
        Step("same", f"{place.remount()} && md5sum -c /tmp/sum"),
    ]


def synced_on_full_disk(place: Place) -> list[Step]:
    """Two files are written, and all is synced twice."""
    begin = r"seq s\nopen 0 a c\nput 0 100 1\nopen 1 b c\nput 1 100 1\nsync\n"
    syncs = rf"fsync 0\nfsync 1\nsyncfs {MNT}\n"
    full = rf"seq s\nopen 0 a a\nopen 1 b -\nput 0 65536 2\nput 0 65536 2\n{syncs}{syncs}"
    return [
        Step("begin", f"printf '{begin}' > b && fsops b {MNT} && mkdir {MNT}/full"),
        Step("fill", f"diskfull fill {MNT}/full", deadline_s=3600),
        Step("full", f"printf '{full}' > f && fsops f {MNT}"),
        Step("same", f"md5sum {MNT}/s/* > /tmp/sum; {place.remount()} && md5sum -c /tmp/sum"),
        Step("kernel", "uname -r"),
    ]


WARNED = "names", "mapped-on-full"
"""Cases in which the kernel may warn: of the cut, and UBIFS that it has refused."""


@pytest.fixture(scope="module")
def synced(board: Board) -> Callable[[str], Cases]:
    """A file system's job of four cases: in all others than WARNED the kernel warns of nothing."""

    def ran(system: str) -> Cases:
        place = LEAST[system]
        cases = {
            "names": names_and_attributes(place),
            "mapped": mapped_pages(place),
            "mapped-on-full": mapped_on_full_disk(place),
            "synced-on-full": synced_on_full_disk(place),
        }
        return place.run_cases(board, cases)

    return cache(ran)


def find_case(synced: Callable[[str], Cases], system: str, name: str) -> JobRecord:
    """The record of a case whose steps all succeeded, and in which the kernel was as expected."""
    record = synced(system)[name]
    assert name in WARNED or LEAST[system].complaints(record) == []
    return record


@EVERY
def test_names_and_attributes_are_there_after_a_sync(
    synced: Callable[[str], Cases], system: str
) -> None:
    record = find_case(synced, system, "names")
    assert record["after"].stdout == record["before"].stdout


@EVERY
def test_a_remount_to_read_only_keeps_mapped_pages(
    synced: Callable[[str], Cases], system: str
) -> None:
    outcomes = find_case(synced, system, "mapped")["write"].stdout.split("\n")
    maps = "shared_writable_maps" not in LEAST[system].differs()
    assert outcomes[4] == ("8000" if maps else "EINVAL")


def put(text: str, at: int, path: str) -> str:
    """The command that writes a text into a file, and syncs it."""
    return f"printf '{text}' | dd of={path} bs=1 seek={at} conv=notrunc,fsync 2>&1"


CHECKING = replace(LEAST["ubifs"], options={"check_data": "on"})


UNREADABLE = {"-".join([p.system, *p.options]): p for p in [*LEAST.values(), CHECKING]}
MARK = "sixteen letters."
DROP = "echo 3 > /proc/sys/vm/drop_caches"


def unreadable(place: Place, *, cached: bool) -> list[Step]:
    """Writes into the middle of a page that cannot be read any more, and reads it."""
    bits = f"for bit in 1 9 17 25 33 41 49 57; do echo $page $bit > {SIM}/flip; done"
    made = put(MARK, 9001, "/tmp/f")
    return [
        Step("make", f"head -c 20480 /dev/urandom > /tmp/g && cp /tmp/g /tmp/f && {made}"),
        Step("copy", f"cp /tmp/f /tmp/g {MNT} && sync"),
        Step("rest", place.rest().command),
        Step("cache", f"{DROP}; cat {MNT}/f > /dev/null; {'true' if cached else DROP}"),
        Step("plant", f"for page in $({place.pages_with(MARK)}); do echo $page; {bits}; done"),
        Step("write", f"{put('XYZ', 9000, f'{MNT}/f')}; echo $?"),
        Step("written", f"cp /tmp/f /tmp/new && {put('XYZ', 9000, '/tmp/new')}"),
        Step("read", f"{DROP}; cat {MNT}/f > /tmp/read; echo $?; cmp /tmp/read /tmp/new && echo"
             " new; cmp /tmp/read /tmp/f && echo old; true"),
        Step("other", f"cmp {MNT}/g /tmp/g"),
    ]  # fmt: skip


CACHED = {"on-flash": False, "in-cache": True}


@pytest.fixture(scope="module")
def spoiled(board: Board) -> Callable[[str], Cases]:
    """A job of unreadable() for a place of UNREADABLE, by CACHED."""

    def ran(name: str) -> Cases:
        place = UNREADABLE[name]
        cases = {case: unreadable(place, cached=cached) for case, cached in CACHED.items()}
        return place.run_cases(board, cases)

    return cache(ran)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.xdist_group(f"spoiled-{n}")) for n in UNREADABLE]
)
@pytest.mark.parametrize("case", CACHED)
def test_a_write_into_an_unreadable_page_stores_nothing_wrong(
    spoiled: Callable[[str], Cases], name: str, case: str
) -> None:
    """Who cannot store the page's other bytes says so, and leaves all as it was.

    What a reader gets afterwards is right, or an error. Another file's reader gets no error.
    """
    place, record = UNREADABLE[name], spoiled(name)[case]
    assert record["plant"].stdout.split()
    *said, rc = record["write"].stdout.split("\n")[:-1]
    read, *found = record["read"].stdout.split("\n")[:-1]
    matches = [line for line in found if line in ("old", "new")]
    if "unreadable_pages" in place.differs() and place is not CHECKING:
        assert (rc, read, matches) == ("0", "0", []), "it tells: take the declaration back"
        return
    assert rc == "0" or any("Input/output error" in line for line in said)
    assert read == "1" or matches == ["new" if rc == "0" else "old"]


@EVERY
def test_a_full_disk_shows_when_a_mapping_is_written(
    synced: Callable[[str], Cases], system: str
) -> None:
    """Into a hole, on a full disk: as a bus error at once, or there is room; never at fsync."""
    record = find_case(synced, system, "mapped-on-full")
    _, opened, mapped, fsynced = record["map"].stdout.split("\n")[:-1]
    assert opened == "0"
    if "shared_writable_maps" in LEAST[system].differs():
        assert mapped == "EINVAL"
    else:
        assert mapped in ("SIGBUS", "60000")
    assert fsynced == "0"


@EVERY
def test_an_error_is_told_once_and_to_its_caller(
    synced: Callable[[str], Cases], system: str
) -> None:
    """On a full disk: the write says so. No sync says it again, of this file or another.

    JFFS2 since Linux 6.12, which is declared: fsync of that file and syncfs, each once.
    """
    record = find_case(synced, system, "synced-on-full")
    outcomes = record["full"].stdout.split("\n")[:-1]
    linux = tuple(int(part) for part in record["kernel"].stdout.split(".")[:2])
    again = "errors_once" in LEAST[system].differs() and linux >= (6, 12)
    first = ["ENOSPC", "0", "ENOSPC"] if again else ["0"] * 3
    assert outcomes[-7:] == ["ENOSPC", *first, *(["0"] * 3)]
