//! `Feed`: the records of all journals in the order of the index. A position is final: before a record is passed on, every
//! shard has promised to add none before it. So every reader sees the same order, and may continue after any position.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

use rawko_store::{InstanceKey, Record, StoreError};

use super::index::{IndexClient, PATIENCE};
use super::{RestateStore, order};
use crate::layout::index::{FeedAsk, FeedEntry, FeedPart, SHARDS, ShardMark};
use crate::layout::{RecordsAsk, StoredRow, instance_key};

/// Maximum number of buffered records. A follower that lags further behind is served from the index.
const NEWS_MAX: usize = 20_000;
/// Number of entries per request.
const ENTRIES_AT_ONCE: u64 = 1_000;
/// An instance that was last changed this long before a position has no records after it.
const LATE_MS: i64 = 3_600_000;
/// Time between two looks for a record that is being written.
const BETWEEN_TRIES: Duration = Duration::from_millis(5);
/// Timeout of a server's requests after a worker has answered.
const SERVING_PATIENCE: Duration = Duration::from_secs(10);

pub(super) struct Feed {
    /// Number of processed entries of each shard.
    known: Vec<u64>,
    /// Processed entries after the frontier.
    ahead: Vec<FeedEntry>,
    /// Records up to this position are not buffered.
    begun: u64,
    /// Every later record has a higher position.
    frontier: u64,
    news: VecDeque<Record>,
}

impl Feed {
    fn new(frontier: u64, known: Vec<u64>, ahead: Vec<FeedEntry>) -> Feed {
        Feed { known, ahead, begun: frontier, frontier, news: VecDeque::new() }
    }

    pub(super) fn frontier(&self) -> u64 {
        self.frontier
    }

    pub(super) fn after(&self, after: u64) -> impl Iterator<Item = &Record> {
        let from = self.news.partition_point(|record| record.seq <= after);
        self.news.range(from..)
    }

    /// Returns the records after a position. Error: the position after which the buffer begins.
    fn read(&self, after: u64, limit: usize) -> Result<Vec<Record>, u64> {
        if after < self.begun {
            Err(self.begun)
        } else {
            Ok(self.after(after).take(limit).cloned().collect())
        }
    }

    /// Returns true if the buffer has records after a position.
    fn has_after(&self, after: u64) -> bool {
        self.news.back().is_some_and(|last| last.seq > after)
    }

    /// Returns true if nothing was added since.
    fn is_current(&self, marks: &[ShardMark]) -> bool {
        self.ahead.is_empty() && marks.iter().zip(&self.known).all(|(mark, known)| mark.entries <= *known)
    }

    /// Returns true if too much was added to be buffered.
    fn is_far_behind(&self, marks: &[ShardMark]) -> bool {
        let new: u64 =
            marks.iter().zip(&self.known).map(|(mark, known)| mark.entries.saturating_sub(*known)).sum();
        usize::try_from(new).map_or(true, |new| new > NEWS_MAX)
    }

    fn push(&mut self, records: Vec<Record>) {
        self.news.extend(records);
        while self.news.len() > NEWS_MAX {
            self.begun = self.news.pop_front().map_or(self.begun, |record| record.seq);
        }
    }
}

/// New entries of all shards.
#[derive(Default)]
struct NewEntries {
    known: Vec<u64>,
    entries: Vec<FeedEntry>,
    rows: Vec<StoredRow>,
    /// A shard has removed some of them.
    is_cut: bool,
}

impl NewEntries {
    fn add(&mut self, part: FeedPart) {
        self.is_cut |= part.is_cut;
        self.entries.extend(part.entries);
        self.rows.extend(part.rows);
    }
}

/// Returns the records after a position; those that the buffer does not have, from the history. While that is read, the buffer
/// may lose its first records, so it is asked until it has all that follow: a reader takes a short list for a complete one.
fn complete(
    (after, limit): (u64, usize),
    buffer: impl Fn(u64, usize) -> Result<Vec<Record>, u64>,
    history: impl Fn(u64, u64, usize) -> Result<Vec<Record>, StoreError>,
) -> Result<Vec<Record>, StoreError> {
    let (mut found, mut from) = (Vec::new(), after);
    loop {
        let left = limit - found.len();
        match buffer(from, left) {
            Ok(records) => {
                found.extend(records);
                return Ok(found);
            }
            Err(begun) => {
                let most = left.min(NEWS_MAX);
                let records = history(from, begun, most)?;
                let is_full = records.len() >= most;
                found.extend(records);
                if is_full {
                    return Ok(found);
                }
                from = begun;
            }
        }
    }
}

