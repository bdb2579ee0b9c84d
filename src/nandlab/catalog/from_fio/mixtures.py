# SPDX-License-Identifier: GPL-2.0-or-later
"""Values of fio that are mixtures: sizes of requests with their shares, and zones of a file.

ValueError says what is wrong.
"""

from __future__ import annotations

import re

from nandlab.catalog.from_fio.options import BS_MAX, parse_fio_size, require_in_range

SHARES_MAX = 32
ZONED = "zoned:"


def parse_request_sizes(name: str, value: str) -> dict[str, str]:
    """``bssplit`` or ``bsrange`` as options of the board's program."""
    ways = value.split(",")
    if len(ways) > 3:
        raise ValueError("expected one value, or one each for reads, writes and trims")
    ways = ways[:2]  # no job trims
    if name == "bssplit":
        splits = [_parse_split(way) for way in ways]
        return {"bssplit": ",".join(_format_shares(split) for split in splits)}
    ranges = [_parse_range(way) for way in ways]
    if all(least == most for least, most in ranges):
        return {"bs": ",".join(str(least) for least, _ in ranges)}
    return {
        "bs": ",".join(str(least) for least, _ in ranges),
        "bs_max": ",".join(str(most) for _, most in ranges),
    }


def list_request_sizes(options: dict[str, str]) -> list[list[int]]:
    """All sizes that requests may have, or the least and the most: of reads, of writes."""
    if "bssplit" in options:
        parts = [
            [int(share.partition("/")[0]) for share in way.split(":")]
            for way in options["bssplit"].split(",")
        ]
        return [parts[0], parts[-1]]
    bounds = [options.get("bs", "4096").split(",")]
    bounds += [options["bs_max"].split(",")] if "bs_max" in options else []
    return [
        [int(bound[way] if way < len(bound) else bound[0]) for bound in bounds] for way in (0, 1)
    ]


def parse_zones(value: str) -> dict[str, str]:
    """``random_distribution`` as an option of the board's program; none if all are as likely."""
    if value == "random":
        return {}
    if not value.startswith(ZONED):
        raise ValueError("must be random or zoned:PERCENT/PERCENT:...")
    if "," in value:
        raise ValueError("reads and writes have the same zones")
    pairs = [pair.partition("/")[::2] for pair in value.removeprefix(ZONED).split(":")]
    if len(pairs) > SHARES_MAX:
        raise ValueError(f"must be at most {SHARES_MAX} zones")
    requests = _fill_up([_parse_percent(requests) for requests, _ in pairs])
    parts = _fill_up([_parse_percent(part) for _, part in pairs])
    if sum(requests) != 100 or sum(parts) != 100:
        raise ValueError("both the requests and the parts of a file must add up to 100 percent")
    if 0 in parts or 0 in requests:
        raise ValueError("each zone has at least 1 percent")
    return {"zones": _format_shares(list(zip(parts, requests, strict=True)))}


def _parse_range(value: str) -> tuple[int, int]:
    least, dash, most = value.partition("-")
    if not dash:
        raise ValueError("expected LEAST-MOST, such as 4k-64k")
    sizes = (_parse_size(least), _parse_size(most))
    if sizes[0] > sizes[1]:
        raise ValueError("the first size is the least")
    return sizes


def _parse_split(value: str) -> list[tuple[int, int]]:
    """Sizes with their percent, as fio reads them: what names none shares the rest."""
    pairs = [pair.partition("/")[::2] for pair in value.split(":")]
    if len(pairs) > SHARES_MAX:
        raise ValueError(f"must be at most {SHARES_MAX} sizes")
    sizes = [_parse_size(size) for size, _ in pairs]
    percents = _fill_up([_parse_percent(percent) for _, percent in pairs])
    if sum(percents) > 100:
        raise ValueError("the shares add up to more than 100 percent")
    # fio looks them up in this order, and the last has what the others leave
    split = sorted(
        ((size, percent) for size, percent in zip(sizes, percents, strict=True) if percent),
        key=lambda pair: pair[1],
    )
    if not split:
        raise ValueError("no size has a share")
    least = min(size for size, _ in split)
    if any(size % least for size, _ in split):
        raise ValueError(f"each size must be a multiple of the least, {least}")
    return split


def _parse_size(value: str) -> int:
    return require_in_range(parse_fio_size(value), 1, BS_MAX)


def _parse_percent(value: str) -> int | None:
    if value and not re.fullmatch(r"\d{1,3}", value):
        raise ValueError(f"{value!r} is no whole percent")
    return require_in_range(int(value), 0, 100) if value else None


def _fill_up(percents: list[int | None]) -> list[int]:
    """What names no percent shares what the others leave."""
    missing = percents.count(None)
    rest = max(0, 100 - sum(percent or 0 for percent in percents))
    return [rest // missing if percent is None else percent for percent in percents]


def _format_shares(shares: list[tuple[int, int]]) -> str:
    return ":".join(f"{value}/{percent}" for value, percent in shares)
