//! Every key of the config file: its name, its type, the values it may have.
//!
//! Not here: defaults (in the parent module) and reasons (`config/crawler.toml`). Invariant: each key stands here once;
//! a value outside its range never reaches the [`Config`].

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use frontier::{BlockReason, FilterKind};
use toml::de::{DeTable, DeValue};

use super::section::{Log, Section};
use super::{
    Address, Budget, Config, Crawl, Fetch, Field, Filter, Frontier, GrowthGuard, Journal, Mode, Pattern, Politeness,
    Priority, ScopeRules, Statistics, Store, Traps, canonical, duplicates, extract, output, recrawl, resolve, sitemap,
};
use crate::fields::check_selector;

/// The largest integer of TOML.
const UNLIMITED: u64 = i64::MAX as u64;
const MAX_ATTEMPTS: RangeInclusive<u64> = 1..=100;
const DAY_SECS: u64 = 86_400;
const WEEK_SECS: u64 = 7 * DAY_SECS;
const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const TIB: u64 = 1 << 40;

/// Writes what the document sets into `config`; what it does not set stays.
pub(super) fn apply(document: &DeTable<'_>, config: &mut Config, log: &mut Log) {
    Section::read("", document, log, |root| {
        root.table("crawl", |s| crawl(s, &mut config.crawl));
        root.table("scope", |s| scope(s, &mut config.scope));
        root.table("canonical", |s| canonical::read(s, &mut config.canonical));
        root.table("politeness", |s| politeness(s, &mut config.politeness));
        root.table("fetch", |s| fetch(s, &mut config.fetch));
        root.table("extract", |s| extract::read(s, &mut config.extract));
        root.table("sitemap", |s| sitemap::read(s, &mut config.sitemap));
        root.table("traps", |s| traps(s, &mut config.traps));
        root.table("priority", |s| priority(s, &mut config.priority));
        root.table("budget", |s| budget(s, &mut config.budget));
        root.table("growth_guard", |s| growth_guard(s, &mut config.growth_guard));
        root.table("recrawl", |s| recrawl::read(s, &mut config.recrawl));
        root.table("frontier", |s| frontier(s, &mut config.frontier));
        root.table("journal", |s| journal(s, &mut config.journal));
        root.table("filter", |s| filter(s, &mut config.filter));
        root.table("store", |s| store(s, &mut config.store));
        root.table("statistics", |s| statistics(s, &mut config.statistics));
        root.table("output", |s| output::read(s, &mut config.output));
        root.table("duplicates", |s| duplicates::read(s, &mut config.duplicates));
        fields(root, &mut config.fields);
    });
}

fn crawl(s: &mut Section<'_>, out: &mut Crawl) {
    s.text("user_agent", user_agent, &mut out.user_agent);
    s.integer("max_depth", 0..=65_535, &mut out.max_depth);
    s.integer("max_pages", 0..=UNLIMITED, &mut out.max_pages);
    s.integer("shutdown_secs", 0..=3_600, &mut out.shutdown_secs);
    s.integer("idle_exit_secs", 0..=WEEK_SECS, &mut out.idle_exit_secs);
    s.integer("worker_threads", 0..=1_024, &mut out.worker_threads);
}

fn scope(s: &mut Section<'_>, out: &mut ScopeRules) {
    s.text("mode", mode, &mut out.mode);
    s.texts("include", Pattern::new, &mut out.include);
    s.texts("exclude", Pattern::new, &mut out.exclude);
}

fn politeness(s: &mut Section<'_>, out: &mut Politeness) {
    s.integer("delay_ms", 0..=DAY_SECS * 1000, &mut out.delay_ms);
    s.float("adaptive_delay_factor", 0.0..=1_000.0, &mut out.adaptive_delay_factor);
    s.integer("connections_per_host", 1..=1_024, &mut out.connections_per_host);
    s.boolean("per_ip", &mut out.per_ip);
    s.boolean("obey_robots", &mut out.obey_robots);
    s.integer("max_requests_per_sec", 0..=1_000_000, &mut out.max_requests_per_sec);
    s.integer("max_crawl_delay_secs", 0..=DAY_SECS, &mut out.max_crawl_delay_secs);
    s.integer("retry_delay_secs", 1..=WEEK_SECS, &mut out.retry_delay_secs);
    s.integer("max_retry_delay_secs", 1..=WEEK_SECS, &mut out.max_retry_delay_secs);
}

fn fetch(s: &mut Section<'_>, out: &mut Fetch) {
    s.integer("concurrency", 1..=65_536, &mut out.concurrency);
    s.integer("timeout_secs", 1..=DAY_SECS, &mut out.timeout_secs);
    s.integer("connect_timeout_secs", 1..=DAY_SECS, &mut out.connect_timeout_secs);
    s.integer("idle_timeout_secs", 1..=DAY_SECS, &mut out.idle_timeout_secs);
    s.integer("max_body_bytes", KIB..=GIB, &mut out.max_body_bytes);
    s.integer("max_attempts", MAX_ATTEMPTS, &mut out.max_attempts);
    s.integer("max_redirects", 0..=50, &mut out.max_redirects);
    s.boolean("allow_private_networks", &mut out.allow_private_networks);
    s.table("max_attempts_by_reason", |s| max_attempts_by_reason(s, &mut out.max_attempts_by_reason));
    resolve_table(s, &mut out.resolve);
}

