//! The config as the program runs on it: typed, validated, complete.
//!
//! Reading it lives in [`load()`]; `config/crawler.toml` holds every key with its reason, and a test proves that the
//! file equals the defaults below. Not here: any text, position or half-valid state.
//! Invariant: a [`Config`] that came from [`load()`] or [`Config::default`] holds only values the program can run on.
//!
//! All byte and entry limits are totals of the process.

mod canonical;
mod duplicates;
mod extract;
mod keys;
mod load;
mod mistakes;
mod output;
mod pattern;
mod recrawl;
mod resolve;
mod section;
mod sitemap;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use frontier::{BlockReason, FilterKind, RuleOptions};
use serde::{Serialize, Serializer};

pub use duplicates::Duplicates;
pub use extract::{CanonicalLinks, Extract};
pub use load::load;
pub use mistakes::{ConfigErrors, Mistake, Place};
pub use output::{Compression, Output, SinkKind};
pub use pattern::Pattern;
pub use recrawl::Recrawl;
pub use resolve::Address;
pub use sitemap::Sitemap;

/// Everything that can be configured.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Config {
    /// What is taken from a page beside its links: `[[fields]]`. None by default.
    pub fields: Vec<Field>,
    /// The crawl as a whole.
    pub crawl: Crawl,
    /// Which URLs belong to the crawl.
    pub scope: ScopeRules,
    /// By which rules two URLs are one. Fixed when a data directory is made.
    pub canonical: RuleOptions,
    /// How much a site is asked of.
    pub politeness: Politeness,
    /// How one request is made.
    pub fetch: Fetch,
    /// What is taken from a page.
    pub extract: Extract,
    /// What is taken from sitemaps.
    pub sitemap: Sitemap,
    /// What looks like a space without end.
    pub traps: Traps,
    /// Which URLs of a host go out first.
    pub priority: Priority,
    /// How much of each site is taken.
    pub budget: Budget,
    /// What becomes of a site that grows without end.
    pub growth_guard: GrowthGuard,
    /// Whether and when pages are visited again.
    pub recrawl: Recrawl,
    /// The queue of URLs and its memory.
    pub frontier: Frontier,
    /// The log of events that makes progress durable.
    pub journal: Journal,
    /// The seen-filter.
    pub filter: Filter,
    /// The exact store.
    pub store: Store,
    /// The statistics log.
    pub statistics: Statistics,
    /// What is kept of what is fetched.
    pub output: Output,
    /// Copies of pages.
    pub duplicates: Duplicates,
}

impl Config {
    /// The config as TOML text; [`load()`] reads it back to an equal value.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("tables of strings, booleans, floats and integers below 2^63")
    }
}

/// `[crawl]`
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Crawl {
    /// Value of the `User-Agent` header.
    pub user_agent: String,
    /// Links followed from a seed; 0 = seeds only.
    pub max_depth: u32,
    /// Pages to fetch in all, restarts included; 0 = no limit.
    pub max_pages: u64,
    /// Grace for open requests after the first stop signal.
    pub shutdown_secs: u64,
    /// With `--exit-when-done`: hosts due within this time are waited for.
    pub idle_exit_secs: u64,
    /// Threads of the async runtime; 0 = one per core.
    pub worker_threads: u32,
}

impl Crawl {
    /// The product token of [`Crawl::user_agent`] (its text before the first `/`, space or parenthesis): the name that
    /// robots.txt groups are matched against, RFC 9309 section 2.2.1.
    pub fn robots_product(&self) -> &str {
        let end = self.user_agent.find(['/', ' ', '(']);
        &self.user_agent[..end.unwrap_or(self.user_agent.len())]
    }
}

impl Default for Crawl {
    fn default() -> Self {
        Crawl {
            user_agent: "crawld/0.1 (+https://example.org/bot)".to_owned(),
            max_depth: 50,
            max_pages: 0,
            shutdown_secs: 10,
            idle_exit_secs: 60,
            worker_threads: 0,
        }
    }
}

/// `[scope]`; [`crate::scope::Scope`] is what judges by it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ScopeRules {
    /// What the seeds open.
    pub mode: Mode,
    /// URLs matching one of these are in scope too.
    pub include: Vec<Pattern>,
    /// URLs matching one of these are out of scope, whatever else says.
    pub exclude: Vec<Pattern>,
}

/// `scope.mode`: what a seed opens to the crawl.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// The seeds' hosts, any port.
    #[default]
    Host,
    /// The seeds' registrable domains with all their sub-domains.
    Domain,
    /// URLs that start like a seed, up to the last `/` of its path.
    Prefix,
    /// Everything.
    Any,
}

impl Mode {
    /// Every mode.
    pub const ALL: [Mode; 4] = [Mode::Host, Mode::Domain, Mode::Prefix, Mode::Any];

