# SPDX-License-Identifier: GPL-2.0-or-later
"""Two runs are compared to the nanosecond, in every field but what belongs to the host."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from support import samples

from nandlab.analysis.differences.compare import (
    ABSENT,
    Difference,
    collect_value_differences,
    compare_runs,
    compare_trials,
    compute_trial_digest,
    dump_compared_trial_fields,
    format_difference_lines,
    list_value_differences,
)
from nandlab.base.printable import make_printable
from nandlab.results.figuresfile import select_trial_figures
from nandlab.results.record import Host, Trial
from nandlab.results.recordparts import ChipUsage

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(JSON)
def test_a_value_does_not_differ_from_itself(value: object) -> None:
    assert list(list_value_differences(value, value, "x")) == []


@given(JSON, JSON)
def test_differences_are_symmetric(a: object, b: object) -> None:
    there = {(d.path, repr(d.a), repr(d.b)) for d in list_value_differences(a, b, "x")}
    back = {(d.path, repr(d.b), repr(d.a)) for d in list_value_differences(b, a, "x")}
    assert there == back


@given(st.dictionaries(st.text(max_size=3).filter(lambda k: k != "host"), JSON, min_size=1))
def test_a_lost_key_is_absent_and_not_null(value: dict[str, object]) -> None:
    key = next(iter(value))
    less = {k: v for k, v in value.items() if k != key}
    assert Difference(f"x.{key}", value[key], ABSENT) in list(
        list_value_differences(value, less, "x")
    )


def test_a_run_does_not_differ_from_a_repetition_on_another_host(tmp_path: Path) -> None:
    trials = samples.study(seeds=2)
    elsewhere = [t.model_copy(update={"host": Host(seconds=99, board="other")}) for t in trials]
    a, b = samples.folder(tmp_path / "a", trials), samples.folder(tmp_path / "b", elsewhere)
    assert compare_runs(a, b) == []
    assert compare_runs(a, a) == []


def test_counts_that_older_results_lack_are_no_difference(tmp_path: Path) -> None:
    trials = [samples.trial(seed=s) for s in (1, 2)]
    counted = [
        t.model_copy(update={"steps": [s.model_copy(update={"register_hits": 7}) for s in t.steps]})
        for t in trials
    ]
    a, b = samples.folder(tmp_path / "a", trials), samples.folder(tmp_path / "b", counted)
    assert compare_runs(a, b) == []
    assert [compute_trial_digest(t) for t in trials] == [compute_trial_digest(t) for t in counted]
    assert [select_trial_figures(t) for t in trials] == [select_trial_figures(t) for t in counted]


def nudged(trial: Trial) -> Trial:
    slower = [
        p.model_copy(update={"ns": (p.ns or 0) + (p.name == "transactions")}) for p in trial.phases
    ]
    return trial.model_copy(update={"phases": slower})


def test_one_nanosecond_is_found_with_its_path_and_both_values(tmp_path: Path) -> None:
    trials = [samples.trial(seed=s) for s in (1, 2)]
    changed = [trials[0], nudged(trials[1])]
    a, b = samples.folder(tmp_path / "a", trials), samples.folder(tmp_path / "b", changed)
    (found,) = compare_runs(a, b)
    assert found.path == f"trials.{trials[1].id}.phases.transactions.ns"
    assert isinstance(found.a, int)
    assert found.b == found.a + 1
    assert str(found) == f"{found.path}: {found.a} / {found.b}"


def test_one_block_is_found_by_its_index(tmp_path: Path) -> None:
    trial = samples.trial()
    assert trial.per_block is not None
    erases = [*trial.per_block.erases]
    erases[7] += 1
    per_block = trial.per_block.model_copy(update={"erases": erases})
    other = trial.model_copy(update={"per_block": per_block})
    a, b = samples.folder(tmp_path / "a", [trial]), samples.folder(tmp_path / "b", [other])
    assert [d.path for d in compare_runs(a, b)] == [f"trials.{trial.id}.per_block.erases.7"]


def test_a_trial_that_one_run_lacks_is_one_difference(tmp_path: Path) -> None:
    one, two = samples.trial(seed=1), samples.trial(seed=2)
    a = samples.folder(tmp_path / "a", [one, two])
    b = samples.folder(tmp_path / "b", [one], [two.id])
    assert compare_runs(a, b) == [Difference(f"trials.{two.id}", "ok", ABSENT)]
    assert compare_runs(b, a) == [Difference(f"trials.{two.id}", ABSENT, "ok")]


def test_the_commit_that_began_a_run_is_not_compared(tmp_path: Path) -> None:
    trials = [samples.trial()]
    a = samples.folder(tmp_path / "a", trials, commit="0123456789ab")
    b = samples.folder(tmp_path / "b", trials, commit=None, question="Another?")
    assert [d.path for d in compare_runs(a, b)] == ["run.question"]


def test_heads_are_compared_too(tmp_path: Path) -> None:
    trials = [samples.trial()]
    a = samples.folder(tmp_path / "a", trials, provenance={"kernel": "6.1", "host": "x"})
    b = samples.folder(tmp_path / "b", trials, provenance={"kernel": "6.12", "host": "y"})
    assert compare_runs(a, b) == [Difference("run.provenance.kernel", "6.1", "6.12")]


TIMING = {"t_r_ns": 1, "t_prog_ns": 2, "t_bers_ns": 3, "t_rc_ns": 4, "t_wc_ns": 5}
CHIP: dict[str, Any] = {"geometry": {"writesize": 2048, "oobsize": 64, "bus_bits": 8}}


def with_catalog(options: dict[str, dict[str, Any]], chosen: dict[str, str], **more: Any) -> Trial:
    """A trial with these options, and the catalog's text of them."""
    trial = samples.trial(id="jffs2-x").model_copy(update={"options": chosen})
    told = {"filesystem": {"title": "JFFS2", "options": options}, **more}
    return trial.add_sources({**trial.sources, **told})


