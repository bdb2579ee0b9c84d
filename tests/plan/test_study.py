# SPDX-License-Identifier: GPL-2.0-or-later
"""Studies: every mistake at once with its place, and plans whose ids stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from nandlab.analysis.verdicts import limits
from nandlab.base.errors import UsageError
from nandlab.base.paths import STUDIES
from nandlab.plan import study

GOOD = """
name = "small"
question = "Which?"
board = "apf27"
[matrix]
workloads = [{ name = "ffsmark", files = 10 }]
filesystems = [{ name = "jffs2" }, { name = "ubifs", writeback = "off" }]
chips = [{ part = "apf27", partition_mib = 8 }]
states = [{ name = "fresh" }, { name = "aged", valid = 0.5, invalid = 0.25 }]
seeds = [1, 2]
phase_offsets_ms = [0, 1.5]
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "small.toml"
    path.write_text(text)
    return path


def test_a_plan_is_the_whole_matrix(tmp_path: Path) -> None:
    specs = study.plan_trials(study.read_study_file(write(tmp_path, GOOD)))
    assert len(specs) == len({s.id for s in specs}) == 2 * 2 * 2 * 2
    assert specs[0].parameters["files"] == 10
    assert specs[0].parameters["transactions"] == 500
    assert {s.partition_blocks for s in specs} == {64}


def test_ids_depend_on_the_trial_alone(tmp_path: Path) -> None:
    before = {
        s.id: s.title() for s in study.plan_trials(study.read_study_file(write(tmp_path, GOOD)))
    }
    fewer = GOOD.replace("seeds = [1, 2]", "seeds = [2]").replace("Which?", "Why?")
    after = {
        s.id: s.title() for s in study.plan_trials(study.read_study_file(write(tmp_path, fewer)))
    }
    assert after.items() < before.items()
    spelt = GOOD.replace("files = 10", "files = 10, transactions = 500")
    assert {
        s.id for s in study.plan_trials(study.read_study_file(write(tmp_path, spelt)))
    } == before.keys()


def test_titles_tell_apart_loads_and_sizes(tmp_path: Path) -> None:
    loads = '{ name = "ffsmark", files = 10 }'
    two = GOOD.replace(loads, f"{loads}, {loads.replace('10', '20')}")
    two = two.replace("= 8 }]", '= 8 }, { part = "apf27", partition_mib = 16 }]')
    titles = [s.title() for s in study.plan_trials(study.read_study_file(write(tmp_path, two)))]
    assert len(titles) == len(set(titles)) == 4 * 2 * 2 * 2 * 2
    assert "ffsmark files=10 JFFS2 on 8 MiB of apf27 fresh seed 1 +0 ms" in titles


def test_a_title_cuts_a_long_parameter(tmp_path: Path) -> None:
    load = '{ name = "sqlselect", selects = "1,2,5,10,20,50,100,200,500,2000" }'
    text = GOOD.replace('{ name = "ffsmark", files = 10 }', load)
    (first, *_) = study.plan_trials(study.read_study_file(write(tmp_path, text)))
    assert "selects=1,2,5,10,20,50,100,20... JFFS2" in first.title()


@pytest.mark.parametrize("name", sorted(p.stem for p in STUDIES.glob("*.toml")))
def test_shipped_studies_are_found_by_name_and_plan(name: str) -> None:
    read = study.read_study_file(study.find_study_file(name))
    assert read.name == name
    assert study.plan_trials(read)


