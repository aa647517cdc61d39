//! `IndexClient`: asks the shards of the index, all at a time. Needs a worker, unlike the queries of `state`.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use rawko_store::{Record, StoreError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::task::JoinSet;

use super::asking::StoreThread;
use crate::client::{HandlerTarget, Ingress, Restate, RestateError};
use crate::layout::index::{
    FeedAsk, FeedPart, INDEX, IndexBuild, NewestAsk, PlacesAsk, RecordPlaces, SHARDS, SealAsk, ShardMark,
    handler, shard_of,
};
use crate::layout::{self, INSTANCE, LiveState, RecordsAsk, StoredRow};

/// Timeout of a request that nothing replaces: a worker that was killed is back, or another has taken over.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);
/// Timeout of a request that a query can replace.
const QUICK: Duration = Duration::from_secs(3);
/// Requests to instances that are open at a time.
const OPEN_MAX: usize = 16;

pub(super) struct IndexClient {
    ingress: Ingress,
    asking: Arc<StoreThread>,
}

/// The number of a shard and its answer.
pub(super) type OfShard<T> = (u64, T);

/// An instance and records of it.
type FoundRecords = (Arc<str>, Vec<Record>);

impl IndexClient {
    /// Uses its own connections: those of a client belong to the runtime that it is used in.
    pub(super) fn new(restate: &Restate, asking: Arc<StoreThread>) -> Result<IndexClient, RestateError> {
        let ingress = Ingress::new(&restate.ingress().address())?.with_patience(PATIENCE, PATIENCE);
        Ok(IndexClient { ingress, asking })
    }

    /// Returns a client that gives up soon.
    pub(super) fn quick(&self) -> IndexClient {
        self.within(QUICK)
    }

    pub(super) fn within(&self, patience: Duration) -> IndexClient {
        let ingress = self.ingress.clone().with_patience(patience, patience);
        IndexClient { ingress, asking: Arc::clone(&self.asking) }
    }

    /// Returns the ends of all shards; `None` if no worker has registered the index yet.
    pub(super) fn peek(&self) -> Result<Option<Vec<ShardMark>>, StoreError> {
        let marks = self.ask_all(handler::PEEK, (0..SHARDS).map(|shard| (shard, ())).collect())?;
        Ok(marks.map(|marks| marks.into_iter().map(|(_, mark)| mark).collect()))
    }

    /// Returns new entries, and makes later ones come after a position.
    pub(super) fn seal(&self, until: u64, asks: Vec<FeedAsk>) -> Result<Vec<FeedPart>, StoreError> {
        let asks = (0..).zip(asks).map(|(shard, feed)| (shard, SealAsk { until, feed })).collect();
        Ok(self.all(handler::SEAL, asks)?.into_iter().map(|(_, part)| part).collect())
    }

    pub(super) fn read(&self, asks: Vec<OfShard<FeedAsk>>) -> Result<Vec<OfShard<FeedPart>>, StoreError> {
        self.all(handler::READ, asks)
    }

    /// Returns the number of entries of each shard up to a position; `None` if a shard does not have all later records.
    pub(super) fn find(&self, at: u64) -> Result<Option<Vec<u64>>, StoreError> {
        let found =
            self.all::<_, Option<u64>>(handler::FIND, (0..SHARDS).map(|shard| (shard, at)).collect())?;
        Ok(found.into_iter().map(|(_, number)| number).collect())
    }

    pub(super) fn newest(
        &self,
        asks: Vec<OfShard<NewestAsk>>,
    ) -> Result<Vec<OfShard<Vec<StoredRow>>>, StoreError> {
        self.all(handler::NEWEST, asks)
    }

    /// Returns the positions of an instance's records; `None` if it is not in the index.
    pub(super) fn places(&self, id: &str, after: u64) -> Result<Option<RecordPlaces>, StoreError> {
        let ask = PlacesAsk { id: id.to_owned(), after };
        Ok(self.all(handler::PLACES, vec![(shard_of(id), ask)])?.into_iter().find_map(|(_, places)| places))
    }

