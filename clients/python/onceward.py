"""Client of Onceward: one business intention, one stable key, one recorded outcome.

The standard library only. A request is sent again only as it was, under the same
key, which never makes a second effect:

    client = Client("http://127.0.0.1:8686")
    answer = client.call("tickets.create", {"source": "form", "event_id": "42", "subject": "It broke"})
    answer.operation["state"], answer.decision

Refusals and failures are OncewardError: decide by its code and its flags.
"""

from __future__ import annotations

import functools
import http.client
import json
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from typing import Any, Callable, Mapping

__all__ = ["Answer", "Client", "OncewardError", "answer_text", "guard", "is_final"]
__version__ = "0.1.0"

_FINAL = frozenset({"succeeded", "failed", "cancelled", "abandoned", "compensated"})
_PEOPLE = frozenset({"awaiting_approval", "needs_review"})
_UNREACHABLE = "It may have happened: do not change the key; ask again with the same one."


def is_final(operation: Mapping[str, Any]) -> bool:
    """Whether an operation has ended: nothing happens to it any more by itself."""
    return operation["state"] in _FINAL


@dataclass(frozen=True)
class Answer:
    """What a request for an operation got."""

    operation: dict[str, Any]
    decision: str  # fresh, replayed, joined, blocked, escalated
    advice: str | None = None


class OncewardError(Exception):
    """A refusal or a failure. Asking again with the same input and key is always safe."""

    def __init__(self, status: int, problem: Mapping[str, Any] | None):
        problem = problem or {}
        self.status = status  # 0 where nobody answered
        self.problem = problem
        self.code: str = problem.get("code", "unreachable")
        self.retryable: bool = problem.get("retryable", True)
        self.side_effect_possible: bool = problem.get("side_effect_possible", True)
        self.reconciliation_required: bool = problem.get("reconciliation_required", False)
        self.advice: str = problem.get("advice", _UNREACHABLE)
        self.operation: dict[str, Any] | None = problem.get("operation")
        self.operation_id: str | None = problem.get("operation_id") or (self.operation or {}).get("id")
        detail = problem.get("detail")
        title = problem.get("title", "the server gave no answer that can be read")
        super().__init__(f"{title}: {detail}" if detail else title)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


class Client:
    """A client of one server. It may be used from several threads."""

    def __init__(self, base_url: str, token: str | None = None, *, retries: int = 4, backoff: float = 0.2, timeout: float = 90.0):
        """retries: how often a request is sent again that nobody answered or whose refusal may pass; backoff and timeout in seconds."""
        self._base = base_url.rstrip("/")
        self._token = token
        self._retries = retries
        self._backoff = backoff
        self._timeout = timeout
        self._open = urllib.request.build_opener(_NoRedirect).open

    def call(self, tool: str, input: Mapping[str, Any], *, key: str | None = None, run: str | None = None, decision: str | None = None,
             branch: str | None = None, correlation_id: str | None = None, wait: str | None = None, on_duplicate: str | None = None) -> Answer:
        """Asks for a tool's write. The same intention again gets the first one's answer.

        An answer that is not final says so (is_final). An operation that ended without its effect raises OncewardError
        with code operation_failed. wait is a Go duration: 10s if absent, 60s at most.
        """
        given = {"key": key, "run": run, "decision": decision, "branch": branch, "correlation_id": correlation_id, "wait": wait, "on_duplicate": on_duplicate}
        return self.submit({"tool": tool, "input": input, **{name: value for name, value in given.items() if value is not None}})

    def submit(self, request: Mapping[str, Any]) -> Answer:
        """Asks for an operation in the API's own words."""
        answer = self._ask("POST", "/v1/operations", request)
        return Answer(answer["operation"], answer["decision"], answer.get("advice"))

    def get(self, operation_id: str, wait: str | None = None) -> dict[str, Any]:
        """Reads an operation. With wait (a Go duration), it waits for the end for so long."""
        query = "" if wait is None else "?wait=" + urllib.parse.quote(wait)
        return self._ask("GET", f"/v1/operations/{urllib.parse.quote(operation_id, safe='')}{query}")["operation"]

    def wait(self, operation_id: str, timeout: float = 120.0) -> dict[str, Any]:
        """Waits until an operation has ended or the time (in seconds) is over, and returns it as it is then."""
        until = time.monotonic() + timeout
        while True:
            left = max(0.0, until - time.monotonic())
            operation = self.get(operation_id, f"{int(min(30.0, left) * 1000)}ms")
            if is_final(operation) or left == 0:
                return operation
            if operation["state"] in _PEOPLE:
                time.sleep(min(1.0, left))

    def _ask(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        headers = {"Accept": "application/json"}
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        data = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            data = json.dumps(body, ensure_ascii=False, allow_nan=False).encode()  # once: every repeat sends the same bytes
        for n in range(self._retries + 1):
            request = urllib.request.Request(self._base + path, data=data, headers=headers, method=method)
            try:
                with self._open(request, timeout=self._timeout) as response:
                    return json.load(response)
            except urllib.error.HTTPError as refusal:
                error, after = _refused(refusal)
            except (OSError, http.client.HTTPException, ValueError) as cause:
                error, after = OncewardError(0, None), 0.0
                error.__cause__ = cause
            # A failed operation is an answer: the ledger has tried again as often as its contract says.
            if not error.retryable or error.code == "operation_failed" or n == self._retries:
                raise error
            time.sleep(max(after, min(10.0, self._backoff * 2**n)))
        raise AssertionError("not reached")


def _refused(refusal: urllib.error.HTTPError) -> tuple[OncewardError, float]:
    after = refusal.headers.get("Retry-After", "0")
    try:
        problem = json.load(refusal)
    except (OSError, http.client.HTTPException, ValueError):
        problem = None
    finally:
        refusal.close()
    return OncewardError(refusal.code, problem if isinstance(problem, dict) else None), float(after) if after.isdigit() else 0.0


def answer_text(answer: Answer) -> str:
    """What an answer says to a model: what happened, under which operation, and what to do now."""
    operation = answer.operation
    said: dict[str, Any] = {"status": operation["state"], "operation": operation["id"], "replayed": answer.decision == "replayed"}
    if "reference" in operation:
        said["reference"] = operation["reference"]
    if "body" in operation.get("result", {}):
        said["result"] = operation["result"]["body"]
    if not is_final(operation):
        said["settled"] = False
    if answer.advice:
        said["advice"] = answer.advice
    return json.dumps(said)


def guard(client: Client, contract: str, context: Mapping[str, Any] | Callable[[dict[str, Any]], Mapping[str, Any]] | None = None,
          **options: Any) -> Callable[[Callable[..., Any]], Callable[..., str]]:
    """Decorates a tool's function so that calling it asks for an operation: its own body does not run any more.

    The function keeps its name, signature and documentation, which is what frameworks make a tool's schema from. Its
    arguments, given by name, are the input. context is what the business knows and the model does not, such as the event
    that is handled; it is put over the model's own fields. What comes back is text for the model: an operation that is not
    settled, and one that failed, are answers too, since an exception would invite the framework to call again.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., str]:
        @functools.wraps(function)
        def guarded(**arguments: Any) -> str:
            known = context(arguments) if callable(context) else context
            try:
                return answer_text(client.call(contract, {**arguments, **(known or {})}, **options))
            except OncewardError as error:
                return json.dumps({
                    "status": (error.operation or {}).get("state", "refused"), "code": error.code, "message": str(error),
                    "operation": error.operation_id, "side_effect_possible": error.side_effect_possible, "advice": error.advice,
                })

        return guarded

    return decorate
