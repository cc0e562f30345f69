"""What is no config, what a config says, and in whose words it is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hrmdoc.errors import HrmdocError, InputError, PatchError
from hrmdoc.record.records import Fact
from hrmdoc.remedies import files
from hrmdoc.remedies.own_config import config_facts, framework_of
from hrmdoc.rulebook import Framework, Rulebook


def told(act: Callable[[], object]) -> tuple[str, str | None, int | None, str | None]:
    """What is said of an act that is refused: what, the file, the line and the hint."""
    with pytest.raises(HrmdocError) as error:
        act()
    file = error.value.file
    return error.value.what, None if file is None else str(file), error.value.line, error.value.hint


def test_logs_tables_and_broken_files_are_no_configs(tmp_path: Path) -> None:
    log, table, broken = tmp_path / "a.LOG", tmp_path / "a.tsv", tmp_path / "c.yaml"
    log.write_text("step 1\n")
    broken.write_text("a: 1\na: 2\n")
    assert told(lambda: [*config_facts(log)]) == (
        "is a log, not a config", str(log), None, f"hrmdoc analyze {log}"
    )  # fmt: skip
    assert told(lambda: [*config_facts(table)]) == (
        "is data, not a config", str(table), None, "hrmdoc preflight [CONFIG] --data FILE"
    )  # fmt: skip
    assert told(lambda: [*config_facts(broken)]) == ("the key a is there twice", str(broken), 2, None)
    gone = tmp_path / "gone.yaml"
    what, file, _, hint = told(lambda: [*config_facts(gone)])
    assert (what, file) == ("cannot read the config: No such file or directory", str(gone))
    assert hint == told(lambda: files.read(gone))[3]
    with pytest.raises(InputError):
        list(config_facts(tmp_path / "gone.log"))


def test_a_program_states_what_it_sets_but_not_that_it_sets_nothing_else(tmp_path: Path) -> None:
    config, program = tmp_path / "c.py", tmp_path / "t.py"
    config.write_text("lr = 0.1\n")
    program.write_text("lr = 0.1\nprint(lr)\n")
    assert [*config_facts(config)] == [
        Fact("lr", 0.1, "config", str(config), 1),
        Fact("config.read", True, file=str(config)),
    ]
    assert "config.read" not in {fact.key for fact in config_facts(program)}


def test_a_config_is_in_the_words_of_the_framework_of_which_it_shows_two_marks(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    one, two = (Framework(name, name, markers=("config:a", "config:b")) for name in ("one", "two"))
    own = Rulebook(frameworks={"one": one, "three": Framework("three", "three", markers=("config:c",))})
    for text, name in (("a: 1\nb: 1\n", "one"), ("a: 1\n", None), ("c: 1\n", None)):
        path.write_text(text)
        found = framework_of([path, tmp_path / "gone.yaml"], own)
        assert (found and found.id) == name
    path.write_text("a: 1\nb: 1\n")
    assert framework_of([path], Rulebook(frameworks={"one": one, "two": two})) is None
    assert framework_of([path], Rulebook()) is None


@pytest.mark.parametrize(("size", "taken"), [(files.BIGGEST, True), (files.BIGGEST + 1, False)])
def test_a_config_is_a_quarter_of_a_megabyte_at_most(tmp_path: Path, size: int, taken: bool) -> None:
    path = tmp_path / "c.yaml"
    path.write_bytes(b"#" * size)
    if taken:
        assert len(files.read(path).text) == size
        return
    assert told(lambda: files.read(path)) == (
        "256 kB is more than a config file has", str(path), None, "name the config file itself"
    )  # fmt: skip


def test_a_text_that_is_no_utf_8_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_bytes(b"a: 1\nb: \xff\n")
    assert told(lambda: files.read(path)) == ("the text is not UTF-8", str(path), 2, "save it as UTF-8")
    path.write_bytes("a: 1".encode("utf-16"))
    with pytest.raises(PatchError, match="UTF-16"):
        files.read(path)


def test_a_file_that_may_not_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("lr: 1\n")
    files.check_writable(path)
    path.chmod(0o444)
    what, hint = "the file is read-only", "make it writable, or use the overrides"
    assert told(lambda: files.check_writable(path)) == (what, str(path), None, hint)
    path.chmod(0o644)
    monkeypatch.setattr("os.access", lambda place, _: place != tmp_path)
    what, hint = "the folder is read-only", "copy the config elsewhere, or use the overrides"
    assert told(lambda: files.check_writable(path)) == (what, str(path), None, hint)
    monkeypatch.setattr("os.access", lambda place, _: place == tmp_path)
    assert told(lambda: files.check_writable(path))[0] == "the file is read-only"


def test_a_link_that_leads_out_of_its_folder_or_to_itself_is_named(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "real.yaml").write_text("lr: 1\n")
    far, loop = tmp_path / "in" / "far.yaml", tmp_path / "loop.yaml"
    far.symlink_to("../real.yaml")
    loop.symlink_to("loop.yaml")
    files.check_link(tmp_path / "real.yaml")
    assert told(lambda: files.check_link(far)) == (
        f"is a link to {tmp_path / 'real.yaml'}, outside its folder",
        str(far),
        None,
        "name the file itself to change it",
    )
    assert told(lambda: files.check_link(loop))[:2] == ("is a link that leads to itself", str(loop))
