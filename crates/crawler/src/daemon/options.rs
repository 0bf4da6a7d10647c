//! From the config to the options of the frontier, of the network and of the fields.
//!
//! Not a check: a config that was loaded is valid. Invariant: every config key that those parts obey is named here once.

use std::path::Path;
use std::time::Duration;

use frontier::{Budget, FilterOptions, GrowthGuard, Rules};

use crate::addresses::Addresses;
use crate::clock::Clock;
use crate::config::{Config, Field, Politeness, Recrawl, SinkKind};
use crate::fetch::Settings;
use crate::fields::{FieldConfig, Fields, FieldsError};

/// The frontier's options in this config.
pub fn options(config: &Config, dir: &Path) -> frontier::Options {
    let entries = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    let attempts = |count: u32| u8::try_from(count).unwrap_or(u8::MAX);
    let by_reason = config.fetch.max_attempts_by_reason.iter();
    frontier::Options {
        dir: dir.to_owned(),
        partitions: u16::try_from(config.frontier.partitions).unwrap_or(u16::MAX),
        rules: Rules::new(config.canonical.clone()),
        hot_cache_entries: entries(config.frontier.hot_cache_entries),
        recent_bytes: config.frontier.recent_bytes,
        commit_interval: Duration::from_millis(config.journal.commit_interval_ms),
        journal_max_bytes: config.journal.max_bytes,
        filter: filter_options(config),
        store_cache_bytes: config.store.cache_bytes,
        connections_per_host: config.politeness.connections_per_host,
        delay_ms: config.politeness.delay_ms,
        max_attempts: attempts(config.fetch.max_attempts),
        max_attempts_by_reason: by_reason.map(|(reason, most)| (*reason, attempts(*most))).collect(),
        budget: Budget {
            urls_per_host: config.budget.max_urls_per_host,
            urls_per_domain: config.budget.max_urls_per_domain,
            pages_per_host: config.budget.max_pages_per_host,
            pages_per_domain: config.budget.max_pages_per_domain,
            park: config.budget.park,
        },
        retry_delay_ms: config.politeness.retry_delay_secs.saturating_mul(1000),
        max_retry_delay_ms: config.politeness.max_retry_delay_secs.saturating_mul(1000),
        growth_guard: growth_guard(config),
        recrawl: recrawl(&config.recrawl),
    }
}

/// When a host that grows without end is slowed, and how much.
pub fn growth_guard(config: &Config) -> GrowthGuard {
    let guard = &config.growth_guard;
    GrowthGuard {
        enabled: guard.enabled,
        max_similar_pages: guard.max_similar_pages,
        max_query_urls: guard.max_query_urls,
        slow_factor: guard.slow_factor,
        max_delay_ms: guard.max_delay_secs.saturating_mul(1000),
    }
}

/// When pages are visited again, if they are.
fn recrawl(config: &Recrawl) -> Option<frontier::Recrawl> {
    config.enabled.then_some(frontier::Recrawl {
        initial_secs: config.initial_interval_secs,
        min_secs: config.min_interval_secs,
        max_secs: config.max_interval_secs,
        growth: config.growth,
        shrink: config.shrink,
    })
}

/// The filters' options in this config.
pub fn filter_options(config: &Config) -> FilterOptions {
    let filter = &config.filter;
    FilterOptions {
        kind: filter.kind,
        false_positive_rate: filter.false_positive_rate,
        initial_capacity: filter.initial_capacity,
        growth_factor: filter.growth_factor,
        max_layers: filter.max_layers as usize,
        max_stale_share: filter.max_stale_share,
        max_bytes: filter.max_bytes,
        rebuild_cpu_share: filter.rebuild_cpu_share,
    }
}

/// The turns at addresses, where they count; none is asked before its full delay if the crawl has a past.
pub fn addresses(config: &Config, clock: Clock, has_past: bool) -> Option<Addresses> {
    let Politeness { per_ip, delay_ms, connections_per_host, .. } = config.politeness;
    let opens = if has_past { clock.now().saturating_add(delay_ms) } else { 0 };
    (per_ip && delay_ms > 0).then(|| Addresses::new(delay_ms, connections_per_host, opens))
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
        keep_messages: config.output.kinds.contains(&SinkKind::Warc),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_frontier_has_the_same_defaults() {
        assert_eq!(options(&Config::default(), Path::new("dir")), frontier::Options::new("dir"));
    }
}
