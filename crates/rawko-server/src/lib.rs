//! What listens: the socket that agents connect to. Owns every wire type.
