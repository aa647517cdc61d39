//! Coding agents driven over the Agent Client Protocol.
