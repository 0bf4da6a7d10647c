//! From the config to the options of the frontier, of the network and of the fields.
//!
//! Not a check: a config that was loaded is valid. Invariant: every config key that those parts obey is named here once.

use std::path::Path;
use std::time::Duration;

use crate::config::{Config, Field};
use crate::fetch::Settings;
use crate::fields::{FieldConfig, Fields, FieldsError};

/// The frontier's options in this config.
pub fn options(config: &Config, dir: &Path) -> frontier::Options {
    let entries = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    frontier::Options {
        dir: dir.to_owned(),
        partitions: u16::try_from(config.frontier.partitions).unwrap_or(u16::MAX),
        hot_cache_entries: entries(config.frontier.hot_cache_entries),
        recent_bytes: config.frontier.recent_bytes,
        commit_interval: Duration::from_millis(config.journal.commit_interval_ms),
        journal_max_bytes: config.journal.max_bytes,
        false_positive_rate: config.filter.false_positive_rate,
        filter_initial_capacity: config.filter.initial_capacity,
        filter_growth_factor: config.filter.growth_factor,
        filter_max_layers: config.filter.max_layers as usize,
        filter_rebuild_cpu_share: config.filter.rebuild_cpu_share,
        store_cache_bytes: config.store.cache_bytes,
        connections_per_host: config.politeness.connections_per_host,
        delay_ms: config.politeness.delay_ms,
        max_attempts: u8::try_from(config.fetch.max_attempts).unwrap_or(u8::MAX),
        retry_delay_ms: config.politeness.retry_delay_secs.saturating_mul(1000),
        max_retry_delay_ms: config.politeness.max_retry_delay_secs.saturating_mul(1000),
    }
}

/// What else this config wants from pages.
///
/// # Errors
/// When a selector is not valid; a config that was loaded has none.
pub fn fields(config: &Config) -> Result<Fields, FieldsError> {
    let wanted = config.fields.iter().cloned();
    let wanted: Vec<_> =
        wanted.map(|Field { name, selector, attribute }| FieldConfig { name, selector, attribute }).collect();
    Fields::new(&wanted)
}

/// The network's settings in this config.
pub fn fetch_settings(config: &Config) -> Settings {
    let fetch = &config.fetch;
    Settings {
        user_agent: config.crawl.user_agent.clone(),
        timeout: Duration::from_secs(fetch.timeout_secs),
        connect_timeout: Duration::from_secs(fetch.connect_timeout_secs),
        idle_timeout: Duration::from_secs(fetch.idle_timeout_secs),
        max_body_bytes: fetch.max_body_bytes,
        allow_private_networks: fetch.allow_private_networks,
        resolve: fetch.resolve.iter().map(|(host, to)| (host.clone(), (to.ip, to.port))).collect(),
        connections_per_host: config.politeness.connections_per_host as usize,
    }
}
