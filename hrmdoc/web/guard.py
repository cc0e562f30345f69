"""Who is answered: a browser on this machine that came by the address with the token, and nobody else.

A page of another site can make a browser send requests here, and a name that points to 127.0.0.1 can make
them look like its own (DNS rebinding). So the host must be a name of this machine, a request must not come
from another site, and all of it needs the token, which the first request exchanges for a cookie.
"""

from __future__ import annotations

import hmac
from urllib.parse import urlencode

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HOSTS = ("127.0.0.1", "localhost")
"""Any port: a tunnel (`ssh -L`) ends on another one."""
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}
STALE = "open the address that `hrmdoc serve` printed: it ends in ?token=…\n"


class Guard:
    """Asks every request for its token before the application sees it.

    Args:
        token: what the address holds.
    """

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        answer = self._answer(Request(scope))
        await (answer or self._app)(scope, receive, send_guarded)

    def _answer(self, request: Request) -> Response | None:
        """What is answered in the application's place; None lets the request through."""
        if refusal := foreign(request):
            return PlainTextResponse(refusal, 403)
        if request.method not in ("GET", "HEAD", "POST"):
            return PlainTextResponse("there is nothing to do it to\n", 405)
        cookie = _cookie_of(request)
        if request.method in ("GET", "HEAD") and "token" in request.query_params:
            if not same(request.query_params["token"], self._token):
                return PlainTextResponse(STALE, 401)
            rest = [(name, value) for name, value in request.query_params.multi_items() if name != "token"]
            answer = RedirectResponse(request.url.path + (f"?{urlencode(rest)}" if rest else ""), 303)
            answer.set_cookie(cookie, self._token, httponly=True, samesite="strict", path="/")
            return answer
        if not same(request.cookies.get(cookie, ""), self._token):
            return PlainTextResponse(STALE, 401)
        return None


def foreign(request: Request) -> str:
    """Why a request is none of a person's at this machine; "" where it is."""
    hosts = request.headers.getlist("host")
    if len(hosts) != 1 or hosts[0].rsplit(":", 1)[0] not in HOSTS:
        return "this page answers to 127.0.0.1 and localhost alone\n"
    if request.headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
        return "another site led here; type or paste the address instead\n"
    if request.headers.get("origin", f"http://{hosts[0]}") != f"http://{hosts[0]}":
        return "another site sent this; nothing was done\n"
    return ""


def same(one: str, other: str) -> bool:
    """Whether two secrets are equal, in a time that does not tell how much of them is."""
    return hmac.compare_digest(one.encode(), other.encode())


def form_token(token: str) -> str:
    """What every form that changes something carries, derived from the token of the address."""
    return hmac.digest(token.encode(), b"form", "sha256").hex()


def _cookie_of(request: Request) -> str:
    """Cookies are shared by all ports of a machine: the name tells several servers apart."""
    server = request.scope.get("server") or ("", 0)
    return f"hrmdoc-{server[1]}"
