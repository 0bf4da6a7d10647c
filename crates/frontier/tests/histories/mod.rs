//! How many random histories a property test runs, and from which seed.

use proptest::test_runner::{Config, RngSeed};

/// So many histories, the same each time, so that a change is judged by itself; `MODEL_SEED` gives others. The seed is
/// printed, so that a failure can be had again.
pub fn config(cases: u32) -> Config {
    let seed = std::env::var("MODEL_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    eprintln!("MODEL_SEED={seed}");
    Config { cases, failure_persistence: None, rng_seed: RngSeed::Fixed(seed), ..Config::default() }
}
