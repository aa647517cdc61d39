//! The HTTP client of ingress and admin.
