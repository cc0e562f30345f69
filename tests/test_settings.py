"""The user's own settings."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from hrmdoc import rulebook, settings, trust
from hrmdoc.analysis import AnalysisSession
from hrmdoc.errors import ConfigError
from hrmdoc.rulebook import Rulebook, SymptomRule, Variant, When
from hrmdoc.settings import Acknowledgement, Settings, Threshold


def test_without_a_file_the_defaults_hold(tmp_path: Path) -> None:
    assert settings.load(tmp_path).fail_on == "warning"


def test_the_nearest_file_upwards_wins_and_its_rule_folders_are_relative_to_it(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.hrmdoc]\nfail_on = "info"\n')
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    assert settings.load(inner).fail_on == "info"
    (tmp_path / "a" / "hrmdoc.toml").write_text('fail_on = "critical"\nrules = ["own"]\n')
    trust.trust(tmp_path / "a" / "hrmdoc.toml")
    found = settings.load(inner)
    assert (found.fail_on, found.rules) == ("critical", (str(tmp_path / "a" / "own"),))


def test_settings_take_never_as_the_command_line_does(tmp_path: Path) -> None:
    (tmp_path / "hrmdoc.toml").write_text('fail_on = "never"\n')
    assert settings.load(tmp_path).fail_on == "never"


def test_a_pyproject_of_others_is_passed_by(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.other]\nx = 1\n")
    assert settings.load(tmp_path).origin == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("fail-on = 'info'", "did you mean 'fail_on'"),
        ("fail_on = 'never ever'", "one of info, warning, critical, never"),
        ("[thresholds.a]\nenter = 1\n[thresholds.b-c]\nleave = 'x'", "thresholds.b-c.leave: Expected `float"),
        ("[roles]\na = 'train.loss'\nb = 3", "roles.b: Expected `str`"),
        ("[policy]\nauto = ['x']", "one of safe, guarded"),
        ("fail_on = ", "cannot read the settings"),
        ("[[acknowledge]]\nsymptom = 'loss-spike'", "reason"),
    ],
)
def test_a_wrong_file_is_named_with_what_is_wrong(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "hrmdoc.toml").write_text(text)
    with pytest.raises(ConfigError, match=r"hrmdoc\.toml") as caught:
        settings.load(tmp_path)
    assert said in str(caught.value)


def test_a_threshold_of_an_unknown_symptom_is_refused() -> None:
    with pytest.raises(ConfigError, match="did you mean 'loss-spike'"):
        settings.adjusted(rulebook.load(), Settings(thresholds={"loss-spik": Threshold(enter=3.0)}))


def test_a_threshold_changes_its_rule_and_no_other() -> None:
    book = rulebook.load()
    name = next(
        rule.id for rule in book.symptoms.values() if rule.when.detector and rule.id != "loss-plateau"
    )
    found = settings.adjusted(book, Settings(thresholds={name: Threshold(enter=99.0, severity="info")}))
    assert (found.symptoms[name].when.enter, found.symptoms[name].severity) == (99.0, "info")
    assert found.symptoms["loss-plateau"] == book.symptoms["loss-plateau"]


def test_a_threshold_takes_the_place_of_all_alternatives_of_its_rule() -> None:
    book = rulebook.load()
    assert book.symptoms["loss-spike"].when.any is not None, "the case needs a rule of several parts"
    found = (
        settings.adjusted(book, Settings(thresholds={"loss-spike": Threshold(enter=99.0)}))
        .symptoms["loss-spike"]
        .when
    )
    assert (found.detector, found.enter, found.any) == ("spike", 99.0, None)


def test_a_threshold_leaves_the_conditions_beside_it() -> None:
    book = rulebook.load()
    rule = next(
        r for r in book.symptoms.values() if r.when.all and r.when.all[0].detector and len(r.when.all) > 1
    )
    found = (
        settings.adjusted(book, Settings(thresholds={rule.id: Threshold(enter=99.0)}))
        .symptoms[rule.id]
        .when.all
    )
    assert found is not None
    assert found[0].enter == 99.0
    assert found[1:] == (rule.when.all or ())[1:]


def test_a_variant_keeps_what_the_user_does_not_set() -> None:
    variants = (Variant(kinds=("rl",), enter=0.001, patience=20, severity="info", with_={"window": 9}),)
    book = Rulebook(
        {"a": SymptomRule("a", "A", When(detector="level", role="lr", enter=1.0), "loss", variants=variants)}
    )

    def kept(threshold: Threshold) -> tuple[object, ...]:
        (one,) = settings.adjusted(book, Settings(thresholds={"a": threshold})).symptoms["a"].variants
        return one.enter, one.patience, one.severity, one.with_

    assert kept(Threshold(severity="critical")) == (0.001, 20, None, {"window": 9})
    assert kept(Threshold(enter=2.0, patience=3)) == (None, None, "info", {"window": 9})


def test_a_threshold_for_what_no_threshold_decides_is_refused() -> None:
    with pytest.raises(ConfigError, match="loss-above-start is not judged by a threshold"):
        settings.adjusted(rulebook.load(), Settings(thresholds={"loss-above-start": Threshold(enter=3.0)}))
    found = settings.adjusted(
        rulebook.load(), Settings(thresholds={"loss-above-start": Threshold(severity="info")})
    )
    assert found.symptoms["loss-above-start"].severity == "info"


def test_an_acknowledgement_holds_until_its_day() -> None:
    known = Acknowledgement("loss-spike", "we know", until=datetime.date(2030, 1, 2))
    assert known.holds(datetime.date(2030, 1, 2))
    assert not known.holds(datetime.date(2030, 1, 3))


@pytest.mark.parametrize(("until", "severity"), [(datetime.date(2000, 1, 1), "critical"), (None, "info")])
def test_an_acknowledged_symptom_is_shown_as_information(
    tmp_path: Path, until: datetime.date | None, severity: str
) -> None:
    log = tmp_path / "a.log"
    log.write_text(
        "".join(f"step {i} | loss {2 - i / 100 if i < 40 else 'nan'} | lr 1e-4\n" for i in range(60))
    )
    session = AnalysisSession(
        str(log), settings=Settings(acknowledge=(Acknowledgement("loss-nonfinite", "known", until),))
    )
    session.read([str(log)])
    analysis = session.diagnose(closed=True)
    symptom = next(one for one in analysis.symptoms if one.id == "loss-nonfinite")
    assert (symptom.state, analysis.severity(symptom)) == ("present", severity)


def test_a_disabled_symptom_is_not_looked_for(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text("".join(f"step {i} | loss nan | lr 1e-4\n" for i in range(20)))
    session = AnalysisSession(str(log), settings=Settings(disable=("loss-nonfinite",)))
    session.read([str(log)])
    assert "loss-nonfinite" not in [symptom.id for symptom in session.diagnose(closed=True).symptoms]
