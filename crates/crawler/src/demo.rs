//! `crawld demo`: a small site on loopback, served and crawled by the same process.
//!
//! Not a benchmark, and nothing that a real crawl does is left out: the frontier is a real one, in a directory that goes
//! away. Invariant: no address but 127.0.0.1 is asked for anything, and the numbers shown at the end come from both sides:
//! what the crawler counted, and what the site was asked.

mod server;
pub mod site;

use std::future::Future;
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use tokio::net::TcpListener;
use url::Url;

use crate::config::Config;
use crate::daemon::{self, DaemonError, Ending, Finished, Plan};
use crate::disk;
use crate::fetch::{HttpFetch, SetupError};
use crate::seeds::{Seed, SeedSource};
use crate::statistics::report;

use server::{Asked, Site};

/// Why the demo did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// No port, no directory, or no standard output.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The HTTP client cannot be made.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The crawl failed.
    #[error(transparent)]
    Daemon(#[from] DaemonError),
}

/// Serves the site, crawls it, prints what happened. What makes it a crawl of a moment on loopback is set over `config`.
///
/// # Errors
/// [`DemoError`].
pub async fn run(
    config: Config,
    out: &mut (impl Write + Send),
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<(), DemoError> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let site = Site::new(site::PAGES);
    let server = tokio::spawn(server::serve(listener, site.clone()));
    let home = format!("http://{address}/");
    writeln!(out, "A site of {} files is served at {home}", site::PAGES.len())?;
    writeln!(out, "and crawled from there: no delay, four connections, robots.txt obeyed.\n")?;
    out.flush()?;

    let dir = Dir::make()?;
    let config = on_loopback(config);
    let fetch = HttpFetch::new(&daemon::fetch_settings(&config))?;
    let url = Url::parse(&home).expect("an address and a port make a URL");
    let seeds = vec![Seed { url, source: SeedSource::Argument { position: 1 } }];
    let plan = Plan { config, dir: dir.0.clone(), seeds, exit_when_done: true };
    let finished = daemon::run(plan, fetch, disk::free_bytes, shutdown).await?;
    server.abort();
    print(out, &site.asked(), &finished, &dir.0)?;
    Ok(())
}

fn on_loopback(mut config: Config) -> Config {
    config.politeness.delay_ms = 0;
    config.politeness.connections_per_host = 4;
    config.fetch.allow_private_networks = true;
    config.crawl.idle_exit_secs = 0;
    config.frontier.partitions = 4;
    config.filter.initial_capacity = 10_000;
    config.store.min_free_disk_bytes = 0;
    config
}

fn print(out: &mut impl Write, asked: &[Asked], finished: &Finished, dir: &Path) -> io::Result<()> {
    writeln!(out, "What the site was asked, in order:")?;
    for Asked { target, status } in asked {
        writeln!(out, "  {status}  {target}")?;
    }
    let mut targets: Vec<_> = asked.iter().map(|asked| &asked.target).collect();
    targets.sort_unstable();
    targets.dedup();
    let (requests, different) = (asked.len(), targets.len());
    let twice = requests - different;
    writeln!(out, "{requests} requests for {different} different things; {twice} asked for a second time.")?;
    writeln!(out, "\nThe first lines of its crawl.log (time, status, bytes, URL, depth, referrer, type, ms, notes):")?;
    let log = std::fs::read_to_string(dir.join("log/crawl.log")).unwrap_or_default();
    for line in log.lines().take(5) {
        writeln!(out, "  {line}")?;
    }
    writeln!(out, "\nThe books:\n")?;
    write!(out, "{}", report(&finished.snapshot))?;
    let next = match &finished.ending {
        Ending::Done(_) => "Done.",
        Ending::Stopped => "Stopped by a signal.",
    };
    writeln!(out, "\n{next} Your own site next:  crawld run --exit-when-done https://www.example.org/")
}

/// A directory of our own under the system's one for temporary files; removed with everything in it.
struct Dir(PathBuf);

impl Dir {
    fn make() -> io::Result<Self> {
        let unique = format!("crawld-demo-{}-{}", std::process::id(), crate::clock::Clock::start().now());
        let path = std::env::temp_dir().join(unique);
        std::fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
