//! Agent files: what a project and its user say about each agent, with a place for every complaint.
