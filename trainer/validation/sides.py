"""The two models of a validation: what each costs, how each is trained, and what the report says of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..config.schema import TrainConfig
from ..data import PuzzleData
from ..data.bpe import END
from ..data.iterate import test_batches
from ..evaluation.codegen import sampling_of
from ..evaluation.generate import generate_many
from ..evaluation.score import Scored
from ..model.evaluate import evaluate
from ..model.step import Batch
from ..state.rng import seed_all
from . import gpt2, hrm
from .answers import Writer
from .budget import Budget
from .compute import cost, fingerprint
from .fit import Fit, Recipe
from .material import Material
from .request import Request
from .sample import shuffled

if TYPE_CHECKING:
    from transformers import GPT2LMHeadModel

Say = Callable[[str], None]
COUNTED_STEPS = 10**6
"""A length for a configuration of which only a few steps are taken."""
TRIED_ROWS, TRIED_TOKENS = 2, 8
"""Rows of a step, and tokens of a program, that are repeated to see whether they come out the same."""
LOSS_ROWS = 64
"""Rows of the test split, at random, that the loss is taken of."""


@dataclass(frozen=True, slots=True)
class Cost:
    """A training step: floating-point operations, and CPU seconds here."""

    flops: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Trial:
    """A model as its training begins: a step of it, its weights, and what it writes."""

    step: Callable[[], object]
    weights: Callable[[], Iterable[tuple[str, Tensor]]]
    writer: Writer


class HrmSide:
    """HRM, trained here or given."""

    def __init__(self, request: Request, material: Material) -> None:
        self.request, self.material = request, material
        self.given: Scored | None = None
        if request.hrm is not None:
            self.given = hrm.open_given(request.hrm, material.folder, request.words)

    def cost(self) -> Cost:
        """What a step costs."""
        return Cost(*cost(hrm.trial(self._config(COUNTED_STEPS))[1]))

    def trial(self) -> Trial:
        state, step = hrm.trial(replace(self._config(COUNTED_STEPS), global_batch_size=TRIED_ROWS))
        return Trial(step, state.model.state_dict().items, self._writer(state.model, TRIED_TOKENS))

    def train(self, steps: int, place: Path, budget: Budget, share: float, say: Say) -> bool:
        """Trains up to `steps`; whether it came there."""
        return self.given is not None or hrm.train(self._config(steps), place, budget, share, say)

    def finish(self, place: Path) -> tuple[Writer, dict[str, Any]]:
        """The trained model, ready to write, and what is to be said of it."""
        scored = self.given or hrm.open_trained(place, self.request.words)
        model = scored.model
        tables = [model.embed_tokens, model.core.lm_head, model.embed_pos]
        in_layers = model.num_parameters() - sum(
            parameter.numel() for table in tables if table is not None for parameter in table.parameters()
        )
        name = f"HRM {in_layers / 1e6:.3g}M"
        batches = test_batches(shuffled(scored.data, LOSS_ROWS, 0), scored.config.global_batch_size)
        first = next(iter(evaluate(model, batches, scored.device).values()))
        return self._writer(model, self.request.keys.max_tokens), {
            "label": name
            if self.given is None
            else f"{name} of {Path(str(self.request.hrm)).name}, as given",
            "parameters": model.num_parameters(),
            "parameters_in_layers": in_layers,
            "act_steps": model.arch.halt_max_steps,
            "weights_sha256": fingerprint(model.state_dict().items()),
            "test_lm_loss": first["lm_loss"],
        }

    @property
    def steps_given(self) -> int | None:
        """The steps that a given checkpoint was trained for."""
        return None if self.given is None else self.given.step

    @property
    def batch_size(self) -> int:
        return self._config(1).global_batch_size

    def _config(self, steps: int) -> TrainConfig:
        request = self.request
        words = [*request.size.hrm, *request.words]
        if self.given is not None:
            arch = asdict(self.given.config.arch)
            loss = arch.pop("loss")
            stated = [f"arch.{key}={value}" for key, value in arch.items() if value is not None]
            words += [*stated, f"arch.loss.loss_type={loss['loss_type']}"]
            words.append(f"global_batch_size={self.given.config.global_batch_size}")
        return hrm.config_of(words, self.material.folder, request.seed, steps)

    def _writer(self, model: Any, tokens: int) -> Writer:
        sampling = sampling_of(self.request.keys)

        def write(prompt: Any, samples: int, generator: torch.Generator) -> list[list[int]]:
            return generate_many(model, prompt, tokens, END, samples, sampling=sampling, generator=generator)

        return Writer(write, model.H_init.device)


class Gpt2Side:
    """GPT-2, from scratch or of given weights."""

    def __init__(self, request: Request, material: Material, batch_size: int) -> None:
        self.request, self.material, self.batch_size = request, material, batch_size
        self.trained = request.gpt2 is None or request.finetune
        if request.gpt2 is not None:
            gpt2.check_lengths(gpt2.load(request.gpt2), material.seq_len)

    def cost(self) -> Cost:
        """What a step costs."""
        return Cost(*cost(self._fit(self._new(), COUNTED_STEPS).step))

    def trial(self) -> Trial:
        model = self._new()
        fit = self._fit(model, COUNTED_STEPS, TRIED_ROWS)
        return Trial(fit.step, model.state_dict().items, self._writer(model, TRIED_TOKENS))

    def train(self, steps: int, place: Path, budget: Budget, say: Say) -> bool:
        """Trains up to `steps`; whether it came there."""
        if not self.trained:
            return True
        fit = self._fit(self._new(), steps)
        facts = {"model": "gpt2", "seed": self.request.seed, **asdict(fit.recipe)}
        if not fit.train(place, budget, facts, say):
            return False
        fit.model.save_pretrained(place / "weights")
        return True

    def finish(self, place: Path) -> tuple[Writer, dict[str, Any]]:
        """The trained model, ready to write, and what is to be said of it."""
        folder = place / "weights" if self.trained else self.request.gpt2
        assert folder is not None
        model = gpt2.load(folder).to(self._device()).eval()
        parameters = sum(parameter.numel() for parameter in model.parameters())
        tables = model.transformer.wte.weight.numel() + model.transformer.wpe.weight.numel()
        return self._writer(model, self.request.keys.max_tokens), {
            "label": self._label(parameters),
            "parameters": parameters,
            "parameters_in_layers": parameters - tables,
            "weights_sha256": fingerprint(model.state_dict().items()),
            "test_lm_loss": self._loss(model),
        }

    def _label(self, parameters: int) -> str:
        request = self.request
        if request.gpt2 is not None:
            how = (
                "fine-tuned at HRM's compute" if request.finetune else "as given, whatever its training took"
            )
            return f"GPT-2 {parameters / 1e6:.3g}M of {request.gpt2.name}, {how}"
        if request.size.name == "full":
            return "GPT-2 117M, from scratch at equal compute"
        return f"GPT-2 {parameters / 1e6:.3g}M in place of 117M, from scratch at equal compute"

    @torch.no_grad()
    def _loss(self, model: GPT2LMHeadModel) -> float:
        total = rows = 0.0
        data = shuffled(PuzzleData(self.material.folder, "test"), LOSS_ROWS, 0)
        for batch in self._batches(data, model.device):
            labelled = int((batch["labels"] >= 0).any(1).sum())
            kept = {key: value[:labelled] for key, value in batch.items()}
            total += gpt2.loss_of(model, kept).item() * labelled
            rows += labelled
        return total / rows

    def _batches(self, data: PuzzleData, device: torch.device) -> Iterator[Batch]:
        for _, batch in test_batches(data, self.batch_size):
            yield {key: value.to(device) for key, value in batch.items()}

    def _new(self) -> GPT2LMHeadModel:
        request = self.request
        seed_all(request.seed)
        if request.gpt2 is not None:
            return gpt2.load(request.gpt2).to(self._device())
        size = request.size
        return gpt2.new(size.layers, size.width, size.heads).to(self._device())

    def _fit(self, model: GPT2LMHeadModel, steps: int, rows: int | None = None) -> Fit:
        recipe = Recipe(
            lr=self.request.size.lr,
            steps=steps,
            warmup=max(1, int(steps * hrm.WARMUP_SHARE)),
            batch_size=rows or self.batch_size,
            seed=self.request.seed,
        )
        return Fit(model, self.material.folder, recipe)

    def _device(self) -> torch.device:
        if self.request.device != "auto":
            return torch.device(self.request.device)
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")

    def _writer(self, model: GPT2LMHeadModel, tokens: int) -> Writer:
        sampling, length = sampling_of(self.request.keys), self.material.seq_len

        def write(prompt: Any, samples: int, generator: torch.Generator) -> list[list[int]]:
            return gpt2.generate_many(model, prompt, tokens, samples, sampling, generator, length)

        return Writer(write, model.device)