fn max_attempts_by_reason(s: &mut Section<'_>, out: &mut BTreeMap<BlockReason, u32>) {
    // Robots.txt is asked for again as long as it cannot be had: no page fails for it.
    for reason in BlockReason::ALL.into_iter().filter(|reason| *reason != BlockReason::RobotsUnreachable) {
        let mut most = 0;
        s.integer(reason.name(), MAX_ATTEMPTS, &mut most);
        if most > 0 {
            out.insert(reason, most);
        }
    }
}

fn traps(s: &mut Section<'_>, out: &mut Traps) {
    s.integer("max_path_segments", 0..=8_192, &mut out.max_path_segments);
    s.integer("max_repeated_segments", 0..=8_192, &mut out.max_repeated_segments);
    s.integer("max_query_bytes", 0..=8_192, &mut out.max_query_bytes);
    s.integer("max_query_parameters", 0..=8_192, &mut out.max_query_parameters);
}

fn priority(s: &mut Section<'_>, out: &mut Priority) {
    let classes = 0..=frontier::Priority::LAST.class().into();
    s.integer("seeds", classes.clone(), &mut out.seeds);
    s.integer("links", classes.clone(), &mut out.links);
    s.integer("per_link", classes, &mut out.per_link);
}

fn budget(s: &mut Section<'_>, out: &mut Budget) {
    s.integer("max_urls_per_host", 0..=UNLIMITED, &mut out.max_urls_per_host);
    s.integer("max_urls_per_domain", 0..=UNLIMITED, &mut out.max_urls_per_domain);
    s.integer("max_pages_per_host", 0..=UNLIMITED, &mut out.max_pages_per_host);
    s.integer("max_pages_per_domain", 0..=UNLIMITED, &mut out.max_pages_per_domain);
    s.boolean("park", &mut out.park);
}

fn growth_guard(s: &mut Section<'_>, out: &mut GrowthGuard) {
    s.boolean("enabled", &mut out.enabled);
    // Fewer pages prove nothing: the first of a site are often alike.
    s.integer("max_similar_pages", 20..=u64::from(u32::MAX), &mut out.max_similar_pages);
    s.integer("max_query_urls", 100..=u64::from(u32::MAX), &mut out.max_query_urls);
    s.integer("slow_factor", 1..=1_000, &mut out.slow_factor);
    s.integer("max_delay_secs", 1..=DAY_SECS, &mut out.max_delay_secs);
}

fn frontier(s: &mut Section<'_>, out: &mut Frontier) {
    s.integer("partitions", 1..=1_024, &mut out.partitions);
    s.integer("hot_cache_entries", 0..=1_000_000_000, &mut out.hot_cache_entries);
    s.integer("recent_bytes", 64 * KIB..=TIB, &mut out.recent_bytes);
}

fn journal(s: &mut Section<'_>, out: &mut Journal) {
    s.integer("commit_interval_ms", 0..=10_000, &mut out.commit_interval_ms);
    s.integer("max_bytes", MIB..=TIB, &mut out.max_bytes);
}

fn filter(s: &mut Section<'_>, out: &mut Filter) {
    s.text("kind", filter_kind, &mut out.kind);
    // Below one in a million a key takes more than 40 bits, to save a read in a million; above one half the filter
    // saves nothing.
    s.float("false_positive_rate", 1e-6..=0.5, &mut out.false_positive_rate);
    s.integer("initial_capacity", 1..=100_000_000_000, &mut out.initial_capacity);
    // Every question visits every layer: below 2 there would soon be dozens.
    s.float("growth_factor", 2.0..=16.0, &mut out.growth_factor);
    s.integer("max_layers", 1..=32, &mut out.max_layers);
    s.float("max_stale_share", 0.001..=1.0, &mut out.max_stale_share);
    s.integer("max_bytes", MIB..=TIB, &mut out.max_bytes);
    s.float("rebuild_cpu_share", 0.01..=1.0, &mut out.rebuild_cpu_share);
}

fn store(s: &mut Section<'_>, out: &mut Store) {
    s.integer("cache_bytes", MIB..=TIB, &mut out.cache_bytes);
    s.integer("min_free_disk_bytes", 0..=UNLIMITED, &mut out.min_free_disk_bytes);
}

fn statistics(s: &mut Section<'_>, out: &mut Statistics) {
    s.integer("interval_secs", 1..=DAY_SECS, &mut out.interval_secs);
}

