// Errors of the client and of services.

/**
 * The server rejected a request. `code` is stable; `detail` is meant for people. `repeated`: an earlier attempt of the
 * same request got no response, so it may have been carried out.
 */
export class ApiError extends Error {
  repeated = false;

  constructor(status, code, detail, problem = {}) {
    super(`${detail} (${code}, ${status})`);
    Object.assign(this, { name: "ApiError", status, code, detail, problem });
  }
}

/** The server cannot be reached or closed the connection; the request may have been carried out. */
export class ConnectionLost extends Error {
  name = "ConnectionLost";
}

/** The server rejected a program that provides services; connecting again cannot help. */
export class RegistrationError extends Error {
  constructor(code, message) {
    super(`${message} (${code})`);
    Object.assign(this, { name: "RegistrationError", code });
  }
}

/** A run ended without success. `instance` is its last state. */
export class RunFailed extends Error {
  constructor(instance) {
    const reason = instance.fault ?? (instance.failure ? JSON.stringify(instance.failure) : instance.outcome);
    super(`run ${instance.id} did not succeed: ${reason}`);
    Object.assign(this, { name: "RunFailed", instance });
  }
}

/** A call failed, and had no effect unless `definite` is false. Any other error of a handler has an unknown outcome. */
export class ServiceError extends Error {
  constructor(message, { category = "failed", retryable, definite = true, details } = {}) {
    super(message);
    Object.assign(this, { name: "ServiceError", category, retryable, definite, details });
  }
}
