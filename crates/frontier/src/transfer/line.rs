//! The lines of an export, and how they are written and read. What they mean: [the module above](super).
//!
//! Invariant: every field of a record and of a host's state is named here, or does not compile.

mod mistake;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::batch::Said;
use crate::block_reason::BlockReason;
use crate::canonical::{Canonical, RULES_VERSION, RuleOptions, Rules, host_name, host_of_key};
use crate::found::{FoundUrl, Priority};
use crate::growth::Growth;
use crate::record::{HostState, Record, State};
use crate::robots::{self, RobotsMemory};
use crate::trace::{Trace, kept};
use crate::wire::WireError;

use mistake::Shape;

/// Version of the format that is written; this and all before it are read.
pub const VERSION: u32 = 2;

/// What the first line calls the format.
const FORMAT: &str = "crawld frontier";
/// Longest delay of a host, in milliseconds: a day, as in the config.
const MAX_DELAY_MS: u64 = 86_400_000;

/// The first line, as it is written.
#[derive(Debug, Serialize)]
pub(super) struct Head<'a> {
    format: &'static str,
    version: u32,
    canonical_rules_version: u32,
    canonical_rules: &'a RuleOptions,
}

/// What is read of a first line.
#[derive(Debug, Deserialize)]
struct AnyHead<'a> {
    format: Cow<'a, str>,
    version: u32,
}

impl<'a> Head<'a> {
    /// The first line of a frontier of these rules.
    pub(super) fn of(rules: &'a Rules) -> Self {
        let canonical_rules = rules.options();
        Self { format: FORMAT, version: VERSION, canonical_rules_version: RULES_VERSION, canonical_rules }
    }

    /// Says why the file cannot be read.
    pub(super) fn check(line: &[u8]) -> Result<(), String> {
        match serde_json::from_slice::<AnyHead<'_>>(line) {
            Ok(head) if head.format != FORMAT => Err(format!("a file of {:?}, not of {FORMAT:?}", head.format)),
            Ok(head) if !(1..=VERSION).contains(&head.version) => Err(format!(
                "written in version {} of the format; this program reads versions 1 to {VERSION}: use a newer one",
                head.version
            )),
            Ok(_) => Ok(()),
            Err(_) => Err(format!("not the first line of an export: {}", mistake::of(line, &mistake::FIRST))),
        }
    }
}

/// Any further line. One of the four is there.
#[derive(Debug, Deserialize)]
struct AnyKind {
    host: Option<serde::de::IgnoredAny>,
    url: Option<serde::de::IgnoredAny>,
    robots: Option<serde::de::IgnoredAny>,
    end: Option<serde::de::IgnoredAny>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct HostLine<'a> {
    host: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "is_zero")]
    next_slot_ms: u64,
    delay_ms: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    failures: u16,
    #[serde(default, skip_serializing_if = "is_zero")]
    blocked_until_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    blocked_by: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "is_zero")]
    granted: u32,
    #[serde(default, skip_serializing_if = "is_zero")]
    lifted: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    growth: Option<Cow<'a, str>>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RobotsLine<'a> {
    robots: Cow<'a, str>,
    fetched_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    etag: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_modified: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unreachable_since_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_age_secs: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<Cow<'a, str>>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct UrlLine<'a> {
    url: Cow<'a, str>,
    state: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "is_zero")]
    status: i16,
    #[serde(default, skip_serializing_if = "is_zero")]
    depth: u16,
    #[serde(default, skip_serializing_if = "is_zero")]
    attempts: u8,
    #[serde(default, skip_serializing_if = "is_zero")]
    starts: u8,
    first_seen_secs: u32,
    #[serde(default, skip_serializing_if = "is_zero")]
    due_secs: u32,
    #[serde(default, skip_serializing_if = "is_zero")]
    interval_secs: u32,
    #[serde(default, skip_serializing_if = "is_zero")]
    interval_learnt: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    digest: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    etag: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_modified: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    referrer: Option<Cow<'a, str>>,
    /// Left out where it is the normal one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    priority: Option<u8>,
    #[serde(default, skip_serializing_if = "is_zero")]
    sitemap_level: u8,
}

/// The last line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct End {
    pub(super) end: Totals,
}

/// What an export holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Totals {
    /// Hosts.
    pub hosts: u64,
    /// Origins of which robots.txt is known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub robots: u64,
    /// URLs not finished, those in flight included.
    pub queued: u64,
    /// URLs with a final response.
    pub fetched: u64,
    /// URLs given up without one.
    pub failed: u64,
    /// URLs that robots.txt denies.
    pub robots_denied: u64,
    /// URLs refused at fetch time by a rule.
    pub excluded: u64,
    /// URLs imported as seen.
    pub imported_seen: u64,
    /// URLs held back by a budget.
    #[serde(default)]
    pub parked: u64,
}