/// A header value that starts with the token robots.txt knows the crawler by.
fn user_agent(text: &str) -> Result<String, String> {
    const MAX_BYTES: usize = 512;
    if text.len() > MAX_BYTES {
        return Err(format!("longer than {MAX_BYTES} bytes"));
    }
    if !text.bytes().all(|b| matches!(b, b' '..=b'~')) || text.trim() != text {
        return Err("must be printable ASCII without a space at either end: it is sent as a header".to_owned());
    }
    let read = Crawl { user_agent: text.to_owned(), ..Crawl::default() };
    let product = read.robots_product();
    let in_token = |b: u8| b.is_ascii_alphabetic() || b == b'_' || b == b'-';
    if product.is_empty() || !product.bytes().all(in_token) {
        return Err(format!(
            "must start with a product token of letters, _ and - (RFC 9309), as in \"mybot/1.0\", found {product:?}"
        ));
    }
    Ok(read.user_agent)
}

fn mode(text: &str) -> Result<Mode, String> {
    let found = Mode::ALL.into_iter().find(|mode| mode.name() == text);
    found.ok_or_else(|| format!("must be \"host\", \"domain\", \"prefix\" or \"any\", found {text:?}"))
}

fn filter_kind(text: &str) -> Result<FilterKind, String> {
    let found = FilterKind::ALL.into_iter().find(|kind| kind.name() == text);
    found.ok_or_else(|| {
        format!("must be \"scalable_bloom\", \"scalable_counting\" or \"scalable_cuckoo\", found {text:?}")
    })
}

/// Adds the entries of `fetch.resolve`; a host of an earlier source is replaced.
fn resolve_table(s: &mut Section<'_>, out: &mut BTreeMap<String, Address>) {
    let Some(value) = s.take("resolve") else { return };
    let DeValue::Table(entries) = value.get_ref() else {
        return s.wrong_type(value, "a table of host = \"address:port\"");
    };
    let mut read = BTreeMap::new();
    resolve_entries(s, "", entries, &mut read);
    out.extend(read);
}

/// Reads the entries of a table whose hosts start with `labels`: TOML takes the host in
/// `fetch.resolve.www.example.org=192.0.2.1`, which a shell makes hard to quote, for three tables. (The parser bounds
/// their depth.)
fn resolve_entries(s: &mut Section<'_>, labels: &str, entries: &DeTable<'_>, out: &mut BTreeMap<String, Address>) {
    for (key, value) in entries {
        let text = format!("{labels}{}", key.get_ref());
        if let DeValue::Table(deeper) = value.get_ref() {
            resolve_entries(s, &format!("{text}."), deeper, out);
            continue;
        }
        let host = resolve::parse_host(&text);
        let host = host.map_err(|message| s.mistake(key.span(), message)).ok();
        let address = s.string(value, Address::parse);
        let (Some(host), Some(address)) = (host, address) else {
            continue;
        };
        if out.contains_key(&host) {
            s.mistake(key.span(), format!("host {host:?} is given twice"));
        }
        out.insert(host, address);
    }
}

/// Reads `[[fields]]`; the list replaces the one before.
fn fields(root: &mut Section<'_>, out: &mut Vec<Field>) {
    let Some(value) = root.take("fields") else {
        return;
    };
    let DeValue::Array(elements) = value.get_ref() else {
        return root.wrong_type(value, "a list of tables ([[fields]])");
    };
    out.clear();
    for element in elements.iter() {
        root.element("fields", element, |s| {
            if let Some(field) = field(s, element.span(), out) {
                out.push(field);
            }
        });
    }
}

/// One field, if it is valid beside those `before` it.
fn field(s: &mut Section<'_>, span: std::ops::Range<usize>, before: &[Field]) -> Option<Field> {
    let mut name = None;
    let mut selector = None;
    let mut attribute = None;
    let new_name = |text: &str| {
        if before.iter().any(|field| field.name == text) {
            return Err(format!("field {text:?} is given twice"));
        }
        word(text).map(Some)
    };
    s.text("name", new_name, &mut name);
    let valid_selector = |text: &str| match check_selector(text) {
        Ok(()) => Ok(Some(text.to_owned())),
        Err(error) => Err(format!("not a CSS selector: {error}")),
    };
    s.text("selector", valid_selector, &mut selector);
    s.text("attribute", |text| word(text).map(Some), &mut attribute);
    for key in ["name", "selector"] {
        if !s.has(key) {
            s.mistake(span.clone(), format!("a field needs {key}"));
        }
    }
    Some(Field { name: name?, selector: selector?, attribute })
}

/// A name of one word: what HTML allows in an attribute's name and a JSON key reads well with.
fn word(text: &str) -> Result<String, String> {
    const MAX_BYTES: usize = 64;
    let in_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | ':' | '.');
    if text.is_empty() || text.len() > MAX_BYTES || !text.chars().all(in_word) {
        return Err(format!("must be 1 to {MAX_BYTES} bytes of letters, digits, _, -, : and ., found {text:?}"));
    }
    Ok(text.to_owned())
}
