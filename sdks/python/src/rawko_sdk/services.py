"""Services in Python: functions that charts call, registered over one WebSocket.

`Services` keeps what it runs by idempotency key, not by connection: a call that comes again, because the server or the
connection was lost, joins the work that runs or gets the result that is remembered.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import random
import signal
import threading
import typing
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, Callable, TypeVar

from ._connection import Connection, encoded
from ._http import Address
from .client import URL
from .errors import ApiError, ConnectionLost, RegistrationError, ServiceError
from .schema import into, plain, schemas_of

Handler = TypeVar("Handler", bound=Callable[..., Any])

# Results that are remembered, so that a call which is repeated is not carried out again.
_RESULTS_MAX = 10_000
# Keys that are sent with a registration.
_KEYS_MAX = 1_000


@dataclass
class Call:
    """One call. `key` is the idempotency key: it is the same for every attempt whose effect is in doubt."""

    service: str
    key: str
    instance: str
    invoke: str
    attempt: int
    _tell: Callable[[Any], None] = field(repr=False)
    cancelled: threading.Event = field(default_factory=threading.Event, repr=False)

    def progress(self, data: Any) -> None:
        """Shows progress to people who watch; nothing is stored."""
        self._tell(data)


@dataclass
class _Service:
    name: str
    handler: Callable[..., Any]
    input: Any
    output: Any
    hint: Any
    takes_call: bool


@dataclass
class _Work:
    """A running handler, and the calls that want its answer. `stopped`: calls that were cancelled."""

    call: Call
    calls: set[int]
    stopped: set[int] = field(default_factory=set)
    task: asyncio.Task[None] | None = None


class Services:
    """A set of services and the program that provides them."""

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        name: str = "python",
        concurrency: int = 8,
    ) -> None:
        """`url` and `token` default to RAWKO_URL and RAWKO_TOKEN; the token needs the role `service`."""
        self._url, self._token = url, token
        self._name, self._concurrency = name, concurrency
        self._services: dict[str, _Service] = {}
        self._work: dict[str, _Work] = {}
        self._results: OrderedDict[str, dict[str, Any]] = OrderedDict()
        # Calls of the session, by number: their key, and the answer that the server has not confirmed.
        self._keys: dict[int, str] = {}
        self._answers: dict[int, dict[str, Any]] = {}
        self._session: str | None = None
        self._connection: Connection | None = None
        self._stopping = asyncio.Event()
        self._idle = asyncio.Event()
        self._registered = asyncio.Event()
        self._running: asyncio.Task[None] | None = None

    def service(self, name: str | None = None, *, input: Any = None, output: Any = None) -> Callable[[Handler], Handler]:
        """Registers a function. Its schemas come from its annotations unless they are given."""

        def register(handler: Handler) -> Handler:
            given, result = (input, output) if input is not None else schemas_of(handler)
            if output is not None:
                result = output
            parameters = list(inspect.signature(handler).parameters)
            hint = typing.get_type_hints(handler).get(parameters[0]) if parameters else None
            service = _Service(name or handler.__name__, handler, given, result, hint, len(parameters) > 1)
            self._services[service.name] = service
            return handler

        return register

    def describe(self) -> dict[str, Any]:
        """Returns the `services` section for `.rawko/config.yaml`."""
        described: dict[str, Any] = {}
        for service in self._services.values():
            entry: dict[str, Any] = {"remote": {}}
            entry.update({key: value for key, value in (("input", service.input), ("output", service.output)) if value})
            described[service.name] = entry
        return {"services": described}

    async def start(self) -> None:
        """Takes calls in the background. Returns once the server has accepted the program; raises if it refuses."""
        self._running = asyncio.create_task(self.run())
        registered = asyncio.create_task(self._registered.wait())
        await asyncio.wait([self._running, registered], return_when=asyncio.FIRST_COMPLETED)
        registered.cancel()
        if self._running.done():
            await self._running

    async def __aenter__(self) -> Services:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def run(self) -> None:
        """Takes calls until `stop`. Connects again after every loss; raises only if the server refuses."""
        address = Address(self._url or os.environ.get("RAWKO_URL") or URL)
        token = self._token or os.environ.get("RAWKO_TOKEN")
        delay = 0.05
        while not self._stopping.is_set():
            try:
                connection = await Connection.open(address, token, self._registration())
                delay = 0.05
                if self._stopping.is_set():
                    connection.close()
                    break
                await self._converse(connection)
            except ApiError as error:
                if error.status not in (429, 502, 503, 504):
                    raise RegistrationError(error.code, error.detail) from error
            except ConnectionLost:
                pass
            finally:
                self._connection = None
            if not self._stopping.is_set():
                await asyncio.sleep(delay * (0.5 + random.random()))
                delay = min(delay * 2, 2.0)

    async def stop(self, grace: float = 30.0) -> None:
        """Takes no more calls, finishes those that run, and disconnects."""
        if self._connection is not None:
            self._connection.send({"type": "goodbye"})
            try:
                await asyncio.wait_for(self._finish(), grace)
            except asyncio.TimeoutError:
                pass
        self._stopping.set()
        if self._connection is not None:
            self._connection.close()
        if self._running is not None:
            await self._running

    async def _finish(self) -> None:
        while self._work or self._answers:
            self._idle.clear()
            await self._idle.wait()

    def _registration(self) -> dict[str, Any]:
        offers = [
            {"name": service.name, "input": service.input, "output": service.output}
            for service in self._services.values()
        ]
        keys = [*self._work, *reversed(self._results)][:_KEYS_MAX]
        return {
            "type": "register",
            "protocol": 1,
            "name": self._name,
            "session": self._session,
            "concurrency": self._concurrency,
            "services": [{k: v for k, v in offer.items() if v is not None} for offer in offers],
            "calls": list(self._keys),
            "keys": keys,
        }

    async def _converse(self, connection: Connection) -> None:
        self._connection, self._session = connection, connection.session
        self._registered.set()
        if connection.resumed:
            for answer in self._answers.values():
                connection.send(answer)
        else:
            # The server numbers calls anew; work and results stay, by key.
            self._keys.clear()
            self._answers.clear()
            for work in self._work.values():
                work.calls.clear()
                work.stopped.clear()
        try:
            while True:
                self._hear(await connection.receive())
        finally:
            connection.abort()

    def _hear(self, message: dict[str, Any]) -> None:
        kind = message["type"]
        if kind == "call":
            self._begin(message)
        elif kind == "cancel":
            self._cancel(message["call"])
        elif kind == "received":
            self._keys.pop(message["call"], None)
            self._answers.pop(message["call"], None)
            self._idle.set()

    def _begin(self, message: dict[str, Any]) -> None:
        number, key = message["call"], message["key"]
        self._keys[number] = key
        if key in self._results:
            self._answer(number, self._results[key])
            return
        work = self._work.get(key)
        if work is not None and not work.call.cancelled.is_set():
            work.calls.add(number)
            return
        loop = asyncio.get_running_loop()

        def tell(data: Any) -> None:
            loop.call_soon_threadsafe(self._progress, key, data)

        call = Call(message["service"], key, message["instance"], message["invoke"], message["attempt"], tell)
        # The same request again, whose first attempt is being stopped.
        before = work.task if work is not None else None
        work = self._work[key] = _Work(call, {number})
        work.task = loop.create_task(self._carry_out(work, message["input"], before))

    def _cancel(self, number: int) -> None:
        key = self._keys.get(number)
        work = self._work.get(key) if key is not None else None
        if number in self._answers:
            self._answer(number, self._answers[number])
        elif work is None or number not in work.calls:
            self._answer(number, {"type": "cancelled"})
        else:
            work.calls.discard(number)
            work.stopped.add(number)
            if not work.calls:
                work.call.cancelled.set()
                if work.task is not None:
                    work.task.cancel()

    async def _carry_out(self, work: _Work, given: Any, before: asyncio.Task[None] | None) -> None:
        call, answer = work.call, {"type": "cancelled"}
        thread: asyncio.Future[Any] | None = None
        try:
            if before is not None:
                await asyncio.wait([before])
            if call.key in self._results:
                self._end(work, self._results[call.key])
                return
            service = self._services[call.service]
            arguments = (into(service.hint, given), call) if service.takes_call else (into(service.hint, given),)
            if inspect.iscoroutinefunction(service.handler):
                result = await service.handler(*arguments)
            else:
                thread = asyncio.ensure_future(asyncio.to_thread(service.handler, *arguments))
                result = await asyncio.shield(thread)
            answer = _result(result)
        except asyncio.CancelledError:
            # A thread cannot be stopped; its result counts if the call comes again.
            if thread is not None:
                await asyncio.wait([thread])
                if not thread.cancelled() and thread.exception() is None:
                    answer = _result(thread.result())
        except ServiceError as error:
            answer = _failure(error)
        except Exception as error:  # noqa: BLE001 - any failure of a handler is the failure of its call
            answer = {"type": "failure", "message": f"{type(error).__name__}: {error}", "outcome": "unknown"}
        self._end(work, answer)

    def _end(self, work: _Work, answer: dict[str, Any]) -> None:
        key = work.call.key
        if answer["type"] == "result" or answer.get("outcome") == "definite":
            self._results[key] = answer
            while len(self._results) > _RESULTS_MAX:
                self._results.popitem(last=False)
        if self._work.get(key) is work:
            del self._work[key]
        for number in work.calls | work.stopped:
            self._answer(number, answer)
        self._idle.set()

    def _answer(self, number: int, answer: dict[str, Any]) -> None:
        answer = _sendable({**answer, "call": number})
        self._answers[number] = answer
        if self._connection is not None:
            self._connection.send(answer)

    def _progress(self, key: str, data: Any) -> None:
        work = self._work.get(key)
        for number in work.calls if work is not None else ():
            message = {"type": "progress", "call": number, "data": data}
            if self._connection is not None and _fault(message) is None:
                self._connection.send(message)


def _result(value: Any) -> dict[str, Any]:
    """Returns the answer of a handler that returned; a value that is not JSON is a failure after the fact."""
    return _sendable({"type": "result", "value": plain(value)})


def _sendable(answer: dict[str, Any]) -> dict[str, Any]:
    """Returns the answer, or the failure of one that the server could not read: sent as it is, it would never arrive."""
    error = _fault(answer)
    if error is None:
        return answer
    message = f"the {answer['type']} is not JSON, or is too large: {error}"
    failure = {"type": "failure", "message": message, "category": "invalid_answer", "outcome": "unknown"}
    return {**failure, "call": answer["call"]} if "call" in answer else failure


def _fault(message: dict[str, Any]) -> Exception | None:
    try:
        encoded(message)
    except (TypeError, ValueError, RecursionError) as error:
        return error
    return None


def _failure(error: ServiceError) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "type": "failure",
        "message": error.message,
        "category": error.category,
        "outcome": "definite" if error.definite else "unknown",
    }
    if error.retryable is not None:
        answer["retryable"] = error.retryable
    if error.details is not None:
        answer["details"] = dict(error.details)
    return answer


_default: Services | None = None


def _shared() -> Services:
    global _default
    if _default is None:
        _default = Services()
    return _default


def service(name: str | Callable[..., Any] | None = None, *, input: Any = None, output: Any = None) -> Any:
    """Registers a function with the program's own services: `@service` or `@service("name")`."""
    if callable(name):
        return _shared().service()(name)
    return _shared().service(name, input=input, output=output)


async def serve(
    url: str | None = None, token: str | None = None, *, name: str = "python", concurrency: int = 8
) -> None:
    """Provides the functions that are decorated with `@service`, until SIGTERM or SIGINT."""
    services = _shared()
    services._url, services._token = url, token
    services._name, services._concurrency = name, concurrency
    loop = asyncio.get_running_loop()
    stopping: list[asyncio.Task[None]] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        try:
            loop.add_signal_handler(number, lambda: stopping.append(loop.create_task(services.stop())))
        except (NotImplementedError, RuntimeError, ValueError):
            pass  # Not the main thread, or a system without signals.
    await services.run()
