"""Settings that a program prints before it trains, without saying that they are its configuration.

`learning_rate = 1e-3` on a line of its own, or `lr=1e-3, batch_size=32, dropout=0.1` on one: what bears the
name of a setting, where no step and no epoch was shown yet, is one.
"""

from __future__ import annotations

from collections.abc import Iterator

from hrmdoc.readers.log.statements import literal
from hrmdoc.record.records import Value
from hrmdoc.text import patterns

_ASSIGNED = patterns.lazy(r"(?:Overriding: {1,4})?([A-Za-z_]\w{0,40})( {0,8}[:=] {0,8})(\S{1,60})\s{0,8}\Z")
_PAIR = patterns.lazy(r"(?<![\w.])([A-Za-z_]\w{0,40}) ?[:=] ?([-+\w.]{1,40}?)(?=[,;|)\s]|\.?\Z)")
_LONGEST = 400
_FEWEST = 3
"""Settings on one line that are no curve."""
_ALSO_CURVES = frozenset(
    {"lr", "learning_rate", "momentum", "temperature", "alpha", "beta", "gamma", "batch"}
)
"""Names of settings that are logged as they change as well: those count only where they are assigned."""
_NAMES = frozenset(
    """
    lr learning_rate base_lr max_lr min_lr init_lr peak_lr lr_scheduler scheduler schedule optimizer optim
    weight_decay wd momentum beta1 beta2 grad_clip clip_grad max_grad_norm gradient_clip_val label_smoothing
    batch batch_size train_batch_size eval_batch_size micro_batch_size gradient_accumulation_steps grad_accum
    epochs num_epochs n_epochs max_epochs num_train_epochs max_iters max_iter max_steps
    total_steps total_timesteps warmup warmup_iters warmup_steps warmup_epochs
    warmup_ratio lr_decay_iters decay_steps dropout dropout_rate dropout_prob hidden hidden_size hidden_dim
    n_layer n_layers num_layers n_head n_heads num_heads n_embd d_model embed_dim embedding_dim block_size
    seq_len seq_length max_len maxlen max_length max_seq_len max_seq_length context_length vocab_size
    temperature gamma tau alpha beta margin entropy_coef ent_coef kl_coef vf_coef clip_range clip_eps
    buffer_size target_update seed dtype precision lora_r lora_alpha lora_dropout patience num_classes
    """.split()  # noqa: SIM905 (a list of words reads better than quoted ones)
)


def settings_in(text: str) -> Iterator[tuple[str, Value]]:
    """The settings that a line states which stands before the first step of a run."""
    if len(text) > _LONGEST or not ("=" in text or ":" in text):
        return
    found = _ASSIGNED.match(text)
    if found is not None:
        name, sign, value = found.groups()
        if name.lower() in _NAMES and ("=" in sign or name.lower() not in _ALSO_CURVES):
            yield name, literal(value)
        return
    pairs = _PAIR.findall(text)
    named = [(name, literal(value)) for name, value in pairs if name.lower() in _NAMES]
    if len(named) >= _FEWEST and 2 * len(named) > len(pairs):
        yield from named
