//! A whole frontier in one thread on a disk that fails: thousands of histories, each made of its seed alone.
//!
//! | where | what happens |
//! |---|---|
//! | `history` | random verbs, merges with verbs between their steps, rebuilds; reads and writes that fail, syncs that fail or come too late, power cuts at any operation, also while the directory is opened |
//! | `model` | what the history should have come to, cut where the journal ends after a crash |
//! | `kills` | a process that kills itself at each step of `steps`, on real files |
//! | `poison` | what a failed or late sync leads to |
//!
//! After each opening: no URL seen but not queued, none queued twice, none lost of what was durable, none that never was;
//! none leased before its event was durable; no filter that says absent of what is known; no host asked before its time;
//! books that balance. `SIMULATION_SEED` and `SIMULATION_HISTORIES` give others than those of every test run.

mod history;
mod kills;
mod model;
mod poison;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|number| number.parse().ok()).unwrap_or(default)
}

/// Lives histories of consecutive seeds; the seed of one that fails is told.
fn histories(first: u64, count: u64) {
    let (mut runs, mut merges, mut poisoned) = (0, 0, 0);
    for seed in first..first + count {
        let lived = catch_unwind(AssertUnwindSafe(|| history::live(seed)));
        let history = lived.unwrap_or_else(|panic| {
            eprintln!("SIMULATION_SEED={seed} SIMULATION_HISTORIES=1");
            resume_unwind(panic)
        });
        let history = history.borrow();
        (runs, merges, poisoned) = (runs + history.runs, merges + history.merges, poisoned + history.poisoned);
    }
    eprintln!("{count} histories from seed {first}: {runs} runs, {merges} merges, {poisoned} poisoned");
    assert!(count < 100 || (runs > 2 * count && merges > count && poisoned > count / 20), "too little has happened");
}

/// Of one test; there are four, so that they run at the same time.
fn share(quarter: u64) {
    let (first, count) = (number("SIMULATION_SEED", 1), number("SIMULATION_HISTORIES", 2000));
    histories(first + quarter * count.div_ceil(4), count.div_ceil(4));
}

#[test]
fn histories_on_a_disk_that_fails() {
    share(0);
}

#[test]
fn more_histories_on_a_disk_that_fails() {
    share(1);
}

#[test]
fn still_more_histories_on_a_disk_that_fails() {
    share(2);
}

#[test]
fn the_last_histories_on_a_disk_that_fails() {
    share(3);
}

#[test]
fn a_history_is_made_of_its_seed_alone() {
    for seed in 1..20 {
        let [one, other] = [(), ()].map(|()| {
            let history = history::live(seed);
            let history = history.borrow();
            (history.disk.operations(), history.runs, history.merges, history.poisoned)
        });
        assert_eq!(one, other, "seed {seed}");
    }
}
