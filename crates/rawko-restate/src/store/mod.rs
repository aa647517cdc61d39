//! Reading what Restate holds, as a `rawko_store::Store`.