    /// Adds a row that no worker has added.
    pub(super) fn add(&self, row: StoredRow) -> Result<(), StoreError> {
        let shard = shard_of(&row.new.id);
        let ask = IndexBuild { rows: vec![row], is_last: false };
        self.all::<_, ()>(handler::BUILD, vec![(shard, ask)]).map(drop)
    }

    /// Returns records of several instances; each answer may lack the last ones if they are large.
    pub(super) fn records(&self, asks: Vec<(Arc<str>, RecordsAsk)>) -> Result<Vec<FoundRecords>, StoreError> {
        self.each(layout::handler::RECORDS, asks)
    }

    /// Returns the current state of several instances, in their order; `None` for those that do not exist.
    pub(super) fn live(&self, ids: &[Arc<str>]) -> Result<Vec<Option<LiveState>>, StoreError> {
        let asks = ids.iter().map(|id| (Arc::clone(id), ())).collect();
        let mut found: HashMap<Arc<str>, Option<LiveState>> =
            self.each(layout::handler::LOOK, asks)?.into_iter().collect();
        Ok(ids.iter().map(|id| found.remove(id).flatten()).collect())
    }

    /// Asks several instances, some at a time. The answers are in any order.
    fn each<A, R>(
        &self,
        handler: &'static str,
        asks: Vec<(Arc<str>, A)>,
    ) -> Result<Vec<(Arc<str>, R)>, StoreError>
    where
        A: Serialize + Send + Sync + 'static,
        R: DeserializeOwned + Send + 'static,
    {
        let ingress = self.ingress.clone();
        self.asking.wait::<_, RestateError>(async move {
            let (mut found, mut open) = (Vec::with_capacity(asks.len()), JoinSet::new());
            for (id, ask) in asks {
                if open.len() >= OPEN_MAX
                    && let Some(done) = open.join_next().await
                {
                    found.push(finished(done)?);
                }
                let ingress = ingress.clone();
                open.spawn(async move {
                    let target = HandlerTarget::object(INSTANCE, &id, handler);
                    Ok((id, ingress.look::<_, R>(&target, &ask).await?))
                });
            }
            while let Some(done) = open.join_next().await {
                found.push(finished(done)?);
            }
            Ok(found)
        })
    }

    fn all<A, R>(&self, handler: &'static str, asks: Vec<OfShard<A>>) -> Result<Vec<OfShard<R>>, StoreError>
    where
        A: Serialize + Send + Sync + 'static,
        R: DeserializeOwned + Send + 'static,
    {
        let missing = || StoreError::Refused("no worker has registered the index of instances".to_owned());
        self.ask_all(handler, asks)?.ok_or_else(missing)
    }

    /// Asks several shards at a time. The answers are in the order of the shards; `None` if there is no index.
    fn ask_all<A, R>(
        &self,
        handler: &'static str,
        asks: Vec<OfShard<A>>,
    ) -> Result<Option<Vec<OfShard<R>>>, StoreError>
    where
        A: Serialize + Send + Sync + 'static,
        R: DeserializeOwned + Send + 'static,
    {
        let ingress = self.ingress.clone();
        self.asking.wait::<_, RestateError>(async move {
            let mut open = JoinSet::new();
            for (shard, ask) in asks {
                let ingress = ingress.clone();
                open.spawn(async move {
                    let target = HandlerTarget::object(INDEX, &shard.to_string(), handler);
                    Ok((shard, ingress.look::<_, R>(&target, &ask).await?))
                });
            }
            let mut answers = Vec::with_capacity(open.len());
            while let Some(done) = open.join_next().await {
                match finished(done) {
                    Err(RestateError::Missing(_)) => return Ok(None),
                    answer => answers.push(answer?),
                }
            }
            answers.sort_by_key(|(shard, _)| *shard);
            Ok(Some(answers))
        })
    }
}

fn finished<T>(done: Result<Result<T, RestateError>, tokio::task::JoinError>) -> Result<T, RestateError> {
    done.unwrap_or_else(|error| {
        Err(RestateError::Refused { status: 0, message: format!("a request was not finished: {error}") })
    })
}
