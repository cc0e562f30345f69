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
    r"|(?:api|auth|access|refresh|session|security|bearer|id|hub|hf|huggingface|user|bot|push|csrf|xsrf|oauth|personal|deploy"
    r"|wandb|github|gitlab|gh|neptune|mlflow|tracking|vault|registry)[_-]?token|passw(?:or)?d|passwd|passphrase|pwd|secrets?|credentials?"
    r"|client[_-]?secret|connection[_-]?string|x-amz-(?:signature|credential|security-token)|x-goog-(?:signature|credential)"
)
_NAMED = patterns.lazy(
    rf"(?i)((?<![A-Za-z])(?:[\w.-]*[._-])?(?:{_WORDS})[\"']?\s*(?:[:=]|=>)\s*[\"']?)"
    r"(?![\"'\s]|\[secret\]|None\b|null\b|true\b|false\b)[^\s,;&\"']{4,}"
)
_OPTION = patterns.lazy(
    rf"(?i)((?<!\S)--?(?:(?:[\w-]+-)?(?:{_WORDS})|token)[= ]\s*[\"']?)(?!-)[^\s\"']{{4,}}"
)
_BARE_TOKEN = patterns.lazy(
    r"(?i)((?<![\w-])[\"']?token[\"']?\s*[:=]\s*[\"']?)(?=[^\s,;\"']*\d)(?=[^\s,;\"']*[a-z])[\w.+/=~-]{16,}"
)
_QUERY = patterns.lazy(
    r"(?i)([?&;](?:access_?|auth_?|api_?|sas_?|id_?)?(?:token|key|apikey|auth|sig|signature|password|secret|code)=)[^\s&\"'<>]{4,}"
)
_HEADER = patterns.lazy(
    r"(?i)(\b(?:proxy-)?authorization[\"']?\s*[:=]\s*[\"']?)(?:(?:bearer|basic|token|digest|apikey)\s+)?[^\s,;\"'}]+"
)
_BEARER = patterns.lazy(r"(?i)(\bbearer\s+)[\w.~+/=-]{12,}")
_COOKIE = patterns.lazy(r"(?i)(\b(?:set-)?cookie[\"']?\s*:\s*[\"']?)[^\"'\n]+")
_ACCOUNT = patterns.lazy(r"(?i)\b((?:account|sharedaccess)key=)[A-Za-z0-9+/=]{16,}")
_LOGIN = patterns.lazy(r"(\bwandb login (?:--\S+ )*)[0-9a-f]{40}\b")
_USER = patterns.lazy(r"([a-z][a-z0-9+.-]*://)(?:[^\s/:@]+:[^\s/@]+|[^\s/:@]{16,})@")
_HOME = patterns.lazy(r"(?:(?<=^)|(?<=[\s\"'=:(,\[]))(/home/|/Users/|/global/homes/\w/)[^/\s\"']+")

_BY_NAME = patterns.lazy(
    rf"(?i)(?:.*[._\-/ ])?(?:{_WORDS})|(?:.*[./ ])?(?:token|authorization|cookie|sig|signature)"
)
_SETTING = patterns.lazy(r"(?m)^([ \t]*(?:- )?[\"']?([\w.-]+)[\"']?[ \t]*[:=][ \t]*)([^\s#{\[|>&*].*)$")
_PLAIN = frozenset({"true", "false", "yes", "no", "on", "off", "null", "none", "~"})
"""A name and its value on a line of their own, as settings files have them."""
_HUMPS = patterns.lazy(r"(?<=[a-z])(?=[A-Z])")

_AFTER = (
    (_PEM, ("-----begin ",)),
    (_HOOK, ("://",)),
    (_HEADER, (":", "=")),
    (_COOKIE, (":",)),
    (_ACCOUNT, ("key=",)),
    (_LOGIN, ("wandb login ",)),
    (_NAMED, (":", "=")),
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
        return [redact_value(name, one) for one in value]
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
        return redact(_SETTING.sub(_by_name, text))
    return json.dumps(redact_value("", tree), indent=2, ensure_ascii=False)


def _by_name(line: re.Match[str]) -> str:
    value = line[3].strip("\"', ")
    return f"{line[1]}{GONE}" if is_secret(line[2]) and value.lower() not in _PLAIN else line[0]


def _keep_name(found: re.Match[str]) -> str:
    end = (found.lastindex or 1) > 1 and found[2]
    return f"{found[1]}{GONE}{end or ''}"