impl RestateStore {
    /// Makes requests fail soon without a worker, and with older workers, for a server: each request holds one of its permits,
    /// and its clients come back. Commands wait for a worker instead.
    pub(crate) fn set_serving(&self) {
        self.is_serving.store(true, Ordering::Relaxed);
    }

    fn is_serving(&self) -> bool {
        self.is_serving.load(Ordering::Relaxed)
    }

    /// Returns the time to wait for another reader, or for a worker that has answered before. A shard may be busy.
    fn patience(&self) -> Duration {
        if self.is_serving() { SERVING_PATIENCE } else { PATIENCE }
    }

    fn turn_of_feed(&self) -> Result<MutexGuard<'_, ()>, StoreError> {
        let busy = || StoreError::Io("the index of instances is being read for long; try again".to_owned());
        self.soon(self.patience()).ok_or_else(busy)
    }

    /// Adds the records that are in the index.
    pub(super) fn look_for_news(&self) -> Result<(), StoreError> {
        let _turn = self.turn_of_feed()?;
        self.look_in_turn()
    }

    fn look_in_turn(&self) -> Result<(), StoreError> {
        let is_serving = self.is_serving();
        if is_serving && self.is_unanswered() {
            return Err(StoreError::Io(
                "no worker answered a moment ago; is a `rawko worker` running, and registered?".to_owned(),
            ));
        }
        let marks = if is_serving { self.index.quick().peek() } else { self.index.peek() };
        let marks = marks.inspect_err(|_| self.memory().unanswered = Some(Instant::now()))?;
        match marks {
            Some(marks) => self.catch_up_to(&self.index.within(self.patience()), &marks),
            None if is_serving => self.refuse_older_workers(),
            None => Ok(()),
        }
    }

    /// Adds the records up to the ends of the shards that a follower has heard of. Returns the last position.
    pub(crate) fn heard(&self, marks: &[ShardMark]) -> Result<u64, StoreError> {
        let _turn = self.turn_of_feed()?;
        let has_begun = self.memory().feed.is_some();
        if has_begun {
            self.catch_up_to(&self.index.within(self.patience()), marks)?;
        } else {
            self.look_in_turn()?;
        }
        Ok(self.memory().feed.as_ref().map_or(0, Feed::frontier))
    }

    /// Notes whether a follower calls [`Self::heard`]: then the feed has all that is known of.
    pub(crate) fn set_followed(&self, is_followed: bool) {
        self.memory().is_followed = is_followed;
    }

    /// Returns the records after a position; those before the buffer from the index, or from the journals.
    pub(super) fn after(&self, after: u64, limit: usize) -> Result<Vec<Record>, StoreError> {
        let is_there = {
            let memory = self.memory();
            memory.feed.as_ref().is_some_and(|feed| memory.is_followed || feed.has_after(after))
        };
        if !is_there {
            self.look_for_news()?;
        }
        let buffer = |after, limit| match &self.memory().feed {
            Some(feed) => feed.read(after, limit),
            None => Ok(Vec::new()),
        };
        complete((after, limit), buffer, |after, until, limit| self.history(after, until, limit))
    }

    /// Brings the feed and the rows up to date; in turn. Returns true if the index has all instances.
    pub(super) fn catch_up(&self, index: &IndexClient) -> Result<bool, StoreError> {
        let Some(marks) = index.peek()? else { return Ok(false) };
        self.catch_up_to(index, &marks)?;
        Ok(marks.iter().all(|mark| mark.is_built))
    }

    fn catch_up_to(&self, index: &IndexClient, marks: &[ShardMark]) -> Result<(), StoreError> {
        let frontier = self.memory().feed.as_ref().map_or(0, Feed::frontier);
        let until = marks.iter().fold(frontier, |until, mark| until.max(mark.last));
        let known = match &self.memory().feed {
            Some(feed) if feed.is_current(marks) => return Ok(()),
            Some(feed) if !feed.is_far_behind(marks) => Some(feed.known.clone()),
            Some(_) | None => None,
        };
        let is_new = known.is_none();
        let known = known.unwrap_or_else(|| marks.iter().map(|mark| mark.entries).collect());
        let new = self.entries_after(index, until, known)?;
        let (mut ready, ahead): (Vec<FeedEntry>, Vec<FeedEntry>) = {
            let memory = self.memory();
            let ahead = memory.feed.iter().filter(|_| !is_new).flat_map(|feed| feed.ahead.iter().cloned());
            ahead.chain(new.entries).partition(|entry| entry.at <= until)
        };
        if is_new || new.is_cut {
            // Earlier records are read when they are needed.
            let mut memory = self.memory();
            memory.rows = None;
            memory.feed = Some(Feed::new(until, new.known, ahead));
            return Ok(());
        }
        ready.sort_unstable_by_key(|entry| entry.at);
        let records = self.records_of(index, &ready)?;
        let mut memory = self.memory();
        memory.know(&new.rows);
        if let Some(rows) = &mut memory.rows {
            new.rows.into_iter().for_each(|row| rows.put(row));
        }
        if let Some(feed) = &mut memory.feed {
            (feed.known, feed.ahead, feed.frontier) = (new.known, ahead, until);
            feed.push(records);
        }
        Ok(())
    }

    /// Seals all shards at a position, and returns the entries that they added.
    fn entries_after(
        &self,
        index: &IndexClient,
        until: u64,
        known: Vec<u64>,
    ) -> Result<NewEntries, StoreError> {
        let mut new = NewEntries { known, ..NewEntries::default() };
        let asks = new.known.iter().map(|after| FeedAsk { after: *after, limit: ENTRIES_AT_ONCE }).collect();
        let mut ends = Vec::new();
        for (known, part) in new.known.clone().iter_mut().zip(index.seal(until, asks)?) {
            *known = part.through;
            ends.push((part.through, part.mark.entries));
            new.add(part);
        }
        while !new.is_cut && ends.iter().any(|(through, end)| through < end) {
            let behind = (0..).zip(&ends).filter(|(_, (through, end))| through < end);
            let asks =
                behind.map(|(shard, (after, _))| (shard, FeedAsk { after: *after, limit: ENTRIES_AT_ONCE }));
            for (shard, part) in index.read(asks.collect())? {
                if let Some(end) = usize::try_from(shard).ok().and_then(|at| ends.get_mut(at)) {
                    end.0 = part.through;
                }
                new.add(part);
            }
        }
        new.known = ends.into_iter().map(|(through, _)| through).collect();
        Ok(new)
    }

    /// Returns the records between two positions, from the index or, if it has removed some, from the journals.
    fn history(&self, after: u64, until: u64, limit: usize) -> Result<Vec<Record>, StoreError> {
        let index = self.index.within(self.patience());
        let Some(mut known) = index.find(after)? else { return self.journals(after, until, limit) };
        let mut found: Vec<FeedEntry> = Vec::new();
        loop {
            let ask = |after: &u64| FeedAsk { after: *after, limit: ENTRIES_AT_ONCE };
            let parts = index.read((0..SHARDS).zip(known.iter().map(ask)).collect())?;
            if parts.iter().any(|(_, part)| part.is_cut) {
                return self.journals(after, until, limit);
            }
            // Up to here, no shard has more.
            let open = parts.iter().filter(|(_, part)| part.through < part.mark.entries);
            let complete = open.filter_map(|(_, part)| part.entries.last()).map(|entry| entry.at).min();
            let complete = complete.unwrap_or(until).min(until);
            for (known, (_, part)) in known.iter_mut().zip(parts) {
                let entries = part.entries.into_iter().take_while(|entry| entry.at <= complete);
                for entry in entries {
                    *known += 1;
                    found.extend(Some(entry).filter(|entry| entry.number > 0 && entry.at > after));
                }
            }
            if found.len() >= limit || complete >= until {
                break;
            }
        }
        found.sort_unstable_by_key(|entry| entry.at);
        found.truncate(limit);
        self.records_of(&index, &found)
    }

    /// Returns the records between two positions from the journals of all instances, which is slow.
    fn journals(&self, after: u64, until: u64, limit: usize) -> Result<Vec<Record>, StoreError> {
        let late =
            |row: &StoredRow| order::place(row.updated_ms.saturating_add(LATE_MS), row.records) > after;
        let keys: Vec<InstanceKey> =
            self.with_rows(|rows| rows.iter().filter(|row| late(row)).map(|row| row.key).collect())?;
        let mut found = Vec::new();
        for key in keys {
            let records = rawko_store::Store::records(self, key, after, usize::MAX)?;
            found.extend(records.into_iter().filter(|record| record.seq <= until));
        }
        found.sort_unstable_by_key(|record| (record.seq, record.instance));
        found.truncate(limit);
        Ok(found)
    }

    /// Returns the records of entries, in their order, with their positions.
    fn records_of(&self, index: &IndexClient, entries: &[FeedEntry]) -> Result<Vec<Record>, StoreError> {
        let mut wanted: BTreeMap<&Arc<str>, RecordsAsk> = BTreeMap::new();
        for FeedEntry { id, number, .. } in entries.iter().filter(|entry| entry.number > 0) {
            let new = RecordsAsk { after: number - 1, through: *number };
            let ask = wanted.entry(id).or_insert(new);
            *ask = RecordsAsk { after: ask.after.min(number - 1), through: ask.through.max(*number) };
        }
        let mut asks: Vec<(Arc<str>, RecordsAsk)> =
            wanted.into_iter().map(|(id, ask)| (Arc::clone(id), ask)).collect();
        let mut found: HashMap<(InstanceKey, u64), Record> = HashMap::new();
        let until = Instant::now() + self.patience();
        while !asks.is_empty() {
            let asked: HashMap<Arc<str>, RecordsAsk> =
                asks.iter().map(|(id, ask)| (Arc::clone(id), *ask)).collect();
            let answers = index.records(std::mem::take(&mut asks))?;
            for (id, records) in answers {
                let Some(RecordsAsk { after, through }) = asked.get(&id).copied() else { continue };
                let Some(last) = records.last().map(|last| last.seq) else {
                    // The index may hear of a step a moment before its record is written.
                    if Instant::now() > until {
                        return Err(StoreError::Io(format!("a record of `{id}` is not there yet")));
                    }
                    std::thread::sleep(BETWEEN_TRIES);
                    asks.push((Arc::clone(&id), RecordsAsk { after, through }));
                    continue;
                };
                if last < through {
                    asks.push((Arc::clone(&id), RecordsAsk { after: last, through }));
                }
                self.mention(&id, &records);
                found.extend(records.into_iter().map(|record| ((record.instance, record.seq), record)));
            }
        }
        let entries = entries.iter().filter(|entry| entry.number > 0);
        let record = |entry: &FeedEntry| {
            let record = found.remove(&(instance_key(&entry.id), entry.number));
            record.map(|record| Record { seq: entry.at, ..record }).ok_or_else(|| {
                StoreError::Damaged(format!("record {} of `{}` is missing", entry.number, entry.id))
            })
        };
        entries.map(record).collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::cell::RefCell;

    use rawko_store::RecordKind;

    use super::*;

    fn records(numbers: std::ops::RangeInclusive<u64>) -> Vec<Record> {
        let record = |seq| Record {
            seq,
            instance: InstanceKey(1),
            step: seq,
            at_ms: 2,
            kind: RecordKind::Stepped,
            event: String::new(),
            delta: String::new(),
            effects: String::new(),
        };
        numbers.map(record).collect()
    }

    #[test]
    fn records_that_leave_the_buffer_during_a_read_are_read_from_the_history() {
        let last = NEWS_MAX as u64 + 50;
        let mut feed = Feed::new(0, Vec::new(), Vec::new());
        feed.push(records(1..=last));
        let (feed, pushed) = (RefCell::new(feed), RefCell::new(last));
        let history = |after: u64, until: u64, limit: usize| {
            // Each read of the history takes as long as seven steps.
            let from = *pushed.borrow() + 1;
            *pushed.borrow_mut() += 7;
            feed.borrow_mut().push(records(from..=from + 6));
            Ok(records(after + 1..=until).into_iter().take(limit).collect())
        };
        let buffer = |after, limit| feed.borrow().read(after, limit);
        let found = complete((10, 128), buffer, history).unwrap();
        let seen: Vec<u64> = found.iter().map(|record| record.seq).collect();
        assert_eq!(seen, (11..=138).collect::<Vec<_>>());
    }
}