    /// The word in the config file.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Host => "host",
            Mode::Domain => "domain",
            Mode::Prefix => "prefix",
            Mode::Any => "any",
        }
    }
}

/// `[politeness]`
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Politeness {
    /// Pause between the end of one response of a host and the next request to it.
    pub delay_ms: u64,
    /// The pause is at least this many times what the last response took; 0 = whatever it took.
    pub adaptive_delay_factor: f64,
    /// Requests open at one host at a time.
    pub connections_per_host: u32,
    /// Hosts at one address count as one.
    pub per_ip: bool,
    /// Obey robots.txt.
    pub obey_robots: bool,
    /// Requests per second of the whole crawl; 0 = no limit.
    pub max_requests_per_sec: u32,
    /// Cap of a Crawl-delay that robots.txt asks for, and of the adaptive delay.
    pub max_crawl_delay_secs: u64,
    /// Pause of a host after its first failure; doubled by each further one.
    pub retry_delay_secs: u64,
    /// Cap of that doubling, and of a Retry-After header.
    pub max_retry_delay_secs: u64,
}

impl Default for Politeness {
    fn default() -> Self {
        Politeness {
            delay_ms: 1000,
            adaptive_delay_factor: 5.0,
            connections_per_host: 1,
            per_ip: false,
            obey_robots: true,
            max_requests_per_sec: 0,
            max_crawl_delay_secs: 30,
            retry_delay_secs: 30,
            max_retry_delay_secs: 3600,
        }
    }
}

/// `[fetch]`
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fetch {
    /// Requests open in all.
    pub concurrency: u32,
    /// Time for one request, from connecting to the last byte.
    pub timeout_secs: u64,
    /// Time for name resolution, TCP and TLS.
    pub connect_timeout_secs: u64,
    /// Time without a byte after which a connection counts as dead.
    pub idle_timeout_secs: u64,
    /// Decoded bytes of a body that are read; the rest is cut off.
    pub max_body_bytes: u64,
    /// Requests made for one URL before it counts as failed.
    pub max_attempts: u32,
    /// Redirects followed under one lease.
    pub max_redirects: u32,
    /// May loopback, private, link-local and metadata addresses be connected to?
    pub allow_private_networks: bool,
    /// [`Fetch::max_attempts`] where the last of them failed for this reason.
    #[serde(serialize_with = "by_reason_name")]
    pub max_attempts_by_reason: BTreeMap<BlockReason, u32>,
    /// Host → address, instead of asking DNS. Hosts are in the form that `url` gives them (lower case, punycode).
    pub resolve: BTreeMap<String, Address>,
}

/// `serialize_with` needs this form.
fn by_reason_name<S: Serializer>(limits: &BTreeMap<BlockReason, u32>, out: S) -> Result<S::Ok, S::Error> {
    out.collect_map(limits.iter().map(|(reason, most)| (reason.name(), most)))
}

impl Default for Fetch {
    fn default() -> Self {
        Fetch {
            concurrency: 256,
            timeout_secs: 60,
            connect_timeout_secs: 10,
            idle_timeout_secs: 20,
            max_body_bytes: 10 << 20,
            max_attempts: 3,
            max_redirects: 5,
            allow_private_networks: false,
            max_attempts_by_reason: BTreeMap::new(),
            resolve: BTreeMap::new(),
        }
    }
}

/// `[traps]`: URLs that break one of these are refused, unless they are seeds; 0 = no limit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Traps {
    /// Segments of the path.
    pub max_path_segments: u32,
    /// Times that one segment may occur in the path.
    pub max_repeated_segments: u32,
    /// Length of the query.
    pub max_query_bytes: u32,
    /// Parameters in the query.
    pub max_query_parameters: u32,
}

impl Default for Traps {
    fn default() -> Self {
        Traps { max_path_segments: 20, max_repeated_segments: 3, max_query_bytes: 2048, max_query_parameters: 32 }
    }
}

/// `[priority]`: the class of a URL in its host's queue, 0 (first) to 7 (last).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Priority {
    /// Of seeds.
    pub seeds: u8,
    /// Of what is one link from a seed.
    pub links: u8,
    /// Added for each further link.
    pub per_link: u8,
}

impl Default for Priority {
    fn default() -> Self {
        Priority { seeds: 0, links: frontier::Priority::default().class(), per_link: 0 }
    }
}

impl Priority {
    /// The class of a URL that is `depth` links from a seed.
    pub fn of(&self, depth: u16) -> frontier::Priority {
        let further = u64::from(depth.saturating_sub(1)) * u64::from(self.per_link);
        frontier::Priority::new(if depth == 0 { self.seeds.into() } else { u64::from(self.links) + further })
    }
}

