//! Looks each second at the disk and at the frontier's health.
//!
//! Not what follows from it: the dispatcher pauses, the daemon ends. Invariant: a frontier that has failed ends the
//! process even when every thread of the runtime is caught in it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use frontier::Frontier;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tracing::{error, info, warn};

use super::DaemonError;
use crate::disk::{Change, Guard};
use crate::exit::Exit;

/// Time between two looks.
const PERIOD: Duration = Duration::from_secs(1);

/// How long the daemon may take to end by itself once the frontier has failed.
const GRACE: Duration = Duration::from_secs(15);

/// Starts the guard of free space. The channel holds why leasing is to pause, or `None`; the first look is taken before
/// this returns, so that a crawl does not start on a full disk.
pub(super) fn disk(
    background: &mut JoinSet<()>,
    dir: PathBuf,
    floor_bytes: u64,
    probe: impl Fn(&Path) -> io::Result<u64> + Send + 'static,
) -> watch::Receiver<Option<String>> {
    let (pause, paused) = watch::channel(None);
    let mut guard = Guard::new(floor_bytes);
    look(&probe, &dir, &mut guard, &pause);
    background.spawn(async move {
        let mut ticks = tokio::time::interval(PERIOD);
        loop {
            ticks.tick().await;
            look(&probe, &dir, &mut guard, &pause);
        }
    });
    paused
}

fn look(
    probe: &impl Fn(&Path) -> io::Result<u64>,
    dir: &Path,
    guard: &mut Guard,
    pause: &watch::Sender<Option<String>>,
) {
    match probe(dir).map(|free_bytes| guard.judge(free_bytes)) {
        Ok(None) => {}
        Ok(Some(Change::Pause(why))) => {
            warn!(%why, "the crawl pauses");
            pause.send_replace(Some(why));
        }
        Ok(Some(Change::Resume(why))) => {
            info!(%why, "the crawl resumes");
            pause.send_replace(None);
        }
        Err(error) => warn!(%error, "free disk space is not known"),
    }
}

/// Starts the watch over the frontier, on a thread of its own. It ends with the frontier.
pub(super) fn health(frontier: &Arc<Frontier>, failed: mpsc::Sender<DaemonError>) {
    let frontier = Arc::downgrade(frontier);
    std::thread::Builder::new()
        .name("health".to_owned())
        .spawn(move || watch_health(&frontier, &failed))
        .expect("the system has room for one more thread");
}

fn watch_health(frontier: &Weak<Frontier>, failed: &mpsc::Sender<DaemonError>) {
    while let Some(alive) = frontier.upgrade() {
        let health = alive.health();
        drop(alive);
        if let Err(failure) = health {
            error!(error = %failure, "the frontier has failed; what was committed is kept");
            let _ = failed.try_send(failure.into());
            std::thread::sleep(GRACE);
            error!("the daemon does not end by itself");
            std::process::exit(i32::from(Exit::Storage.code()));
        }
        std::thread::sleep(PERIOD);
    }
}
