// Client and services for rawko, the statechart runtime for AI agents.

export { Client, Run } from "./client.js";
export { ApiError, ConnectionLost, RegistrationError, RunFailed, ServiceError } from "./errors.js";
export { Services } from "./services.js";