def test_another_board_makes_other_trials_and_must_be_there(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    own = {s.id for s in study.plan_trials(study.read_study_file(path))}
    moved = study.plan_trials(study.read_study_file(path, "fast"))
    assert {s.board.name for s in moved} == {"fast"}
    assert own.isdisjoint(s.id for s in moved)
    with pytest.raises(UsageError, match="board: no 'slow' in the catalog"):
        study.read_study_file(path, "slow")


def errors(folder: Path, *changes: tuple[str, str]) -> list[str]:
    text = GOOD
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    with pytest.raises(UsageError) as error:
        study.read_study_file(write(folder, text))
    return str(error.value).splitlines()


def test_mistakes_of_form_come_together_with_their_places(tmp_path: Path) -> None:
    found = errors(
        tmp_path,
        ('question = "Which?"', 'questions = "?"'),
        ("seeds = [1, 2]", 'seeds = ["x"]'),
        ("valid = 0.5", "valid = 0.9"),
    )
    text = "\n".join(found)
    for part in (
        "question: must be given",
        "questions: there is no such key",
        "matrix.seeds.0: ",
        "matrix.states.1",
    ):
        assert part in text
    assert all("small.toml: " in line for line in found)


def test_mistakes_of_meaning_come_together_with_their_places(tmp_path: Path) -> None:
    found = errors(
        tmp_path,
        ("files = 10", 'files = 0, transactions = "x", filez = 1'),
        ('{ name = "jffs2" }', '{ name = "jffs2", writeback = "on" }, { name = "ext4" }'),
        ('writeback = "off"', 'writeback = "maybe"'),
        ("partition_mib = 8", "partition_mib = 8.1"),
    )
    text = "\n".join(found)
    assert "matrix.workloads.0: ffsmark: files must be at" in text and "at least 1, is 0" in text
    assert "workloads.0: ffsmark: transactions must" in text and "of type int, is 'x'" in text
    assert "matrix.workloads.0: ffsmark has no parameter 'filez'" in text
    assert "matrix.filesystems.0: jffs2 has no option 'writeback'" in text
    assert "matrix.filesystems.1: no 'ext4'" in text
    assert "matrix.filesystems.2: ubifs: writeback = 'maybe' " in text and "none of on, off" in text
    assert "matrix.chips.0: a partition" in text and "multiple of 0.125 MiB" in text


@pytest.mark.parametrize(
    ("state", "refused"),
    [
        ('{ name = "aged" }', True),
        ('{ name = "aged-pages", mix = 1 }', True),
        ('{ name = "aged", invalid = 0.1 }', False),
        ('{ name = "packaged" }', False),
        ('{ name = "in-use" }', False),
    ],
)
def test_aged_flash_without_shares_is_refused(tmp_path: Path, state: str, refused: bool) -> None:
    aged = ('{ name = "aged", valid = 0.5, invalid = 0.25 }', state)
    if not refused:
        study.read_study_file(write(tmp_path, GOOD.replace(*aged)))
        return
    (line,) = errors(tmp_path, aged)
    assert "matrix.states.1: aged" in line
    assert "valid = 0.5, invalid = 0.25, mix = 1 }" in line


def test_fresh_flash_with_shares_is_refused(tmp_path: Path) -> None:
    (line,) = errors(tmp_path, ('{ name = "fresh" }', '{ name = "fresh", valid = 0.4 }'))
    assert "matrix.states.0: fresh" in line


def test_maximum_latencies_make_another_trial_and_typical_ones_none(tmp_path: Path) -> None:
    typical = GOOD.replace('part = "apf27"', 'part = "NAND256W3A"')
    named = typical.replace("partition_mib = 8", 'partition_mib = 8, latency = "typical"')
    maximum = named.replace('"typical"', '"maximum"')
    first, same, other = (
        study.plan_trials(study.read_study_file(write(tmp_path, t)))
        for t in (typical, named, maximum)
    )
    assert [s.id for s in first] == [s.id for s in same]
    assert not {s.id for s in first} & {s.id for s in other}
    assert {s.latency for s in first} == {"typical"}
    assert {s.latency for s in other} == {"maximum"}
    assert "maximum latencies" in other[0].title()
    assert "latencies" not in first[0].title()


def test_paired_members_take_a_seed_and_an_offset_each(tmp_path: Path) -> None:
    paired = GOOD + 'ensemble = "paired"\n'
    read = study.read_study_file(write(tmp_path, paired))
    assert read.members() == [(1, 0.0), (2, 1.5)]
    assert read.members(1) == [(1, 0.0)]
    specs = study.plan_trials(read)
    assert len(specs) == 2 * 2 * 2
    crossed = {s.id for s in study.plan_trials(study.read_study_file(write(tmp_path, GOOD)))}
    assert {s.id for s in specs} < crossed
    assert len({s.configuration() for s in specs}) == 4
    with pytest.raises(UsageError, match=r"as many phase_offsets_ms as seeds"):
        study.read_study_file(write(tmp_path, paired.replace("[0, 1.5]", "[0, 1.5, 3]")))


def test_each_seed_has_an_offset_of_its_own_unless_the_study_says_so(tmp_path: Path) -> None:
    absent = GOOD.replace("phase_offsets_ms = [0, 1.5]\n", "")
    many = absent.replace("[1, 2]", str(list(range(1000))))
    turned = study.read_study_file(write(tmp_path, absent.replace("[1, 2]", "[2, 1]")))
    assert turned.members() == [(2, 307.0), (1, 0.0)]
    assert study.read_study_file(write(tmp_path, absent)).members() == [(1, 0.0), (2, 307.0)]
    offsets = [offset for _, offset in study.read_study_file(write(tmp_path, many)).members()]
    assert len(set(offsets)) == 1000
    assert all(0 <= offset < 1000 for offset in offsets)
    shared = study.read_study_file(write(tmp_path, absent + "setup_seed = 1\n"))
    assert shared.members() == [(1, 0.0), (2, 0.0)]
    given = study.read_study_file(write(tmp_path, absent + "phase_offsets_ms = [0]\n"))
    assert given.members() == [(1, 0.0), (2, 0.0)]
    kept = study.parse_run_study(shared.model_dump(mode="json"), tmp_path, "kept")
    assert study.plan_trials(kept) == study.plan_trials(shared)


def test_memory_is_measured_in_trials_of_its_own(tmp_path: Path) -> None:
    plain = study.plan_trials(study.read_study_file(write(tmp_path, GOOD)))
    asked = GOOD.replace("[matrix]", 'measure = ["memory", "wear"]\n[matrix]')
    read = study.read_study_file(write(tmp_path, asked))
    specs = study.plan_trials(read)
    timed = [s for s in specs if "memory" not in s.measure]
    apart = [s for s in specs if "memory" in s.measure]
    assert [s.member for s in timed] == [s.member for s in plain]
    assert {tuple(s.measure) for s in timed} == {("wear",)}
    assert {tuple(s.measure) for s in apart} == {("memory",)}
    assert len(apart) == 2 * len({s.configuration() for s in timed})
    assert {s.member for s in apart} == set(read.members(2))
    everywhere = asked.replace("[matrix]", 'memory_trials = "all"\n[matrix]')
    together = study.plan_trials(study.read_study_file(write(tmp_path, everywhere)))
    assert {tuple(s.measure) for s in together} == {("memory", "wear")}
    assert len(together) == len(plain)
    assert (
        study.plan_trials(study.parse_run_study(read.model_dump(mode="json"), tmp_path, "kept"))
        == specs
    )
    old = {k: v for k, v in read.model_dump(mode="json").items() if k != "memory_trials"}
    assert study.plan_trials(study.parse_run_study(old, tmp_path, "kept")) == together


def test_what_stands_beside_the_matrix_takes_the_rest_from_it(tmp_path: Path) -> None:
    lzo = """
[[beside]]
filesystems = [{ name = "jffs2", compression = "lzo" }]
states = [{ name = "fresh" }]
"""
    before = study.plan_trials(study.read_study_file(write(tmp_path, GOOD)))
    after = study.plan_trials(study.read_study_file(write(tmp_path, GOOD + lzo)))
    assert [s.id for s in after[: len(before)]] == [s.id for s in before]
    added = after[len(before) :]
    assert {(s.options["compression"], s.state.name) for s in added} == {("lzo", "fresh")}
    assert {s.member for s in added} == {s.member for s in before}
    with pytest.raises(UsageError, match="the same trial more than once"):
        study.read_study_file(write(tmp_path, GOOD + lzo.replace(', compression = "lzo"', "")))
    with pytest.raises(UsageError, match=r"beside\.0\.filesystems\.0: no 'ext4'"):
        study.read_study_file(
            write(tmp_path, GOOD + lzo.replace('"jffs2", compression = "lzo"', '"ext4"'))
        )


LIMITED = f"""{GOOD}
[limits]
append.p99 = "< 1ms"
ram = "< 4M"
lifetime_years = 10
daily_write = "100M"
"""


def test_limits_are_kept_and_change_no_trial_and_one_on_ram_adds_some(tmp_path: Path) -> None:
    plain = study.read_study_file(write(tmp_path, GOOD))
    without = study.read_study_file(write(tmp_path, LIMITED.replace('ram = "< 4M"', "")))
    assert [s.id for s in study.plan_trials(without)] == [s.id for s in study.plan_trials(plain)]
    read = study.read_study_file(write(tmp_path, LIMITED))
    added = {s.id: s.measure for s in study.plan_trials(read)}
    assert added.keys() > {s.id for s in study.plan_trials(plain)}
    assert [m for i, m in added.items() if i not in {s.id for s in study.plan_trials(plain)}] == [
        ["memory"]
    ] * 8
    kept = study.parse_run_study(read.model_dump(mode="json"), tmp_path, "kept").model_dump(
        mode="json"
    )
    found = limits.make_limits_from_spec(kept)
    assert [limit.text for limit in found.figures] == ["append.p99 < 1ms", "ram < 4M"]
    assert (found.years, found.daily) == (10, 100 << 20)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("append.p99", "apend.p99", "no operation is called apend: ffsmark has create, read"),
        ('"< 1ms"', '"1ms"', "limits: limit 'append.p99 1ms': write a figure, < or >"),
        ('"< 1ms"', '"< 1"', "limits: limit 'append.p99 < 1': '1': give a time"),
        ("append.p99", "phase.x", "phase.x: no phase is called x"),
        ('daily_write = "100M"', "", "lifetime_years and daily_write go together"),
        ("= 10\n", '= "ten"\n', "limits: lifetime_years: give a number above 0"),
        ('"100M"', '"much"', "limits: daily_write: 'much': give bytes"),
    ],
)
def test_a_wrong_limit_is_told_with_its_place(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    path = write(tmp_path, LIMITED.replace(old, new))
    with pytest.raises(UsageError) as caught:
        study.read_study_file(path)
    (line,) = str(caught.value).splitlines()
    assert line.startswith(f"{path}: limits: ")
    assert said in line


PRODUCT = """
name = "small"
question = "Which?"
board = "apf27"

[product]
ram_mib = 128
years = 10
chip = { part = "apf27", partition_mib = 8 }
loads = [
    { name = "ffsmark", daily_write = "10M", files = 10 },
    { name = "logger", daily_write = "90M" },
]

[matrix]
filesystems = [{ name = "jffs2" }]
states = [{ name = "fresh" }]
seeds = [1, 2]
"""


def test_a_matrix_follows_from_its_product(tmp_path: Path) -> None:
    read = study.read_study_file(write(tmp_path, PRODUCT))
    specs = study.plan_trials(read)
    assert [(s.workload.name, s.partition_mib) for s in specs] == [
        *[("ffsmark", 8)] * 2,
        *[("logger", 8)] * 2,
    ]
    assert specs[0].parameters["files"] == 10
    found = limits.make_limits_from_spec(read.model_dump(mode="json"))
    assert (found.years, found.daily) == (10, 100 << 20)
    kept = study.parse_run_study(read.model_dump(mode="json"), tmp_path, "kept")
    assert study.plan_trials(kept) == specs


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[matrix]", '[matrix]\nchips = [{ part = "omap3evm" }]', "it follows from [product]"),
        ("ram_mib = 128", "ram_mib = 64", "product: ram_mib: board apf27 has 128 MiB"),
        ('"90M"', '"much"', "give bytes"),
        ('daily_write = "90M"', "records = 7", "product.loads.1.daily_write: must be given"),
        ("years = 10", "years = 0", "product.years: must be greater than 0"),
        ('{ name = "logger", daily_write = "90M" }', "3", "product.loads.1: "),
        (
            '{ name = "logger", daily_write = "90M" }',
            '{ name = "ffsmark", daily_write = "9M", files = 10 }',
            "two are the same workload with the same parameters",
        ),
        ("[product]", "[limits]\nlifetime_years = 4\n[product]", "[product] has them"),
    ],
)
def test_a_wrong_product_is_told(tmp_path: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        study.read_study_file(write(tmp_path, PRODUCT.replace(old, new)))
    assert said in str(caught.value)
