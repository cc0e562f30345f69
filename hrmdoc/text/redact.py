"""Secrets leave no text and no record: by the forms of the tokens that services give out, and by the names
under which values stand.

The lists are kept here alone. A form is a prefix or a shape that nothing else has; where a secret has no form
of its own, such as a password, the name before it tells. What only looks like one, a tokenizer's `pad_token`
or a count of tokens, is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from hrmdoc.text import patterns

GONE = "[secret]"

_FORMS = patterns.lazy(
    r"""(?x)
    (?<![A-Za-z0-9]) (?:
        hf_[A-Za-z0-9]{16,}                                   # Hugging Face
      | (?:sk|pk|rk)-[A-Za-z0-9_-]{16,} | (?:gsk|r8|fw)_[A-Za-z0-9]{20,} | nvapi-[\w-]{20,}
      | gh[pousr]_[A-Za-z0-9]{20,} | github_pat_[A-Za-z0-9_]{20,}
      | gl(?:pat|dt|rt|cbt|ptt|ft|soat|agent|oas|imt)-[\w-]{16,} | glc_[A-Za-z0-9+/=_-]{20,}
      | (?:AKIA|ASIA|ABIA|ACCA|AROA|AIDA)[0-9A-Z]{12,}        # Amazon
      | AIza[\w-]{30,} | ya29\.[\w-]{20,} | GOCSPX-[\w-]{20,} # Google
      | npm_[A-Za-z0-9]{30,} | pypi-[\w-]{30,} | dckr_pat_[\w-]{20,} | dop_v1_[0-9a-f]{40,}
      | xox[a-z](?:\.[a-z]+)?-[A-Za-z0-9-]{10,} | xapp-[A-Za-z0-9-]{10,}
      | (?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{16,} | whsec_[A-Za-z0-9+/=]{16,} | sq0[a-z]{3}-[\w-]{20,}
      | SG\.[\w-]{16,}\.[\w-]{16,} | key-[0-9a-f]{32} | [0-9a-f]{32}-us\d{1,2}
      | dapi[0-9a-f]{32}(?:-\d)? | (?:xai|pplx|tskey|tvly|ntn)-[\w-]{20,} | lsv2_(?:pt|sk)_\w{20,}
      | jina_\w{30,}
      | \d{8,10}:AA[\w-]{30,}                                 # Telegram
      | lin_api_[A-Za-z0-9]{30,} | shp(?:at|ss|ca|pa)_[0-9a-fA-F]{30,} | ATATT3[\w=-]{30,} | hvs\.[\w-]{20,}
      | eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?                  # JSON web token
    )"""
)
_HOOK = patterns.lazy(
    r"(?i)(https://(?:hooks\.slack\.com/(?:services|workflows)|discord(?:app)?\.com/api/webhooks"
    r"|[\w.-]+\.webhook\.office\.com)/)[^\s\"'<>]+"
)
_PEM = patterns.lazy(
    r"(-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----)[\s\S]*?"
    r"(-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|\Z)"
)
_BODY = patterns.lazy(r"(?m)^(?=[^\n]*[a-z])(?=[^\n]*[A-Z])(?=[^\n]*\d)[A-Za-z0-9+/]{64}={0,2}$")
"""A line of a key whose first line was cut off."""
_WORDS = (
    r"(?:api|access|secret|private|account|auth|encryption|signing|shared[_-]?access|storage|service|master|deploy|ssh|license"
    r"|wandb|openai|anthropic|hf|hub|huggingface|comet|neptune|aws|azure|mlflow|clearml)[_-]?(?:secret[_-]?)?(?:access[_-]?)?key(?:[_-]?id)?"
    r"|(?:api|auth|access|refresh|session|security|bearer|id|hub|hf|huggingface|user|bot|push|csrf|xsrf|oauth|personal|private|deploy"
    r"|project|app|job|ci|service|admin|root|account|device|upload|client|slack|telegram|discord|sentry|npm|pypi|databricks|replicate"
    r"|wandb|github|gitlab|gh|neptune|mlflow|tracking|vault|registry)[_-]?token|pwd|secrets?|credentials?"
    r"|client[_-]?secret|connection[_-]?string|x-amz-(?:signature|credential|security-token)|x-goog-(?:signature|credential)"
)
_STRONG = r"pass(?:w(?:or)?d|phrase|code)s?"
"""What is a secret with anything before it, as in `PGPASSWORD`."""
_BEGINS = r"(?:(?<![A-Za-z])|(?-i:(?<=[a-z0-9])(?=[A-Z])))"
"""Where a word of a name begins: behind anything but a letter, or at a hump."""
_OF_TRAINING = "".join(
    rf"(?<!{word}[_-])"
    for word in (*("forward", "backward", "first", "second", "single", "multi", "eval", "train"),
                 *("two", "one", "per", "low", "high", "band", "by", "num", "fwd", "bwd"))
)  # fmt: skip
"""What is no password before `pass`."""
_PASS = rf"{_OF_TRAINING}pass"
_KNOWN_PASS = (
    rf"(?:(?:(?<=[_-])|(?-i:(?<=[a-z0-9])(?=P))){_PASS}(?=[\"']?\s*[:=])|(?<![\w-])pass(?=[\"']\s*:|=))"
)
_OPEN = r"\s*(?:[:=]|=>)[ \t]*(\\?[\"'])?"
_NOT = r"(?!\\?[\"']|\s|[|>][-+\d]*[ \t]*(?:\n|\Z)|\[secret\]|(?:none|null|true|false|yes|no|on|off)\b)"


def _value(least: int) -> str:
    """What stands behind a name: to the closing quote, else to the end of the word; what closes a bracket
    around it is no part of it."""
    bare = rf"[^\s,;&\"']{{{least - 1},}}[^\s,;&\"')\]}}]"
    return rf"{_NOT}(?(2)(?:(?!\2)(?:\\.|[^\\\n])){{{least},}}|{bare})"


_NAMED = patterns.lazy(rf"(?i)({_BEGINS}(?:{_WORDS})\\?[\"']?{_OPEN}){_value(4)}")
_PASSWORDS = patterns.lazy(
    rf"(?i)((?:{_STRONG}|{_KNOWN_PASS}(?!\\?[\"']?\s*[:=]\s*-?[\d.]+(?![^\s,;)\]}}])))\\?[\"']?{_OPEN}){_value(1)}"
)
_OPTION = patterns.lazy(
    rf"(?i)((?<!\S)--?(?:(?:[\w-]+-)?(?:{_WORDS}|{_STRONG}|{_PASS})|token)[= ]\s*[\"']?)"
    r"(?![-\d\s\"']|\[secret\])[^\s\"']+"
)
_LOGINS = patterns.lazy(
    r"(?i)((?:\bcurl\b[^\n|;]{0,200}?\s-u[ =]?|(?<!\S)--(?:proxy-)?user[ =])[\"']?(?!\d+:\d+\b)[^\s:\"'/]*:"
    r"|\bsshpass\s+-p\s*[\"']?|\bmysql\w*\s(?:[^\n|;]{0,200}?\s)?-p(?=\S)[\"']?|\bredis-cli\s[^\n|;]{0,200}?-a\s+[\"']?"
    r"|\blogin\s[^\n|;]{0,200}?\s-p\s+[\"']?)(?!\[secret\])[^\s\"']+"
)
"""Passwords on the lines of programs that take them as words."""
_SPOKEN = patterns.lazy(
    r"(?i)(\b(?:api|access|secret|private|auth) (?:key|token)(?: (?:is|was))?\s*[:=]?\s*[\"'`]?)"
    r"(?=[^\s\"'`]*\d)[\w+/=.-]{16,}"
)
_BARE_TOKEN = patterns.lazy(
    r"(?i)((?<![\w-])[\"']?token[\"']?\s*[:=]\s*[\"']?)(?=[^\s,;\"']*\d)(?=[^\s,;\"']*[a-z])[\w.+/=~-]{10,}"
)
_QUERY = patterns.lazy(
    r"(?i)([?&;](?:access_?|auth_?|api_?|sas_?|id_?|private_?)?(?:token|key|apikey|auth|sig|signature|password|secret|code)=)[^\s&\"'<>]{4,}"
)
_HEADER = patterns.lazy(
    r"(?i)(\b(?:proxy-)?authorization[\"']?\s*[:=]\s*[\"']?)(?:(?:bearer|basic|token|digest|apikey)\s+)?[^\s,;\"'}]+"
)
_BEARER = patterns.lazy(r"(?i)(\bbearer\s+)[\w.~+/=-]{12,}")
_COOKIE = patterns.lazy(r"(?i)(\b(?:set-)?cookie[\"']?\s*:\s*[\"']?)[^\"'\n]+")
_ACCOUNT = patterns.lazy(r"(?i)\b((?:account|sharedaccess)key=)[A-Za-z0-9+/=]{16,}")
_LOGIN = patterns.lazy(r"(\bwandb login (?:--\S+ )*)[0-9a-f]{40}\b")
_USER = patterns.lazy(r"([a-z][a-z0-9+.-]*://)(?:[^\s/:@]*:[^\s/]+|[^\s/:@]{16,})@")
_HOME = patterns.lazy(r"(?:(?<=^)|(?<=[\s\"'=:(,\[]))(/home/|/Users/|/global/homes/\w/)[^/\s\"']+")

_BY_NAME = patterns.lazy(
    rf"(?i)(?:.*[._\-/ ])?(?:{_WORDS}|{_PASS})|.*{_STRONG}"
    r"|(?:.*[./ ])?(?:token|authorization|cookie|sig|signature)"
)
_SETTING = patterns.lazy(
    r"(?m)^([ \t]*(?:- )?[\"']?([\w.-]+)[\"']?[ \t]*[:=][ \t]*(?:[&!][\w./:-]+[ \t]+)?)([^\s#{\[|>&*!].*)$"
)
"""A name and its value on a line of their own, as settings files have them."""
_BLOCK = patterns.lazy(
    r"(?m)^(([ \t]*)[\"']?([\w.-]+)[\"']?:[ \t]*[|>][-+\d]*[ \t]*\n)((?:\2[ \t]+.*(?:\n|\Z))+)"
)
"""A value of several lines."""
_ALONE = patterns.lazy(r"(?m)^([ \t]*(?:export )?([\w.-]+)[ \t]*[:=][ \t]*)(?![\d.,%/+-]+$)(\S+)$")
"""A name and one word, the whole of a line, as logs print settings."""
_PLAIN = frozenset({"true", "false", "yes", "no", "on", "off", "null", "none", "~"})
_HUMPS = patterns.lazy(r"(?<=[a-z])(?=[A-Z])")

_AFTER = (
    (_PEM, ("-----begin ",)),
    (_HOOK, ("://",)),
    (_HEADER, (":", "=")),
    (_COOKIE, (":",)),
    (_ACCOUNT, ("key=",)),
    (_LOGIN, ("wandb login ",)),
    (_LOGINS, ("curl", "user", "sshpass", "mysql", "redis-cli", "login")),
    (_SPOKEN, (" key", " token")),
    (_NAMED, (":", "=")),
    (_PASSWORDS, ("pass",)),
    (_OPTION, ("-",)),
    (_QUERY, ("=",)),
    (_BEARER, ("bearer",)),
    (_BARE_TOKEN, ("token",)),
)
"""Those that keep what stands before the secret, so that a reader sees what was there; and what each needs
one of, in small letters. Most texts hold no secret, and compiling a pattern takes longer than reading one."""
_HOMES = ("/home/", "/Users/", "/global/homes/")


def redact(text: str) -> str:
    """`text` with tokens, keys, passwords and the user part of home paths replaced."""
    if "://" in text:
        text = _USER.sub(rf"\1{GONE}@", text)
    lower = text.lower()
    for pattern, needs in _AFTER:
        if any(one in lower for one in needs):
            text = pattern.sub(_keep_name, text)
    text = _FORMS.sub(GONE, text)
    if len(text) >= 64:
        text = _BODY.sub(GONE, text)
    return _HOME.sub(r"\1~", text) if any(one in text for one in _HOMES) else text


def is_secret(name: str) -> bool:
    """Whether a value of this name is a secret whatever it looks like, such as `wandb.api_key`."""
    return _BY_NAME.fullmatch(_HUMPS.sub("_", name)) is not None


def redact_value(name: str, value: Any) -> Any:
    """The value of a setting or fact without secrets: by its name, by the names inside it, by its forms."""
    if isinstance(value, Mapping):
        return {key: redact_value(str(key), one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [
            GONE if _names_secret(before) else redact_value(name, one)
            for before, one in zip((None, *value), value, strict=False)
        ]
    if value is None or isinstance(value, bool) or value == "":
        return value
    if is_secret(name) and not (isinstance(value, int | float) and abs(value) < 1e6):
        return GONE
    return redact(value) if isinstance(value, str) else value


def redact_settings(text: str) -> str:
    """A settings file without secrets: each value by its name too, in JSON and in files of a name a line."""
    import json  # few commands show settings

    try:
        tree = json.loads(text)
    except (ValueError, RecursionError):
        return redact(_BLOCK.sub(_block_by_name, _SETTING.sub(_by_name, text)))
    return json.dumps(redact_value("", tree), indent=2, ensure_ascii=False)


def redact_log(text: str) -> str:
    """The lines of a log that leaves the machine: as `redact`, and what one word behind a name is by that
    name, which among other text may as well be a token of a vocabulary."""
    return redact(_ALONE.sub(_by_name, text))


def _names_secret(word: Any) -> bool:
    """Whether a word of a command is an option whose value, the next word, is a secret."""
    return isinstance(word, str) and word.startswith("-") and "=" not in word and is_secret(word.lstrip("-"))


def _block_by_name(found: re.Match[str]) -> str:
    return f"{found[1]}{found[2]}  {GONE}\n" if is_secret(found[3]) else found[0]


def _by_name(line: re.Match[str]) -> str:
    value = line[3].strip("\"', ")
    return f"{line[1]}{GONE}" if is_secret(line[2]) and value.lower() not in _PLAIN else line[0]


def _keep_name(found: re.Match[str]) -> str:
    end = (found.lastindex or 1) > 1 and found[2]
    return f"{found[1]}{GONE}{end or ''}"
