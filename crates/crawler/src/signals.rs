//! SIGTERM and SIGINT: the first one asks for an orderly stop, the second one ends the process at once.
//!
//! Not the stop itself: that is the daemon's, which gets the first signal as a future. Invariant: the second signal works
//! whatever the daemon's threads are doing, because it is waited for on a thread of its own; it loses nothing that was
//! committed, because nothing that is not committed was ever reported as done.

use std::future::Future;
use std::io;
use std::sync::mpsc;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;
use tracing::{info, warn};

use crate::exit::Exit;

/// A future that ends with the first signal. From its making on, signals no longer end the process by themselves.
///
/// # Errors
/// When the system does not let us listen for signals.
pub fn shutdown() -> io::Result<impl Future<Output = ()> + Send + 'static> {
    let (first, shutdown) = oneshot::channel();
    let (ready, listening) = mpsc::channel();
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
        match runtime {
            Ok(runtime) => runtime.block_on(listen(first, ready)),
            Err(error) => drop(ready.send(Err(error))),
        }
    })?;
    listening.recv().map_err(io::Error::other)??;
    Ok(async move {
        if shutdown.await.is_err() {
            std::future::pending::<()>().await;
        }
    })
}

async fn listen(first: oneshot::Sender<()>, ready: mpsc::Sender<io::Result<()>>) {
    let signals = signal(SignalKind::terminate()).and_then(|term| Ok((term, signal(SignalKind::interrupt())?)));
    let (mut term, mut int) = match signals {
        Ok(signals) => signals,
        Err(error) => return drop(ready.send(Err(error))),
    };
    let _ = ready.send(Ok(()));
    let name = either(&mut term, &mut int).await;
    info!(signal = name, "stopping: open requests may end; a second signal ends the process at once");
    let _ = first.send(());
    let name = either(&mut term, &mut int).await;
    warn!(signal = name, "ended by a second signal; what was committed is kept");
    std::process::exit(i32::from(Exit::Abandoned.code()));
}

async fn either(term: &mut Signal, int: &mut Signal) -> &'static str {
    tokio::select! {
        _ = term.recv() => "SIGTERM",
        _ = int.recv() => "SIGINT",
    }
}
