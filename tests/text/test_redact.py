"""Secrets in their many forms leave no text; what only looks like one stays."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hrmdoc.cli.main import main
from hrmdoc.text import redact as redact_module
from hrmdoc.text.redact import is_secret, redact, redact_log, redact_settings, redact_value

A = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7"
HEX = "0123456789abcdef" * 3
BASE = "Qk3+9aZ/" * 8
FORMS = {
    "hugging face": f"hf_{A}",
    "openai": f"sk-proj-{A}",
    "groq": f"gsk_{A}",
    "replicate": f"r8_{A}",
    "github": f"ghp_{A}",
    "github, fine": f"github_pat_11ABC_{A}",
    "gitlab": f"glpat-{A}",
    "amazon id": "AKIA" + "IOSFODNN7EXAMPLE",
    "amazon session id": "ASIA" + "IOSFODNN7EXAMPLE",
    "google": "AIza" + A + "abcdefgh",
    "google oauth": f"ya29.{A}",
    "npm": f"npm_{A}abcdefgh",
    "pypi": f"pypi-AgEIcHlwaS5vcmc{A}",
    "docker": f"dckr_pat_{A}",
    "slack": f"xoxb-123456789012-{A}",
    "stripe": f"sk_live_{A}",
    "sendgrid": f"SG.{A}.{A}",
    "telegram": f"12345678:AA{A}abcdefgh",
    "mailchimp": HEX[:32] + "-us12",
    "vault": f"hvs.{A}",
    "databricks": f"dapi{HEX[:32]}",
    "json web token": f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.{A}",
}
PLACES = {
    "bearer": f"Authorization: Bearer {A}",
    "bearer in a dict": f"{{'Authorization': 'Bearer {A}'}}",
    "bearer in json": f'{{"authorization": "Bearer {A}"}}',
    "basic": f"headers: authorization=Basic {A}==",
    "a bearer alone": f"using bearer {A}",
    "cookie": f"Set-Cookie: session={A}; Path=/",
    "password": f"password={A}",
    "password in yaml": f"db_password: {A}",
    "secret in json": f'"client_secret": "{A}"',
    "key in an environment": f"export WANDB_API_KEY={HEX[:40]}",
    "amazon secret": f"aws_secret_access_key = {A}/{A}",
    "amazon session": f"AWS_SESSION_TOKEN={A}{A}",
    "option": f"train.py --api-key {A} --epochs 3",
    "option with =": f"train.py --hub-token={A}",
    "short option": f"login --token {A}",
    "query": f"GET https://x.org/data?token={A}&page=2",
    "signed query": f"https://b.s3.amazonaws.com/k?X-Amz-Credential={A}&X-Amz-Signature={HEX}",
    "shared access": f"https://a.blob.core.windows.net/c?sv=2024&sig={A}%3D",
    "google signed": f"https://storage.googleapis.com/b/o?X-Goog-Signature={HEX}",
    "user of an address": f"git clone https://{A}@github.com/x/y",
    "password of an address": f"postgres://me:{A}@db/x",
    "account key": f"DefaultEndpointsProtocol=https;AccountName=x;AccountKey={BASE}==",
    "slack hook": f"https://hooks.slack.com/services/T0/B0/{A}",
    "discord hook": f"https://discord.com/api/webhooks/123/{A}",
    "wandb login": f"wandb login --relogin {HEX[:40]}",
    "token in json": f'{{"token": "{A}"}}',
    "password of a database": f"PGPASSWORD={A} psql",
    "password at a hump": f"dbPassword={A}",
    "key at a hump": f"hfToken={A} dbApiKey: {A[4:]}",
    "pass of a mail server": f"smtp_pass: {A}",
    "pass in capitals": f"DB_PASS={A}",
    "pass alone": f"pass={A}",
    "pass in json": f'{{"pass": "{A}"}}',
    "a short password": "password=Zq8w",
    "password of several words": f'password: "{A} {HEX[:32]}, {A[4:]}"',
    "password in json in json": f'{{\\"password\\": \\"{A} x\\"}}',
    "password of no user": f"redis://:{A}@host:6379/0",
    "password with an @": f"postgres://me:a@{A}@db/x",
    "private token": f"private_token={A}",
    "a key that is spoken of": f"wandb: api key {HEX[:40]}",
    "a short token": "token=hunter2secret",
    "curl": f"curl -s -u me:{A} --proxy-user you:{A} https://x.org",
    "sshpass": f"sshpass -p {A} ssh host",
    "mysql": f"mysqldump -u me -p{A} base",
    "docker login": f"docker login -u me -p {A} registry",
    "pass as an option": f"train.py --db-pass {A}",
    "private key": f"-----BEGIN RSA PRIVATE KEY-----\n{BASE}\n-----END RSA PRIVATE KEY-----",
    "private key, torn": f"-----BEGIN PRIVATE KEY-----\n{BASE}",
    "body of a key alone": f"...\n{BASE}\n...",
}
PARTS = (A, A[4:], HEX[:32], BASE[:16], "IOSFODNN7EXAMPLE", "Zq8w", "hunter2")
ORDINARY = [
    "tokens per second: 5432",
    "num_tokens=191 max_tokens: 4096",
    "tokenizer: meta-llama/Meta-Llama-3-8B-Instruct",
    "pad_token: <|finetune_right_pad_id|>, eos_token=<|end_of_text|>",
    "--pad-token <|endoftext|> --max-new-tokens 1024",
    "step 3 loss 0.5 key metric reached",
    "sort_key=length group_by_length=True",
    "git commit 9f2c4e1d8b7a6f5e4d3c2b1a0f9e8d7c6b5a4f3e",
    "use_auth_token=True push_to_hub_token=None",
    "https://huggingface.co/docs?library=true&page=2",
    "forward_pass: 0.12 s, backward_pass=slow, pass=3, 1st pass: 34 s",
    "PASS: test_loss",
    "bypass=yes compass: north",
    "token: word",
    "docker run --user 1000:1000 image",
    "password: no",
    "user@node01:/scratch/run$ python train.py",
    "model.layers.31.self_attn.q_proj.weight",
    "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
]


@pytest.mark.parametrize("secret", FORMS.values(), ids=FORMS)
def test_a_token_is_known_by_its_form(secret: str) -> None:
    assert redact(f"error near {secret}, giving up") == "error near [secret], giving up"


@pytest.mark.parametrize("text", PLACES.values(), ids=PLACES)
def test_a_secret_is_known_by_what_stands_before_it(text: str) -> None:
    said = redact(text)
    assert "[secret]" in said
    assert not [part for part in PARTS if part in said]


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_log_text_is_left_alone(text: str) -> None:
    assert redact(text) == text


def test_what_closes_a_bracket_around_a_secret_stays() -> None:
    said = redact("{aws_access_key_id: ABCDE, aws_secret_access_key: BCDEF}\nlogin(password=abc)")
    assert said == "{aws_access_key_id: [secret], aws_secret_access_key: [secret]}\nlogin(password=[secret])"


def test_a_word_of_a_log_that_leaves_the_machine_is_a_secret_by_the_name_before_it() -> None:
    said = redact_log("token: word\nexport DB_PASS=word\nsignature: 4/4\ntoken: the loss\nforward_pass: slow")
    assert said == (
        "token: [secret]\nexport DB_PASS=[secret]\nsignature: 4/4\ntoken: the loss\nforward_pass: slow"
    )


def test_the_value_of_an_option_in_a_list_of_words_is_a_secret_by_the_option() -> None:
    words = ["train.py", "--api-key", "word", "--lr", "0.1", "--token=word"]
    assert redact_value("command", words) == [
        "train.py",
        "--api-key",
        "[secret]",
        "--lr",
        "0.1",
        "--token=[secret]",
    ]


@pytest.mark.parametrize("text", [*FORMS.values(), *PLACES.values()])
def test_a_second_look_changes_nothing(text: str) -> None:
    assert redact(redact(text)) == redact(text)


def test_home_paths_lose_the_user() -> None:
    assert redact("/home/alice/run/train.log") == "/home/~/run/train.log"


@pytest.mark.parametrize(
    "name",
    [
        *("wandb.api_key", "db_password", "token", "hfToken", "AWS_SECRET_ACCESS_KEY", "x.client-secret"),
        *("PGPASSWORD", "dbPassword", "DB_PASS", "smtp_pass", "pass", "ssh.passphrase", "private_token"),
    ],
)
def test_a_value_is_a_secret_by_its_name(name: str) -> None:
    assert is_secret(name)
    assert redact_value(name, "plain") == "[secret]"


@pytest.mark.parametrize(
    "name",
    [
        "tokenizer",
        "max_tokens",
        "pad_token",
        "data.key",
        "optimizer.lr",
        "sort_key",
        "forward_pass",
        "bypass",
    ],
)
def test_a_setting_of_training_is_no_secret_by_its_name(name: str) -> None:
    assert redact_value(name, "plain") == "plain"


def test_names_inside_a_value_count_too() -> None:
    assert redact_value("x", {"a": [{"password": "pw"}], "use_auth_token": True, "n": 3}) == {
        "a": [{"password": "[secret]"}],
        "use_auth_token": True,
        "n": 3,
    }


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("lr: 1e-3\ntoken: word  # mine\n", "lr: 1e-3\ntoken: [secret]\n"),
        ('wandb:\n  api_key: "pw"\n', "wandb:\n  api_key: [secret]\n"),
        ("SMTP_PASSWORD = 'pw'\nseed = 3\n", "SMTP_PASSWORD = [secret]\nseed = 3\n"),
        (
            "smtp_pass: pw\npass: &a pw\nforward_pass: slow\n",
            "smtp_pass: [secret]\npass: &a [secret]\nforward_pass: slow\n",
        ),
        ("a:\n  password: |\n    pw\n    pw\n  lr: 3\n", "a:\n  password: |\n    [secret]\n  lr: 3\n"),
        ("tokenizer: gpt2\npad_token: x\nuse_auth_token: true\n", None),
    ],
)
def test_settings_files_lose_values_by_their_names(text: str, left: str | None) -> None:
    assert redact_settings(text) == (text if left is None else left)


def test_no_secret_of_a_run_is_in_its_bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = tmp_path / "run"
    run.mkdir()
    secrets = {"wandb": {"api_key": "plainword1"}, "db_password": "plainword2", "token": "plainword3"}
    (run / "config.json").write_text(json.dumps({"learning_rate": 1e-3, **secrets}))
    lines = [f"step {i} loss {2 - i / 100}" for i in range(50)]
    (run / "train.log").write_text("\n".join([*lines, *FORMS.values(), *PLACES.values()]) + "\n")
    assert main(["bundle", "run"]) == 0
    with zipfile.ZipFile("hrmdoc-bundle.zip") as archive:
        packed = "".join(archive.read(name).decode() for name in archive.namelist())
    assert not [part for part in (*PARTS, "plainword1", "plainword2", "plainword3") if part in packed]
    assert "step 49 loss" in packed


ODD = " :=-_\"'\n\tKİıſk"
ALPHABET = (
    *(*FORMS.values(), *PLACES.values(), *ODD, HEX, BASE * 2),
    *(
        "token",
        "Bearer ",
        "-----BEGIN PRIVATE KEY-----",
        "/home/ada/x",
        "passWord",
        "--api-key ",
        "Authorıtion",
    ),
)


@given(st.lists(st.sampled_from(ALPHABET), max_size=8).map("".join))
def test_a_pattern_that_is_passed_by_would_have_found_nothing(text: str) -> None:
    every = redact_module._USER.sub(rf"\1{redact_module.GONE}@", text)
    for pattern, _ in redact_module._AFTER:
        every = pattern.sub(redact_module._keep_name, every)
    every = redact_module._BODY.sub(redact_module.GONE, redact_module._FORMS.sub(redact_module.GONE, every))
    assert redact(text) == redact_module._HOME.sub(r"\1~", every)
