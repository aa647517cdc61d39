//! Who speaks next in a channel, decided as data: events in, notices and state changes out. No waiting, no calling.
