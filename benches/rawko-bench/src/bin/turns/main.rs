//! `turns [CHANNELS] [ROUNDS] [THINK_MS]`: channels with five agents each, every agent posting in every round, over
//! real sockets and a real store. Prints the hand-over latency, from the end of a turn until the next agent has it, and
//! the memory of the process. Agents think for a while before they post, like real ones.

mod agent;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rawko_bench::report::{Report, resident_bytes};
use rawko_host::{Host, SystemClock};
use rawko_server::{AppOptions, HttpServer, ServeOptions, ServerTokens, ServingChannels, TurnSettings};
use rawko_store::{SqliteOptions, SqliteStore};
use rawko_turns::ChannelEvent;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

const AGENTS: usize = 5;
/// Channels per connection.
const SHARED: usize = 20;

/// Measurements shared by all agents.
pub(crate) struct Shared {
    /// End of the last turn, by channel.
    pub(crate) ended: Vec<Mutex<Option<Instant>>>,
    pub(crate) handed_over: Mutex<Vec<Duration>>,
    pub(crate) think: Duration,
    /// Remaining posts; each takes one permit.
    pub(crate) left: Semaphore,
}

fn main() -> Result<()> {
    let numbers: Vec<u64> = std::env::args().skip(1).map(|it| it.parse()).collect::<Result<_, _>>()?;
    let number = |at: usize, otherwise: u64| numbers.get(at).copied().unwrap_or(otherwise);
    let (channels, rounds, think_ms) = (number(0, 1_000), number(1, 4), number(2, 1_000));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(measure(
        usize::try_from(channels)?,
        usize::try_from(rounds)?,
        Duration::from_millis(think_ms),
    ))
}

async fn measure(channels: usize, rounds: usize, think: Duration) -> Result<()> {
    let program = std::env::current_exe()?;
    // Beside the program, because a temporary directory may be in memory.
    let place = program.parent().context("a program lies in a directory")?.join("bench-turns");
    std::fs::create_dir_all(&place)?;
    let path = place.join(format!("{}.db", std::process::id()));
    let store = Arc::new(SqliteStore::open(&path, SqliteOptions::default())?);
    let host = Host::builder().store(store).in_memory_max(channels * (AGENTS + 1)).start().await?;
    let options = ServeOptions {
        judge: None,
        settings: TurnSettings::default(),
        tokens: ServerTokens::default(),
        takers: Vec::new(),
        clock: Arc::new(SystemClock),
        log: Arc::new(|_| {}),
        own_agents: true,
    };
    let serving = Arc::new(ServingChannels::start(host.clone(), options).await?);
    let mut app =
        AppOptions { channels: Some(Arc::clone(&serving)), ..AppOptions::new(Arc::new(host.clone())) };
    // Disables the rate limit, because all agents of the benchmark share one address.
    app.settings.rate = None;
    let server = HttpServer::start(TcpListener::bind("127.0.0.1:0").await?, app)?;
    let address = server.address();
    let posts = channels * AGENTS * rounds;
    let shared = Arc::new(Shared {
        ended: (0..channels).map(|_| Mutex::default()).collect(),
        handed_over: Mutex::default(),
        think,
        left: Semaphore::new(posts),
    });
    let agents = connect(&serving, channels, &address.to_string(), &shared).await?;
    let begun = Instant::now();
    for channel in 0..channels {
        serving
            .channels()
            .apply(&channel.to_string(), ChannelEvent::Resumed { by: "bench".to_owned() })
            .await?;
        // Spread over the thinking time, so that not all agents post at once.
        tokio::time::sleep(think / u32::try_from(channels)?).await;
    }
    while posted(&serving, channels).await? < posts as u64 {
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    report(&shared, posts, begun.elapsed())?;
    agents.into_iter().for_each(|agent| agent.abort());
    server.close().await;
    serving.close().await;
    host.close().await;
    std::fs::remove_dir_all(&place)?;
    Ok(())
}

/// Creates the channels and connects all agents.
async fn connect(
    serving: &ServingChannels,
    channels: usize,
    address: &str,
    shared: &Arc<Shared>,
) -> Result<Vec<tokio::task::JoinHandle<()>>> {
    let mut agents = Vec::new();
    for group in 0..channels.div_ceil(SHARED) {
        for n in 0..AGENTS {
            agents.push(agent::spawn(format!("agent-{group}-{n}"), address, Arc::clone(shared)).await?);
        }
    }
    for channel in 0..channels {
        let name = channel.to_string();
        serving.channels().create(&name, Default::default()).await?;
        // Paused until all agents are connected.
        serving.channels().apply(&name, ChannelEvent::Paused { by: "bench".to_owned() }).await?;
        for n in 0..AGENTS {
            serving.assign(&name, &format!("agent-{}-{n}", channel / SHARED), "bench").await?;
        }
    }
    Ok(agents)
}

async fn posted(serving: &ServingChannels, channels: usize) -> Result<u64> {
    let mut all = 0;
    for channel in 0..channels {
        all += serving.channels().look(&channel.to_string()).await?.channel.posted;
    }
    Ok(all)
}

#[expect(clippy::cast_precision_loss, reason = "counts and microseconds are far below 2^53")]
fn report(shared: &Shared, posts: usize, took: Duration) -> Result<()> {
    let mut times = shared.handed_over.lock().map_err(|_| anyhow::anyhow!("an agent panicked"))?.clone();
    times.sort();
    ensure!(times.len() * 10 >= posts * 7, "only {} hand-overs of {posts} were seen", times.len());
    let report = Report::new("rawko", "turns");
    let at = |share: f64| {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index")]
        let index = ((times.len() - 1) as f64 * share) as usize;
        times[index].as_micros() as f64 / 1000.0
    };
    let n = times.len() as u64;
    report.amount("hand_over_p50", at(0.5), "ms", n)?;
    report.amount("hand_over_p99", at(0.99), "ms", n)?;
    report.amount("hand_over_max", at(1.0), "ms", n)?;
    report.amount("posts_per_second", posts as f64 / took.as_secs_f64(), "1/s", posts as u64)?;
    report.amount("resident", resident_bytes()? / 1024.0 / 1024.0, "MiB", posts as u64)
}