impl Totals {
    /// All URLs.
    pub fn urls(&self) -> u64 {
        State::WORDS.iter().map(|(state, _)| *Self::count(&mut self.clone(), *state)).sum()
    }

    /// The count of the URLs in this state.
    pub(super) fn count(&mut self, state: State) -> &mut u64 {
        match state {
            State::Queued => &mut self.queued,
            State::Fetched => &mut self.fetched,
            State::Failed => &mut self.failed,
            State::RobotsDenied => &mut self.robots_denied,
            State::Excluded => &mut self.excluded,
            State::ImportedSeen => &mut self.imported_seen,
            State::Parked => &mut self.parked,
            State::Forgotten => unreachable!("a forgotten URL is not known, so nobody counts it"),
        }
    }
}

/// A line as it was read.
#[derive(Debug)]
pub(super) enum Line {
    /// A host by the host part of its keys.
    Host {
        name: String,
        registrable_domain: String,
        state: HostState,
    },
    Url {
        canonical: Canonical,
        said: Said,
    },
    /// What robots.txt of an origin says, by the origin's name.
    Robots {
        name: String,
        registrable_domain: String,
        memory: RobotsMemory,
    },
    End(Totals),
}

/// The line of a host.
pub(super) fn host(key: &str, state: &HostState) -> String {
    let HostState { next_slot, delay_ms, failures, blocked_until, blocked_by, granted, growth } = *state;
    let lifted = granted == HostState::LIFTED;
    json(&HostLine {
        host: host_name(key).into(),
        next_slot_ms: next_slot,
        delay_ms,
        failures,
        blocked_until_ms: blocked_until,
        blocked_by: blocked_by.map(|reason| reason.name().into()),
        granted: if lifted { 0 } else { granted },
        lifted,
        growth: growth.to_text().map(Cow::Owned),
    })
}

/// The line of a robots.txt.
pub(super) fn robots_txt(origin: &str, memory: &RobotsMemory) -> String {
    let RobotsMemory { text, etag, last_modified, fetched, unreachable_since, max_age_secs } = memory;
    let text_of = |text: &Option<String>| text.as_deref().map(str::to_owned).map(Cow::Owned);
    json(&RobotsLine {
        robots: origin.into(),
        fetched_ms: *fetched,
        etag: text_of(etag),
        last_modified: text_of(last_modified),
        unreachable_since_ms: *unreachable_since,
        max_age_secs: *max_age_secs,
        text: text.as_deref().map(Cow::Borrowed),
    })
}

/// The line of a URL.
pub(super) fn url(url: &str, record: &Record, referrer: Option<&str>, trace: Option<&str>) -> String {
    // In which block of the store it stands is no business of anybody else's.
    let Record { state, depth, attempts, starts, status, first_seen_secs, block: _, .. } = *record;
    let Record { priority, sitemap_level, due_secs, interval_secs, .. } = *record;
    let Trace { learnt, digest, etag, last_modified } = Trace::parse(trace);
    json(&UrlLine {
        url: url.into(),
        state: state.word().expect("a forgotten URL is not known, so nobody writes it").into(),
        status,
        depth,
        attempts,
        starts,
        first_seen_secs,
        due_secs,
        interval_secs,
        interval_learnt: learnt,
        digest: digest.map(|digest| format!("{digest:016x}").into()),
        etag: etag.map(Cow::Borrowed),
        last_modified: last_modified.map(Cow::Borrowed),
        referrer: referrer.map(Cow::Borrowed),
        priority: (priority != Priority::default()).then_some(priority.class()),
        sitemap_level,
    })
}

/// A value as one line, with its end.
pub(super) fn json(value: &impl Serialize) -> String {
    let mut line = serde_json::to_string(value).expect("numbers and texts are JSON");
    line.push('\n');
    line
}

/// Reads a line, its keys made by these rules, or says what is wrong with it.
pub(super) fn parse(line: &[u8], rules: &Rules) -> Result<Line, String> {
    let kind: AnyKind = understood(line, &mistake::ANY)?;
    if kind.robots.is_some() {
        return parse_robots(line, rules);
    }
    match (kind.url, kind.host, kind.end) {
        (Some(_), _, _) => parse_url(line, rules),
        (None, Some(_), _) => parse_host(line, rules),
        (None, None, Some(_)) => {
            let End { end } = understood(line, &mistake::END)?;
            Ok(Line::End(end))
        }
        (None, None, None) => Err("neither a host nor a URL nor the end".to_owned()),
    }
}

