"""Errors of the client and of services."""

from __future__ import annotations

from typing import Any, Mapping


class ApiError(Exception):
    """The server rejected a request. `code` is stable; `detail` is meant for people.

    `repeated`: an earlier attempt of the same request got no response, so it may have been carried out.
    """

    def __init__(self, status: int, code: str, detail: str, problem: Mapping[str, Any] | None = None) -> None:
        super().__init__(f"{detail} ({code}, {status})")
        self.status, self.code, self.detail = status, code, detail
        self.problem: Mapping[str, Any] = problem or {}
        self.repeated = False


class ConnectionLost(Exception):
    """The server cannot be reached or closed the connection; the request may have been carried out."""


class RegistrationError(Exception):
    """The server rejected a program that provides services; connecting again cannot help."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{message} ({code})")
        self.code = code


class ServiceError(Exception):
    """A call failed, and had no effect unless `definite` is False.

    The chart receives `category`, `message` and `details`. After a definite failure, a retry of the chart is a new
    request with a new idempotency key. Any other exception of a handler counts as an unknown outcome: the next attempt
    has the same key.
    """

    def __init__(
        self,
        message: str,
        *,
        category: str = "failed",
        retryable: bool | None = None,
        definite: bool = True,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.message, self.category, self.retryable = message, category, retryable
        self.definite, self.details = definite, details