/// `[budget]`: tested when a URL is new; 0 = no limit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Budget {
    /// URLs of one host.
    pub max_urls_per_host: u64,
    /// URLs of one registrable domain.
    pub max_urls_per_domain: u64,
    /// Pages of one host.
    pub max_pages_per_host: u64,
    /// Pages of one registrable domain.
    pub max_pages_per_domain: u64,
    /// Keep URLs over a budget, to be released later.
    pub park: bool,
}

impl Default for Budget {
    fn default() -> Self {
        Budget {
            max_urls_per_host: 0,
            max_urls_per_domain: 0,
            max_pages_per_host: 0,
            max_pages_per_domain: 0,
            park: true,
        }
    }
}

/// `[growth_guard]`: hosts that grow without end are slowed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GrowthGuard {
    /// Whether any host is slowed.
    pub enabled: bool,
    /// Near-identical pages with new URLs before a host is.
    pub max_similar_pages: u32,
    /// New URLs of one path, or with the same parameters, ahead of all others before it is.
    pub max_query_urls: u32,
    /// By how much its delay is multiplied.
    pub slow_factor: u32,
    /// Longest delay that this comes to.
    pub max_delay_secs: u64,
}

impl Default for GrowthGuard {
    fn default() -> Self {
        let frontier::GrowthGuard { enabled, max_similar_pages, max_query_urls, slow_factor, max_delay_ms } =
            frontier::GrowthGuard::default();
        GrowthGuard { enabled, max_similar_pages, max_query_urls, slow_factor, max_delay_secs: max_delay_ms / 1000 }
    }
}

/// One of `[[fields]]`: text that is taken from every page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Field {
    /// Name in the output; unique.
    pub name: String,
    /// CSS selector; a valid one.
    pub selector: String,
    /// Attribute whose value is wanted; without it, the text of the element.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attribute: Option<String>,
}

/// `[frontier]`
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Frontier {
    /// Parts of the frontier, each with its lock, filter and store. Fixed when a data directory is made.
    pub partitions: u32,
    /// Entries of the cache of confirmed-seen URLs; 0 = no cache.
    pub hot_cache_entries: u64,
    /// Memory for URLs not yet merged into the store.
    pub recent_bytes: u64,
}

impl Default for Frontier {
    fn default() -> Self {
        Frontier { partitions: 16, hot_cache_entries: 1 << 20, recent_bytes: 256 << 20 }
    }
}

/// `[journal]`
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Journal {
    /// Time over which events are collected for one `fdatasync`; 0 = sync as soon as the last one has ended.
    pub commit_interval_ms: u64,
    /// Size above which merges are made so that old segments can go.
    pub max_bytes: u64,
}

impl Default for Journal {
    fn default() -> Self {
        Journal { commit_interval_ms: 20, max_bytes: 256 << 20 }
    }
}

/// `[filter]`
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Filter {
    /// What the layers are.
    #[serde(serialize_with = "kind_name")]
    pub kind: FilterKind,
    /// Probability that an unseen URL is taken for a maybe; over all layers together.
    pub false_positive_rate: f64,
    /// URLs that the first layers of all partitions together are made for.
    pub initial_capacity: u64,
    /// How much larger each further layer is than the one before.
    pub growth_factor: f64,
    /// A filter of more layers is rebuilt as one.
    pub max_layers: u32,
    /// A filter with a larger share of forgotten URLs in it is rebuilt.
    pub max_stale_share: f64,
    /// Memory for the layers; where it does not do, they are rebuilt at a higher rate.
    pub max_bytes: u64,
    /// Share of one core that a rebuild may take.
    pub rebuild_cpu_share: f64,
}

/// `serialize_with` needs this form.
fn kind_name<S: Serializer>(kind: &FilterKind, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_str(kind.name())
}

impl Default for Filter {
    fn default() -> Self {
        Filter {
            kind: FilterKind::ScalableBloom,
            false_positive_rate: 0.01,
            initial_capacity: 1_000_000,
            growth_factor: 2.0,
            max_layers: 3,
            max_stale_share: 0.1,
            max_bytes: 1 << 30,
            rebuild_cpu_share: 0.25,
        }
    }
}

/// `[store]`
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Store {
    /// Cache of the exact store.
    pub cache_bytes: u64,
    /// Free space on the data directory's disk under which the crawl pauses; 0 = never.
    pub min_free_disk_bytes: u64,
}

impl Default for Store {
    fn default() -> Self {
        Store { cache_bytes: 32 << 20, min_free_disk_bytes: 1 << 30 }
    }
}

/// `[statistics]`
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Statistics {
    /// Time between two lines of the statistics log.
    pub interval_secs: u64,
}

impl Default for Statistics {
    fn default() -> Self {
        Statistics { interval_secs: 10 }
    }
}
