//! The frontier cut and killed: what it acknowledged as durable is there after every crash, and nothing that never was.
//!
//! | where | what happens |
//! |---|---|
//! | `cut` | random histories; the journal is cut at any byte, as by a power cut, and all is opened again |
//! | `kill` | a process under load is killed with SIGKILL, at any instant, again and again in one directory |
//!
//! Both are judged by a plain set of URLs, by the audit, which puts every key to the filter, and by the journal's files
//! themselves (`journal`): not by what the frontier says of itself alone. Random, but the same each time: `CRASH_SEED`
//! gives other histories.

mod cut;
mod journal;
mod kill;
mod world;

use std::path::Path;

use frontier::{Frontier, Verdict};
use tempfile::TempDir;

/// A directory in memory where there is one: a killed process loses nothing of what it wrote, and syncs to a busy disk
/// would take most of the time.
fn directory() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.expect("a directory")
}

/// The seed of all that is random, printed so that a failure can be had again.
fn seed() -> u64 {
    let seed = std::env::var("CRASH_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    eprintln!("CRASH_SEED={seed}");
    seed
}

/// SplitMix64: small, seeded, good enough to choose when to kill.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// From 0 to one less than `end`.
    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

/// Those promises of the audit that hold for any filter, however small: every key of store and memory is put to it.
fn audit(frontier: &Frontier) {
    const PROMISES: [&str; 4] =
        ["absent means absent", "maybe is never a yes", "the books balance", "the filter lives with its data"];
    let checks = frontier.audit().expect("answers");
    for promise in PROMISES {
        let check = checks.iter().find(|check| check.name == promise).expect("is asked");
        assert_eq!(check.verdict, Verdict::Pass, "{promise}: {}", check.evidence);
    }
}
