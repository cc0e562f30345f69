"""hrmdoc.readers.support.training_cells: which code trains when it runs."""

from __future__ import annotations

import pytest

from hrmdoc.readers.support.training_cells import Cell, trainings, trains


@pytest.mark.parametrize(
    "source",
    [
        "model.fit(x, y, epochs=3)",
        "history = train_model(model, loader)",
        "%time trainer.train()",
        "!pip install torch\ntrain(model, epochs=2)",
        "for x, y in loader:\n    scaler.scale(loss(x, y)).backward()\n",
        "with tape:\n    optimizer.apply_gradients(pairs)",
        "!python tools/train_net.py --epochs 3",
        "if True:\n    !ls\n    agent.learn(1000)",
        "model.train(data='coco.yaml', epochs=3)",
    ],
)
def test_code_that_trains(source: str) -> None:
    assert trains(source)


@pytest.mark.parametrize(
    "source",
    [
        "def train(model):\n    loss.backward()\n",
        "class Trainer:\n    def run(self):\n        self.model.fit(1)\n",
        "scaler.fit(x)\ntokenizer.fit(texts)",
        "model.train()\nmodel.eval()",
        "plot(history)",
        "x, y = train_test_split(data)",
        "what is this: train(",
        "",
    ],
)
def test_code_that_only_prepares_defines_or_shows(source: str) -> None:
    assert not trains(source)


def test_a_training_that_shows_nothing_came_to_its_end_and_is_no_launch() -> None:
    fitted = Cell("model.fit(x, y)", 1, 3, None)
    shown = Cell("model.summary()", 4, 9, None)
    broken = Cell("model.fit(x, y)", 10, 12, 11)
    found = list(trainings("a.ipynb", [fitted, shown, broken], []))
    assert [(one.kind, one.line) for one in found] == [("end", 3), ("launch", 10)]