OLD: dict[str, dict[str, Any]] = {
    "sync": {"help": "Sync.", "default": "off", "values": {"off": {}, "on": {"mount": "sync"}}}
}
EMPTY = {"mount": "", "words": "", "tool": "", "help": "", "chip_needs": [], "image_only": False}
NUMBER = {"min": 0, "max": 8, "step": 4, "unit": "KiB", "file": "/f", "kernel_default": 0}
READ_AHEAD = {"help": "Far.", "default": "default", "values": {"default": EMPTY}}
NEW = {**OLD, "read_ahead": {**READ_AHEAD, "number": NUMBER}, "more": READ_AHEAD}
"""A catalog that has gained a number and an option of names."""
UNUSED = {"read_ahead": "default", "more": "default"}


def found(tmp_path: Path, a: Trial, b: Trial) -> list[str]:
    runs = samples.folder(tmp_path / "a", [a]), samples.folder(tmp_path / "b", [b])
    there, back = compare_runs(*runs), compare_runs(*reversed(runs))
    assert [d.path for d in there] == [d.path for d in back]
    return [d.path for d in there]


def test_an_option_that_came_later_and_was_not_used_is_no_difference(tmp_path: Path) -> None:
    before = with_catalog(OLD, {"sync": "on"})
    after = with_catalog(NEW, {"sync": "on", **UNUSED})
    assert found(tmp_path, before, after) == []


def test_an_option_that_does_nothing_is_not_in_the_hash_of_a_figures_file() -> None:
    before = with_catalog(OLD, {"sync": "on"})
    after = with_catalog(NEW, {"sync": "on", **UNUSED})
    kept_and_named_later = with_catalog(OLD, {"sync": "on", **UNUSED})
    assert (
        compute_trial_digest(before)
        == compute_trial_digest(after)
        == compute_trial_digest(kept_and_named_later)
    )
    given = {"sync": "on", "read_ahead": "8"}
    assert compute_trial_digest(before) != compute_trial_digest(with_catalog(NEW, given))


def test_an_option_that_was_used_is_a_difference(tmp_path: Path) -> None:
    before = with_catalog(OLD, {"sync": "on"})
    after = with_catalog(NEW, {"sync": "on", **UNUSED, "read_ahead": "8"})
    path = "trials.jffs2-x"
    assert set(found(tmp_path, before, after)) == {
        f"{path}.options.read_ahead",
        f"{path}.provenance.filesystem.options.read_ahead",
    }


def test_other_words_of_a_used_value_are_a_difference(tmp_path: Path) -> None:
    other = {"sync": {**OLD["sync"], "values": {"off": {}, "on": {"mount": "sync,noatime"}}}}
    before, after = (with_catalog(o, {"sync": "on"}) for o in (OLD, other))
    at = "trials.jffs2-x.provenance.filesystem.options.sync.values.on.mount"
    assert found(tmp_path, before, after) == [at]


def test_a_default_that_now_does_something_is_a_difference(tmp_path: Path) -> None:
    other = {"sync": {**OLD["sync"], "values": {"off": {"mount": "async"}, "on": {}}}}
    before, after = (with_catalog(o, {"sync": "off"}) for o in (OLD, other))
    assert found(tmp_path, before, after) == ["trials.jffs2-x.provenance.filesystem.options"]


def test_values_that_were_not_chosen_are_no_difference(tmp_path: Path) -> None:
    other = {"sync": {**OLD["sync"], "values": {**OLD["sync"]["values"], "off": {"mount": "a"}}}}
    before, after = (with_catalog(o, {"sync": "on"}) for o in (OLD, other))
    assert found(tmp_path, before, after) == []


