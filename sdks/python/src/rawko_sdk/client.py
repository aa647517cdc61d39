"""`Client`: starts runs and tasks, follows them and acts on them."""

from __future__ import annotations

import asyncio
import json
import os
import random
import uuid
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, AsyncGenerator
from urllib.parse import quote, urlencode

from . import types
from ._http import SILENCE_SECONDS, Address, open_request, problem_of
from .api import Api
from .errors import ApiError, ConnectionLost

URL = "http://127.0.0.1:7411"


@dataclass(frozen=True)
class Event:
    """One event of a stream: `hello`, `step` (a journal entry), `progress` (of a running call) or `channel`."""

    type: str
    data: dict[str, Any]
    id: int | None = None

    @property
    def text(self) -> str | None:
        """The streamed text of a model, if this is a piece of it."""
        data = self.data.get("data")
        text = data.get("text") if isinstance(data, dict) and self.type == "progress" else None
        return text if isinstance(text, str) else None


class RunFailed(Exception):
    """A run ended without success. `instance` is its last state."""

    def __init__(self, instance: types.Instance) -> None:
        reason = instance.get("fault") or instance.get("failure") or instance.get("outcome")
        super().__init__(f"run {instance['id']} did not succeed: {reason}")
        self.instance = instance


class Client(Api):
    """A connection to `rawko serve`. Requests that could not be sent or answered are repeated with the same key."""

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        retry_for: float = 60.0,
        silence: float = SILENCE_SECONDS,
    ) -> None:
        """`url` and `token` default to RAWKO_URL and RAWKO_TOKEN. `retry_for`: seconds to survive a restart.

        `silence`: a stream that brings nothing for so many seconds is opened again; the server sends something every 15."""
        self._address = Address(url or os.environ.get("RAWKO_URL") or URL)
        token = token or os.environ.get("RAWKO_TOKEN")
        self._headers = {"Accept": "application/json", "Connection": "close"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        self._retry_for = retry_for
        self._silence = silence

    async def start(
        self,
        chart: str,
        input: Any = None,
        *,
        id: str | None = None,
        budget: types.Budget | None = None,
    ) -> Run:
        """Starts a run of a published chart: `order`, `order@1.2.0`, `order@^1`."""
        body: dict[str, Any] = {"chart": chart, "id": id or _new_id(chart.split("@")[0])}
        if input is not None:
            body["input"] = input
        if budget is not None:
            body["budget"] = budget
        return await self._begin("/v1/instances", body, is_generated=id is None)

    async def task(self, text: str, **options: Any) -> Run:
        """Starts a task for the project's agents. Options are those of `NewTask`: `agent`, `max_iterations`, …"""
        is_generated = options.get("id") is None
        body = {"task": text, **options, "id": options.get("id") or _new_id("task")}
        return await self._begin("/v1/tasks", body, is_generated=is_generated)

    def attach(self, id: str) -> Run:
        """Returns a run or task that exists, such as one that another program started."""
        return Run(self, id)

    async def approvals(self) -> list[types.Approval]:
        """Returns the pending requests to people, newest first."""
        page: types.Approvals = await self.request("GET", "/v1/approvals?limit=100")
        return page["approvals"]

    async def events(
        self, instance: str | None = None, *, after: int | None = None, children: bool = False
    ) -> AsyncGenerator[Event, None]:
        """Yields live events, of one instance or of all. Reconnects without losing or repeating a step."""
        query: dict[str, Any] = {}
        if instance is not None:
            query["instance"] = instance
            if children:
                query["children"] = "true"
        last = after
        patience = _Patience(self._retry_for)
        while True:
            asked = {**query, **({"after": last} if last is not None else {})}
            try:
                async with aclosing(self._stream("/v1/stream?" + urlencode(asked))) as stream:
                    async for event in stream:
                        patience.renew()
                        if event.id is not None and (event.type == "step" or last is None):
                            last = event.id
                        yield event
                raise ConnectionLost("the stream ended")
            except (ConnectionLost, ApiError) as error:
                await patience.wait(error)

    async def request(self, method: str, path: str, body: Any = None, *, key: str | None = None) -> Any:
        """Sends one request of the API and returns its JSON; see docs/reference/api.md."""
        headers = dict(self._headers)
        data = b""
        if method != "GET":
            headers["Idempotency-Key"] = key or uuid.uuid4().hex
            headers["Content-Type"] = "application/json"
            data = json.dumps({} if body is None else body).encode()
        patience = _Patience(self._retry_for)
        is_lost = False
        while True:
            try:
                response = await open_request(self._address, method, path, headers, data)
                if response.status >= 300:
                    raise await problem_of(response)
                try:
                    return json.loads(await response.body() or b"null")
                finally:
                    response.close()
            except ConnectionLost as error:
                is_lost = True
                await patience.wait(error)
            except ApiError as error:
                error.repeated = is_lost
                await patience.wait(error)

    async def _begin(self, path: str, body: dict[str, Any], *, is_generated: bool) -> Run:
        try:
            receipt: types.Receipt = await self.request("POST", path, body)
        except ApiError as error:
            # The server forgets keys when it restarts. A generated id exists only if an earlier attempt was carried out;
            # one that the caller chose probably does, if an attempt got no response.
            if error.code != "rawko::api::exists" or not (is_generated or error.repeated):
                raise
            run = Run(self, body["id"])
            if not is_generated and "chart" in body and (await run.get())["chart"] != body["chart"].split("@")[0]:
                raise
            return run
        return Run(self, receipt["instance"])

    async def _stream(self, path: str) -> AsyncGenerator[Event, None]:
        headers = {**self._headers, "Accept": "text/event-stream"}
        response = await open_request(self._address, "GET", path, headers)
        if response.status != 200:
            raise await problem_of(response)
        try:
            pending = b""
            async for chunk in response.chunks(self._silence):
                *frames, pending = (pending + chunk).split(b"\n\n")
                for frame in frames:
                    if event := _event_of(frame.decode()):
                        yield event
        finally:
            response.close()


class Run:
    """One run of a chart, or one task."""

    def __init__(self, client: Client, id: str) -> None:
        self.id, self._client = id, client
        self._path = f"/v1/instances/{quote(id, safe='')}"

    async def get(self) -> types.Instance:
        """Returns the current state: status, active states, context, output."""
        return await self._client.request("GET", self._path)

    async def send(self, event: str, data: Any = None, *, key: str | None = None) -> types.Receipt:
        """Sends an event. With the same `key` it is handled once, however often it is sent."""
        body = {"type": event} if data is None else {"type": event, "data": data}
        return await self._client.request("POST", f"{self._path}/events", body, key=key)

    async def approve(
        self, approved: bool = True, *, comment: str | None = None, data: Any = None, invoke: str | None = None
    ) -> types.Receipt:
        """Answers the pending request to a person: yes or no, a comment, the fields of a form."""
        body = {"approved": approved, "comment": comment, "data": data, "invoke": invoke}
        body = {name: value for name, value in body.items() if value is not None}
        return await self._client.request("POST", f"{self._path}/answer", body)

    async def say(self, text: str) -> Run:
        """Gives the agents of a task a message, or continues one that has ended. Returns the continued run."""
        path = f"/v1/tasks/{quote(self.id, safe='')}/continue"
        receipt = await self._client.request("POST", path, {"text": text})
        return Run(self._client, receipt["instance"])

    async def cancel(self, reason: str | None = None) -> types.Receipt:
        body = {} if reason is None else {"reason": reason}
        return await self._client.request("POST", f"{self._path}/cancel", body)

    async def pause(self) -> types.Receipt:
        return await self._client.request("POST", f"{self._path}/pause")

    async def resume(self) -> types.Receipt:
        return await self._client.request("POST", f"{self._path}/resume")

    def events(self, *, after: int | None = 0, children: bool = True) -> AsyncGenerator[Event, None]:
        """Yields the steps of the run from its beginning (`after=None`: from now), and the progress of its calls.

        The iterator ends with the run."""
        return self._events(after, children)

    async def _events(self, after: int | None, children: bool) -> AsyncGenerator[Event, None]:
        async with aclosing(self._client.events(self.id, after=after, children=children)) as events:
            async for event in events:
                if event.type == "hello" and after is None and _is_over(await self.get()):
                    return
                yield event
                if event.type == "step" and event.data["instance"] == self.id and event.data["status"] != "active":
                    return

    async def result(self) -> Any:
        """Waits for the end and returns the output. Raises `RunFailed` if the run did not succeed."""
        async with aclosing(self._client.events(self.id)) as events:
            async for event in events:
                if event.type == "hello" or (event.type == "step" and event.data["status"] != "active"):
                    instance = await self.get()
                    while instance["status"] == "ended" and instance.get("outcome") is None:
                        # The server read it while its last step was written.
                        await asyncio.sleep(0.05)
                        instance = await self.get()
                    if _is_over(instance):
                        if instance.get("outcome") == "succeeded":
                            return instance["output"]
                        raise RunFailed(instance)


def _is_over(instance: types.Instance) -> bool:
    return instance["status"] in ("ended", "stalled")


def _event_of(frame: str) -> Event | None:
    fields: dict[str, str] = {}
    for line in frame.split("\n"):
        name, _, value = line.partition(":")
        if name:
            fields[name] = value.removeprefix(" ")
    if "data" not in fields:
        return None
    number = int(fields["id"]) if fields.get("id", "").isdigit() else None
    return Event(fields.get("event", "message"), json.loads(fields["data"]), number)


def _new_id(prefix: str) -> str:
    return f"{prefix}-{uuid.uuid4().hex[:16]}"


class _Patience:
    """Waits longer after each failure, up to a total; raises failures that time does not heal."""

    def __init__(self, total: float) -> None:
        self._total, self._delay = total, 0.05
        self._until: float | None = None

    def renew(self) -> None:
        self._delay, self._until = 0.05, None

    async def wait(self, error: Exception) -> None:
        if isinstance(error, ApiError) and error.status not in (429, 502, 503, 504):
            raise error
        now = asyncio.get_running_loop().time()
        self._until = self._until or now + self._total
        if now > self._until:
            raise error
        await asyncio.sleep(self._delay * (0.5 + random.random()))
        self._delay = min(self._delay * 2, 2.0)
