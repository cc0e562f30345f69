"""Charts as SVG."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np

from hrmdoc.reports.curve import HOVER, Line, Mark, described, svg


def line(values: np.ndarray, **said: str) -> Line:
    return Line(np.arange(len(values), dtype=np.int64), values.astype(np.float64), **said)


def hovers(picture: str) -> dict[int, str]:
    """The values that the picture tells under the pointer, by step."""
    groups = [one for one in ET.fromstring(picture).iter("g") if one.get("class") == "h"]
    return {int(one.get("data-step", "-1")): one.findtext("text") or "" for one in groups}


def test_hostile_names_and_labels_are_escaped() -> None:
    lines = [line(np.arange(5.0)), line(np.arange(5.0), label='"><img src=x>')]
    page = svg("<script>alert(1)</script>", lines, [Mark(2, 1, "critical")])
    assert "<script>" not in page
    assert "<img" not in page
    ET.fromstring(page)


def test_a_million_points_stay_a_small_picture() -> None:
    page = svg("loss", [line(np.random.default_rng(0).normal(size=1_000_000))])
    assert len(page) < 25_000


def test_the_extremes_survive_gathering() -> None:
    values = np.zeros(100_000)
    values[77_777] = 9.0
    band = svg("loss", [line(values)]).split('<polygon class="b run" points="')[1].split('"')[0]
    assert len({part.split(",")[1] for part in band.split()}) == 2


def test_nothing_finite_gives_no_picture() -> None:
    assert svg("loss", [line(np.full(3, np.nan))]) == ""


def test_each_of_a_few_points_tells_its_step_and_value() -> None:
    assert hovers(svg("loss", [line(np.array([2.5, 1.25, 0.625]))])) == {
        0: "step 0: 2.5", 1: "step 1: 1.25", 2: "step 2: 0.625",
    }  # fmt: skip


def test_of_many_points_the_one_that_stands_out_is_told() -> None:
    values = np.full(10_000, 1.0)
    values[3_333], values[7_777] = 8.0, np.nan
    said = hovers(svg("loss", [line(values)]))
    assert len(said) == HOVER
    assert said[3_333] == "step 3,333: 8"
    assert said[7_777] == "step 7,777: nan"


def test_another_run_laid_over_tells_its_value_at_the_same_step() -> None:
    other = Line(np.array([0, 2], np.int64), np.array([9.0, 7.0]), "healed", "healed")
    said = hovers(svg("loss", [line(np.array([1.0, 2.0, 3.0, 4.0])), other]))
    assert said[2] == "step 2: 3  healed 7"
    assert said[3] == "step 3: 4"  # the other had ended


def test_a_window_shows_its_steps_alone_and_no_mark_outside() -> None:
    picture = svg(
        "loss", [line(np.arange(100.0))], [Mark(5, 1, "warning"), Mark(50, 2, "warning")], window=(40, 60)
    )
    assert set(hovers(picture)) == set(range(40, 61))
    assert ">2</text>" in picture
    assert ">1</text>" not in picture


def test_the_axis_is_named_after_what_it_counts() -> None:
    texts = [
        one.text for one in ET.fromstring(svg("loss", [line(np.arange(9.0))], unit="epoch")).iter("text")
    ]
    assert "epoch" in texts


def test_points_on_one_step_and_steps_that_fall_back_are_drawn() -> None:
    same = Line(np.zeros(4, np.int64), np.arange(4.0))
    assert set(hovers(svg("loss", [same]))) == {0}
    back = Line(np.array([0, 1, 2, 1, 2, 3], np.int64), np.arange(6.0))
    assert sorted(hovers(svg("loss", [back]))) == [0, 1, 2, 3]


def test_who_does_not_see_the_curve_is_told_its_ends_and_extremes() -> None:
    said = described("loss", line(np.array([4.0, 1.0, np.nan, 9.0])), "step")
    assert said == "loss: 4 at step 0, 9 at step 3; lowest 1 at 1, highest 9 at 3; 1 not finite"


def test_numbers_of_marks_on_one_step_stand_beside_each_other() -> None:
    picture = ET.fromstring(
        svg("loss", [line(np.arange(9.0))], [Mark(4, 1, "warning"), Mark(4, 2, "critical")])
    )
    badges = [
        float(one.find("circle").get("cx")) for one in picture.iter("g") if "k" in one.get("class").split()
    ]
    assert badges[1] - badges[0] >= 15
