//! Rate limit on requests: a token bucket per client that allows bursts and rejects floods.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crate::http::problem::{ErrorResponse, ProblemCode};
use crate::http::settings::Rate;

/// Limit on tracked clients. Full buckets need not be kept.
const CLIENTS_MAX: usize = 10_000;

/// Owner of a bucket: a token, or an address.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum BucketOwner {
    Token(Arc<str>),
    Address(Option<IpAddr>),
}

impl BucketOwner {
    pub(crate) fn new(token: Option<&Arc<str>>, address: Option<IpAddr>) -> BucketOwner {
        token.map_or(BucketOwner::Address(address), |name| BucketOwner::Token(Arc::clone(name)))
    }
}

pub(crate) struct Buckets {
    rate: Option<Rate>,
    clients: Mutex<HashMap<BucketOwner, Bucket>>,
}

struct Bucket {
    left: f64,
    at: Instant,
}

impl Buckets {
    pub(crate) fn new(rate: Option<Rate>) -> Buckets {
        Buckets { rate, clients: Mutex::default() }
    }

    /// Takes `cost` from the bucket, or returns a problem with the time to retry.
    pub(crate) fn take(&self, client: BucketOwner, cost: f64) -> Result<(), ErrorResponse> {
        self.take_at(client, cost, Instant::now()).map_err(|seconds| {
            ErrorResponse::new(ProblemCode::TooManyRequests, "too many requests; retry later")
                .retry_after(seconds)
        })
    }

    fn take_at(&self, client: BucketOwner, cost: f64, now: Instant) -> Result<(), u64> {
        let Some(Rate { per_second, burst }) = self.rate else { return Ok(()) };
        let (per_second, burst) = (f64::from(per_second), f64::from(burst));
        let filled = |bucket: &Bucket| {
            (bucket.left + now.saturating_duration_since(bucket.at).as_secs_f64() * per_second).min(burst)
        };
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if clients.len() >= CLIENTS_MAX && !clients.contains_key(&client) {
            clients.retain(|_, bucket| filled(bucket) < burst);
            if clients.len() >= CLIENTS_MAX {
                return Err(1);
            }
        }
        let bucket = clients.entry(client).or_insert(Bucket { left: burst, at: now });
        let left = filled(bucket);
        // A client with anything left may send a request: a higher cost leaves the bucket negative.
        let (after, fine) = if left >= 1.0 { (left - cost, true) } else { (left, false) };
        *bucket = Bucket { left: after.max(-burst), at: now };
        if fine { Ok(()) } else { Err(((1.0 - left) / per_second).ceil().max(1.0) as u64) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_burst_is_fine_a_flood_is_not_and_others_do_not_suffer() {
        let buckets = Buckets::new(Some(Rate { per_second: 10, burst: 20 }));
        let (one, other) = (BucketOwner::Token("one".into()), BucketOwner::Address("10.0.0.1".parse().ok()));
        let start = Instant::now();
        assert!((0..20).all(|_| buckets.take_at(one.clone(), 1.0, start).is_ok()));
        assert_eq!(buckets.take_at(one.clone(), 1.0, start), Err(1));
        assert_eq!(buckets.take_at(other.clone(), 50.0, start), Ok(()));
        assert_eq!(buckets.take_at(other, 1.0, start), Err(3), "it took more than it had");
        let later = start + Duration::from_millis(100);
        assert_eq!(buckets.take_at(one.clone(), 1.0, later), Ok(()));
        assert!(buckets.take_at(one, 1.0, later).is_err());
    }

    #[test]
    fn without_a_rate_nobody_counts() {
        let buckets = Buckets::new(None);
        let client = BucketOwner::Address(None);
        assert!((0..10_000).all(|_| buckets.take(client.clone(), 1.0).is_ok()));
    }
}
