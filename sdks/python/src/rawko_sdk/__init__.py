"""Client and services for rawko, the statechart runtime for AI agents."""

from .client import Client, Event, Run, RunFailed
from .errors import ApiError, ConnectionLost, RegistrationError, ServiceError
from .services import Call, Services, serve, service

__all__ = [
    "ApiError",
    "Call",
    "Client",
    "ConnectionLost",
    "Event",
    "RegistrationError",
    "Run",
    "RunFailed",
    "ServiceError",
    "Services",
    "serve",
    "service",
]
