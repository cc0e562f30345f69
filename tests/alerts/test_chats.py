"""What Teams, Discord and ntfy get through apprise, against the forms that they publish."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import jsonschema
import msgspec
import pytest

from hrmdoc.alerts.targets import send
from hrmdoc.routes import Route
from tests.alerts.conftest import NAN
from tests.alerts.test_targets import message

pytest.importorskip("apprise", reason="the extra `alerts` is not installed")

# Of an incoming webhook of Teams (learn.microsoft.com, "Create Incoming Webhooks with Workflows": one message
# with one Adaptive Card) and of adaptivecards.io/schemas/adaptive-card.json, as far as text and pictures go.
TEAMS: dict[str, Any] = {
    "type": "object",
    "required": ["type", "attachments"],
    "properties": {
        "type": {"const": "message"},
        "attachments": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["contentType", "content"],
                "properties": {
                    "contentType": {"const": "application/vnd.microsoft.card.adaptive"},
                    "contentUrl": {"type": ["string", "null"]},
                    "content": {
                        "type": "object",
                        "required": ["type", "version", "body"],
                        "properties": {
                            "type": {"const": "AdaptiveCard"},
                            "version": {"enum": ["1.0", "1.1", "1.2", "1.3", "1.4", "1.5"]},
                            "body": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/element"}},
                        },
                    },
                },
            },
        },
    },
    "$defs": {
        "element": {
            "oneOf": [
                {
                    "required": ["text"],
                    "properties": {
                        "type": {"const": "TextBlock"},
                        "text": {"type": "string"},
                        "wrap": {"type": "boolean"},
                        "weight": {"enum": ["Lighter", "Default", "Bolder"]},
                        "size": {"enum": ["Small", "Default", "Medium", "Large", "ExtraLarge"]},
                        "style": {"enum": ["default", "heading", "columnHeader"]},
                    },
                },
                {
                    "required": ["url"],
                    "properties": {
                        "type": {"const": "Image"},
                        "url": {"type": "string", "pattern": "^https://"},
                        "altText": {"type": "string"},
                    },
                },
            ]
        }
    },
}
# Of a webhook of Discord (discord.com/developers/docs/resources/webhook, "Execute Webhook").
DISCORD: dict[str, Any] = {
    "type": "object",
    "anyOf": [{"required": ["content"]}, {"required": ["embeds"]}],
    "properties": {
        "content": {"type": "string", "minLength": 1, "maxLength": 2000},
        "username": {"type": "string", "maxLength": 80},
        "avatar_url": {"type": "string", "pattern": "^https://"},
        "tts": {"type": "boolean"},
        "embeds": {
            "type": "array",
            "maxItems": 10,
            "items": {
                "properties": {
                    "title": {"type": "string", "maxLength": 256},
                    "description": {"type": "string", "maxLength": 4096},
                }
            },
        },
    },
}
# Of ntfy (docs.ntfy.sh/publish, "Publish as JSON").
NTFY: dict[str, Any] = {
    "type": "object",
    "required": ["topic", "message"],
    "properties": {
        "topic": {"type": "string", "pattern": "^[-_A-Za-z0-9]{1,64}$"},
        "title": {"type": "string"},
        "message": {"type": "string", "minLength": 1, "maxLength": 4096},
        "priority": {"type": "integer", "minimum": 1, "maximum": 5},
        "tags": {"type": "array", "items": {"type": "string"}},
        "markdown": {"type": "boolean"},
    },
}


@pytest.mark.parametrize(
    ("address", "schema"),
    [
        ("workflows://prod-1.westus.logic.azure.com:443/abcdef/signature", TEAMS),
        ("discord://123456789012345678/abcdefghijklmnopqrstuvwxyz0123456789", DISCORD),
        ("ntfy://localhost/runs", NTFY),
    ],
    ids=["teams", "discord", "ntfy"],
)
@pytest.mark.parametrize("status", ["firing", "resolved"])
def test_each_chat_gets_what_its_form_asks_for_in_which_a_log_calls_nobody(
    address: str, schema: dict[str, Any], status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[Any] = []

    def post(_: str, data: Any = None, **__: Any) -> Any:
        sent.append(json.loads(data))
        return SimpleNamespace(status_code=200, content=b"{}", text="{}", headers={}, ok=True)

    monkeypatch.setattr("requests.post", post)
    evil = replace(NAN, evidence="@everyone @here <@123> <at>all</at> [x](https://evil) " + "x" * 5000)
    loud = (
        msgspec.structs.replace(message(status), incidents=(evil,)) if status == "firing" else message(status)
    )
    assert send(loud, Route("apprise", "chat", url=address), "").why == ""
    assert sent
    for body in sent:
        jsonschema.validate(body, schema)
    text = json.dumps(sent, ensure_ascii=False).replace("\\\\", "")
    assert all(word in text for word in ("loss-nonfinite", "node-1", "https://runs/a", "hrmdoc-1"))
    assert not any(call in text for call in ("@everyone", "@here", "<@1", "<at>all"))
