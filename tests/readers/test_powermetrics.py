"""hrmdoc.readers.powermetrics: the GPU of Apple's processors."""

from pathlib import Path

from tests.readers.feeding import run_of

SAMPLE = """\
*** Sampled system activity (Sat Nov 21 10:00:{second:02d} 2026 +0100) (5007.29ms elapsed) ***

**** GPU usage ****

GPU HW active frequency: 712 MHz
GPU HW active residency:  {busy}% (389 MHz:  12% 486 MHz: .21%)
GPU idle residency:  51.65%
GPU Power: 3421 mW

"""
HEAD = "Machine model: Mac14,6\nOS version: 23G93\n"


def test_samples_are_series_with_times(tmp_path: Path) -> None:
    text = HEAD + "".join(SAMPLE.format(second=5 * at, busy=48.35 - at) for at in range(4))
    run = run_of(tmp_path, "gpu.txt", text)
    assert run.formats == ["powermetrics"]
    use = run.best("gpu.util")
    assert use is not None
    assert use.values.tolist() == [48.35, 47.35, 46.35, 45.35]
    assert use.times[-1] - use.times[0] == 15
    powers = [series.values[0] for key, series in run.series.items() if key.metric == "gpu.0.power.draw"]
    assert powers == [3.421]


def test_a_time_that_is_none_leaves_the_numbers(tmp_path: Path) -> None:
    run = run_of(tmp_path, "gpu.txt", SAMPLE.format(second=0, busy=48).replace("Sat Nov", "Zat Foo"))
    use = run.best("gpu.util")
    assert use is not None
    assert use.values.tolist() == [48]
    assert use.times[0] != use.times[0], "not known"
