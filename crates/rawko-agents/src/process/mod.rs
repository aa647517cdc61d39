//! Agents that are a command: one JSON object a line, both ways.
