# SPDX-License-Identifier: GPL-2.0-or-later
"""fio's own example jobs, as Debian's package has them: which are taken, and why others are not."""

from __future__ import annotations

import gzip
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from nandlab.base.errors import UsageError
from nandlab.board.kit.apt import Apt, Suite
from nandlab.board.kit.deb import open_package_tar, read_member_blocks
from nandlab.board.kit.lock import Files
from nandlab.board.kit.packages import fetch_packages, make_cached_package_path
from nandlab.board.kit.packagesets import SuiteSet
from nandlab.catalog.from_fio.jobfile import read_fio_job_file

PAGE = Path(__file__).resolve().parents[3] / "docs" / "fio.md"
FILES: Files = {
    "fio-examples_3.33-3_all.deb": (
        "753af4393ee9d4e69e4a0deacf235015c30f523b299c94e85e2e4556bfbcfd95"
    )
}
BUFFERED = {"direct": "0"}
ON_A_FILE = {"direct": "0", "filename": "disk", "size": "512m"}


@dataclass(frozen=True)
class ExampleSet(SuiteSet):
    """fio's examples."""

    @property
    def name(self) -> str:
        return f"examples of fio {self.suite.release}"

    def resolve(self, apt: Apt) -> Files:
        return apt.files(["fio-examples"])


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    fetch_packages(ExampleSet(Suite("bookworm", "amd64")), FILES)
    folder = tmp_path_factory.mktemp("fio")
    for digest in FILES.values():
        with open_package_tar(make_cached_package_path(digest), "fio-examples") as tar:
            for member in tar:
                path = Path(member.name)
                if ".fio" in path.suffixes:
                    content = b"".join(read_member_blocks(tar, member))
                    whole = gzip.decompress(content) if path.suffix == ".gz" else content
                    (folder / path.name.removesuffix(".gz")).write_bytes(whole)
    return sorted(folder.iterdir())


def find_refusals(path: Path, overrides: dict[str, str]) -> list[str]:
    """Each option that is refused, in order; none: the example is taken."""
    try:
        read_fio_job_file(path, overrides)
    except UsageError as e:
        lines = [line.partition(f"{path}:")[2] for line in str(e).splitlines()]
        return [find_option(line) for line in lines]
    return []


def find_option(line: str) -> str:
    """The option that a refusal names."""
    if "size is missing" in line:
        return "size"
    if named := re.match(r"\d+: \[\w+\]: (\w+)", line):
        return named[1]
    named = re.match(r"\d+: (\w[\w-]*)", line)
    assert named is not None, line
    return named[1]


def format_table(examples: list[Path]) -> str:
    """As docs/fio.md has it."""
    taken: dict[str, list[str]] = {"as it is": [], "`direct=0`": [], "a file for a device": []}
    reasons: Counter[str] = Counter()
    for path in examples:
        for way, overrides in zip(taken, ({}, BUFFERED, ON_A_FILE), strict=True):
            refusals = find_refusals(path, overrides)
            if not refusals:
                taken[way].append(path.stem)
                break
        else:
            reasons["ioengine" if "ioengine" in refusals else refusals[0]] += 1
    rows = [f"| taken {way} | {len(names)} | {', '.join(names)} |" for way, names in taken.items()]
    rows += [
        f"| refused for `{name}` | {n} | |"
        for name, n in sorted(reasons.items(), key=lambda r: (-r[1], r[0]))
    ]
    return "\n".join(rows)


def test_the_table_of_examples_is_that_of_the_docs(examples: list[Path]) -> None:
    table = format_table(examples)
    print(table)
    assert table in PAGE.read_text()