def test_what_is_only_told_of_chip_and_board_is_no_difference(tmp_path: Path) -> None:
    def told(energy: object, watts: object, t_r_ns: int = 1) -> Trial:
        chip = {**CHIP, "timing": {**TIMING, "t_r_ns": t_r_ns}, "energy": energy}
        chip["summary"] = f"{energy}"
        board = {"kernel": "6.1", "board": {"ram_mib": 96, "summary": f"{watts}"}}
        more = {"chip": chip, "board": board, "controller": {"read_ns": watts}}
        return with_catalog(OLD, {"sync": "on"}, **more)

    assert found(tmp_path / "1", told(None, 1), told({"read_ma": 9}, 2)) == []
    slower = told(None, 1, t_r_ns=2)
    path = "trials.jffs2-x.provenance.chip.timing.t_r_ns"
    assert found(tmp_path / "2", told(None, 1), slower) == [path]


def test_what_a_phase_does_not_tell_is_no_part_of_what_was_given() -> None:
    trial = samples.trial()
    assert all(
        {"usage", "at"}.isdisjoint(p) for p in dump_compared_trial_fields(trial)["phases"].values()
    )
    telling = [p.model_copy(update={"usage": ChipUsage(idle_ns=3)}) for p in trial.phases]
    told = dump_compared_trial_fields(trial.model_copy(update={"phases": telling}))["phases"]
    assert all(p["usage"]["idle_ns"] == 3 for p in told.values())


def test_a_parameter_that_is_true_is_not_one() -> None:
    one, true = (
        samples.trial().model_copy(update={"parameters": {"sync": value}}) for value in (1, True)
    )
    assert [str(d) for d in compare_trials(one, true, "t")] == [
        "trials.t.parameters.sync: 1 / True"
    ]
    assert not list(compare_trials(one, one.model_copy(), "t"))


def test_host_and_place_are_no_difference() -> None:
    trial = samples.trial()
    elsewhere = trial.model_copy(update={"host": None, "run": "another", "key": "another"})
    assert not list(compare_trials(trial, elsewhere, "t"))
    later = elsewhere.model_copy(update={"seed": trial.seed + 1})
    assert [d.path for d in compare_trials(trial, later, "t")] == ["trials.t.seed"]


def test_a_list_with_true_in_it_is_walked() -> None:
    assert [d.path for d in list_value_differences([1, 2], [True, 2], "l")] == ["l.0"]
    assert list_value_differences([1, 2], [1, 2], "l") == []


def test_lists_are_compared_value_by_value_also_where_one_is_longer() -> None:
    assert list_value_differences([1, 2, 3], [1, 5, 4], "l") == [
        Difference("l.1", 2, 5),
        Difference("l.2", 3, 4),
    ]
    assert list_value_differences([1, 2], [1], "l") == [Difference("l.1", 2, ABSENT)]
    assert list_value_differences([], [{"a": 1}], "l") == [Difference("l.0", ABSENT, {"a": 1})]


def test_a_line_of_a_difference_is_its_text_without_control_characters() -> None:
    differences = [
        Difference("t.n", 1, 2),
        Difference("t.a\n\x1b[2Jb", "x", ABSENT),
        Difference("t.sha256", "a", "b", "a note"),
    ]
    assert format_difference_lines(differences[::2]) == f"{differences[0]}\n{differences[2]}\n"
    assert format_difference_lines(differences) == "".join(
        f"{make_printable(str(d))}\n" for d in differences
    )
    assert format_difference_lines([]) == ""


def test_counts_that_are_kept_together_are_the_same_differences_and_lines() -> None:
    a = {"n": 1, "erases\x1b": [1, 2, 3, 4], "same": [5], "deep": {"on": True}}
    b = {"n": 2, "erases\x1b": [1, 3, 3, 6], "same": [5], "deep": {"on": 1}}
    together = collect_value_differences(a, b, "t")
    assert [*together] == [
        Difference("t.n", 1, 2),
        Difference("t.erases\x1b.1", 2, 3),
        Difference("t.erases\x1b.3", 4, 6),
        Difference("t.deep.on", True, 1),
    ]
    assert len(together) == 4
    assert Difference("t.n", 1, 2) in together
    assert Difference("t.same.0", 5, 5) not in together
    assert format_difference_lines(together) == format_difference_lines([*together])
    assert not collect_value_differences([1, 2], [1, 2], "l")


def test_what_two_trials_ran_with_is_left_out_where_that_is_wanted() -> None:
    before, after = with_catalog(OLD, {"sync": "on"}), with_catalog(NEW, {"sync": "on", **UNUSED})
    after = after.model_copy(update={"seed": before.seed + 1})
    other = {"sync": {**OLD["sync"], "values": {"off": {}, "on": {"mount": "sync,noatime"}}}}
    worded = with_catalog(other, {"sync": "on"}).model_copy(update={"seed": before.seed + 1})
    seed = [Difference("trials.t.seed", before.seed, before.seed + 1)]
    assert len(compare_trials(before, worded, "t")) == 2
    assert [*compare_trials(before, worded, "t", has_setup=False)] == seed
    assert [*compare_trials(before, after, "t", has_setup=False)] == seed