fn parse_host(line: &[u8], rules: &Rules) -> Result<Line, String> {
    let line: HostLine<'_> = understood(line, &mistake::HOST)?;
    let HostLine { host, next_slot_ms, delay_ms, failures, blocked_until_ms, blocked_by, granted, lifted, growth } =
        line;
    let canonical = rules.parse(&format!("https://{host}/")).map_err(|error| format!("host: {error}"))?;
    if canonical.host() != host {
        return Err(format!("host: {host:?} is not the name of a host"));
    }
    if delay_ms > MAX_DELAY_MS {
        return Err(format!("delay_ms is over {MAX_DELAY_MS}"));
    }
    let named = |word: &str| BlockReason::ALL.into_iter().find(|reason| reason.name() == word);
    let known = |word: &str| named(word).ok_or_else(|| format!("blocked_by: {word:?} is no reason"));
    let state = HostState {
        next_slot: next_slot_ms,
        delay_ms,
        failures,
        blocked_until: blocked_until_ms,
        blocked_by: blocked_by.as_deref().map(known).transpose()?,
        granted: if lifted { HostState::LIFTED } else { granted },
        growth: growth.map_or(Ok(Growth::default()), |text| {
            Growth::from_text(&text).map_err(|WireError(what)| format!("growth: {what}"))
        })?,
    };
    let name = host_of_key(canonical.key()).to_owned();
    Ok(Line::Host { name, registrable_domain: canonical.registrable_domain().to_owned(), state })
}

fn parse_robots(line: &[u8], rules: &Rules) -> Result<Line, String> {
    let line: RobotsLine<'_> = understood(line, &mistake::ROBOTS)?;
    let RobotsLine {
        robots: origin,
        fetched_ms: fetched,
        etag,
        last_modified,
        unreachable_since_ms: unreachable_since,
        max_age_secs,
        text,
    } = line;
    let canonical = rules.parse(&format!("{origin}/")).map_err(|error| format!("robots: {error}"))?;
    if robots::origin_of(&canonical) != origin {
        return Err(format!("robots: {origin:?} is not the origin of a URL"));
    }
    let owned = |text: Option<Cow<'_, str>>| text.map(Cow::into_owned);
    let (text, etag, last_modified) = (owned(text), owned(etag), owned(last_modified));
    let memory = RobotsMemory { text, etag, last_modified, fetched, unreachable_since, max_age_secs };
    if !memory.is_bounded() {
        return Err(format!("robots: a text of more than {} bytes", RobotsMemory::MAX_TEXT_BYTES));
    }
    let registrable_domain = canonical.registrable_domain().to_owned();
    Ok(Line::Robots { name: robots::name(&canonical), registrable_domain, memory })
}

fn parse_url(line: &[u8], rules: &Rules) -> Result<Line, String> {
    let line: UrlLine<'_> = understood(line, &mistake::URL)?;
    let trace = trace(&line)?.text();
    let UrlLine { url, state, status, depth, attempts, starts, first_seen_secs, due_secs, interval_secs, .. } = line;
    let canonical = rules.parse(&url).map_err(|error| format!("url: {error}"))?;
    let state = State::from_word(&state).ok_or_else(|| format!("state: {state:?} is no state"))?;
    if due_secs > 0 && (interval_secs == 0 || !matches!(state, State::Fetched | State::Queued)) {
        return Err("due_secs is for a fetched or queued URL with an interval_secs".to_owned());
    }
    // It goes to the log as it is, so it has to be a URL too.
    let referrer = line.referrer.map(|referrer| rules.parse(&referrer)).transpose();
    let referrer = referrer.map_err(|error| format!("referrer: {error}"))?.map(|referrer| referrer.url().to_owned());
    let priority = line.priority.map_or(Priority::default(), |class| Priority::new(class.into()));
    let new = Record::new(state, depth, first_seen_secs);
    let sitemap_level = line.sitemap_level.min(FoundUrl::MAX_SITEMAP_LEVEL);
    let record = Record { attempts, starts, status, priority, sitemap_level, due_secs, interval_secs, ..new };
    Ok(Line::Url { canonical, said: Said { record, referrer, trace } })
}

/// What a line says of the last visit.
fn trace<'a>(line: &'a UrlLine<'_>) -> Result<Trace<'a>, String> {
    let digest = line.digest.as_deref().map(|text| u64::from_str_radix(text, 16)).transpose();
    let digest = digest.map_err(|_| "digest: not a number of up to 16 hexadecimal digits".to_owned())?;
    let [etag, last_modified] = [("etag", &line.etag), ("last_modified", &line.last_modified)].map(|(name, text)| {
        let text = text.as_deref();
        if kept(text) == text { Ok(text) } else { Err(format!("{name}: too long, or not printable ASCII")) }
    });
    Ok(Trace { learnt: line.interval_learnt, digest, etag: etag?, last_modified: last_modified? })
}

/// An object on a line, or what is wrong with it.
fn understood<'a, T: Deserialize<'a>>(line: &'a [u8], shape: &Shape) -> Result<T, String> {
    // A list of the values in their order would do for serde.
    let is_object = line.trim_ascii_start().starts_with(b"{");
    serde_json::from_slice(line).ok().filter(|_| is_object).ok_or_else(|| mistake::of(line, shape))
}

fn is_zero<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
