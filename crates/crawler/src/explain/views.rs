//! From what frontier, scope, traps and robots rules say to the parts of an [`Explained`](super::Explained).
//!
//! Not a judgement of its own. Invariant: each text from outside that may be long is cut, so that the whole answer fits
//! the line of the control socket.

use frontier::canonical::Explained as Read;
use frontier::{BlockReason, BudgetUse, Canonical, Explanation, Grant, Millis, Referrer, Trace};
use url::{Host, Position, Url};

use super::{
    BudgetView, HostView, Judges, LayerView, LimitView, RecordView, RobotsView, ScopeView, SeenView, StepView, UrlView,
    excerpt,
};
use crate::address::is_allowed;
use crate::clock::iso;
use crate::config::{Config, Mode, Traps};
use crate::daemon::growth_guard;
use crate::fetch_code;
use crate::politeness;
use crate::robots::Robots;
use crate::robots_cache::Answer;
use crate::scope::{By, Verdict};
use crate::traps::{self, Trap};

pub(super) fn url(input: &str, read: &Read, known: &Explanation) -> UrlView {
    let canonical = &read.canonical;
    let steps = read.steps.iter();
    UrlView {
        input: excerpt(input),
        fetch_url: canonical.url().to_owned(),
        key: canonical.key().to_owned(),
        host: canonical.host().to_owned(),
        registrable_domain: canonical.registrable_domain().to_owned(),
        partition: known.partition,
        partitions: known.partitions,
        steps: steps.map(|step| StepView { rule: step.rule.to_owned(), after: excerpt(&step.after) }).collect(),
    }
}

pub(super) fn scope(judges: &Judges<'_>, canonical: &Canonical) -> ScopeView {
    let (verdict, by) = judges.scope.decide(canonical.url(), canonical.host(), canonical.registrable_domain());
    let in_scope = verdict == Verdict::In;
    let pattern = |key: &str, pattern: &str| format!("scope.{key} = {:?}", excerpt(pattern));
    let (decided_by, why) = match by {
        By::Exclude(text) => (pattern("exclude", text.as_str()), "the pattern matches"),
        By::Include(text) => (pattern("include", text.as_str()), "the pattern matches"),
        By::Mode(mode) => (format!("scope.mode = {:?}", mode.name()), why(mode, in_scope)),
    };
    let traps = &judges.config.traps;
    ScopeView {
        in_scope,
        decided_by,
        why: why.to_owned(),
        trap: traps::judge(traps, canonical.url()).map(|trap| broken(trap, traps)),
        max_depth: judges.config.crawl.max_depth,
    }
}

fn why(mode: Mode, in_scope: bool) -> &'static str {
    match (mode, in_scope) {
        (Mode::Host, true) => "the host is one of the seeds' hosts",
        (Mode::Host, false) => "the host is none of the seeds' hosts",
        (Mode::Domain, true) => "the registrable domain is one of the seeds'",
        (Mode::Domain, false) => "the registrable domain is none of the seeds'",
        (Mode::Prefix, true) => "it starts like a seed",
        (Mode::Prefix, false) => "it starts like none of the seeds",
        (Mode::Any, _) => "everything belongs to the crawl",
    }
}

fn broken(trap: Trap, traps: &Traps) -> String {
    let (key, limit) = match trap {
        Trap::PathSegments => ("max_path_segments", traps.max_path_segments),
        Trap::RepeatedSegments => ("max_repeated_segments", traps.max_repeated_segments),
        Trap::QueryBytes => ("max_query_bytes", traps.max_query_bytes),
        Trap::QueryParameters => ("max_query_parameters", traps.max_query_parameters),
    };
    format!("traps.{key} = {limit}")
}

pub(super) fn seen(known: &Explanation) -> SeenView {
    let word = |maybe: bool| if maybe { "maybe" } else { "absent" }.to_owned();
    let filter = known.filter.as_ref();
    let layers = filter.map_or(&[][..], |filter| &filter.layers).iter();
    let exact = match known.trace {
        Trace::Known(_) => "seen",
        Trace::Forgotten => "forgotten",
        Trace::Never => "never_seen",
    };
    SeenView {
        hot_cache: known.is_hot,
        filter: filter.map(|filter| filter.kind.name().to_owned()),
        filter_says: filter.map(|filter| word(filter.maybe())),
        layers: layers
            .map(|layer| LayerView { urls: layer.len, capacity: layer.capacity, says: word(layer.maybe) })
            .collect(),
        exact: exact.to_owned(),
    }
}

/// `revisits`: whether a page that was fetched is ever visited again.
pub(super) fn record(known: &Explanation, revisits: bool, now: Millis) -> Option<RecordView> {
    let Trace::Known(known) = &known.trace else { return None };
    let (found_on, found_on_kept) = match &known.referrer {
        Referrer::Page(page) => (Some(excerpt(page)), "page"),
        Referrer::None => (None, "none"),
        Referrer::NotKept => match known.state {
            "imported_seen" => (None, "none"),
            "parked" => (None, "not_kept"),
            _ => (None, "in_crawl_log"),
        },
    };
    let due = known.due.filter(|_| revisits || known.state == "queued");
    Some(RecordView {
        fetch_url: known.url.clone(),
        state: if known.in_flight { "in_flight" } else { known.state }.to_owned(),
        is_going: known.is_going,
        kept_in: if known.is_recent { "memory" } else { "store" }.to_owned(),
        depth: known.depth,
        first_seen: iso(known.first_seen),
        found_on,
        found_on_kept: found_on_kept.to_owned(),
        attempts: known.attempts,
        unfinished_leases: known.starts,
        last_status: known.status,
        last_status_means: known.status.and_then(|status| fetch_code::words(status.into())).map(str::to_owned),
        next_due: due.map(|due| iso(due.max(now))),
        next_due_in_ms: due.map(|due| due.saturating_sub(now)),
    })
}

/// `rules` are those of robots.txt, as far as they are known.
pub(super) fn host(
    judges: &Judges<'_>,
    host: &frontier::HostView,
    url: &Url,
    rules: Option<&Answer>,
    now: Millis,
) -> HostView {
    let usage = &host.usage;
    let config = judges.config;
    let rules = rules.and_then(|answer| answer.rules.as_deref()).filter(|_| config.politeness.obey_robots);
    let delay_ms = politeness::delay_ms(&config.politeness, rules.and_then(Robots::crawl_delay));
    let guard = growth_guard(config);
    let slowed = |ms| if guard.enabled && usage.slowed.is_some() { guard.slowed_ms(ms) } else { ms };
    let blocked = usage.blocked.filter(|(until, _)| *until > now);
    HostView {
        name: usage.host.clone(),
        is_known: host.is_known,
        next_slot: iso(host.next_slot.max(now)),
        next_slot_in_ms: host.next_slot.saturating_sub(now),
        delay_ms: slowed(delay_ms),
        last_delay_ms: slowed(usage.delay_ms),
        refused: refused(config, url),
        in_flight: host.in_flight,
        failures: usage.failures,
        blocked_until: blocked.map(|(until, _)| iso(until)),
        blocked_by: blocked.map(|(_, reason)| reason.name().to_owned()),
        blocked_means: blocked.map(|(_, reason)| in_words(reason).to_owned()),
        slowed_by: usage.slowed.map(|reason| reason.name().to_owned()),
        trusted: usage.trusted,
        urls: usage.urls,
        queued: usage.queued,
        pages: usage.pages,
        parked: usage.parked,
    }
}

/// Why the address of a URL's host is refused, where it is known without asking for it: an address itself, or a name in
/// `fetch.resolve`.
fn refused(config: &Config, url: &Url) -> Option<String> {
    let plain = |name: &str| name.trim_end_matches('.').to_ascii_lowercase();
    let address = match url.host()? {
        Host::Ipv4(address) => address.into(),
        Host::Ipv6(address) => address.into(),
        Host::Domain(name) => {
            config.fetch.resolve.iter().find(|(known, _)| plain(known) == plain(name)).map(|(_, to)| to.ip)?
        }
    };
    if is_allowed(address, config.fetch.allow_private_networks) {
        return None;
    }
    Some(match config.fetch.allow_private_networks {
        true => format!("{address} serves a machine's credentials and settings, and is never connected to"),
        false => format!("{address} is not a public address, and fetch.allow_private_networks = false"),
    })
}

fn in_words(reason: BlockReason) -> &'static str {
    match reason {
        BlockReason::TooManyRequests => "it answered 429",
        BlockReason::Unavailable => "it answered 503",
        BlockReason::DnsFailed => "its name did not resolve",
        BlockReason::ConnectFailed => "no connection could be made",
        BlockReason::ConnectionLost => "a connection ended before the response did",
        BlockReason::Timeout => "no response came in time",
        BlockReason::RobotsUnreachable => "its robots.txt could not be had",
    }
}

/// `known` is what is known of the rules of a URL's origin.
pub(super) fn robots(judges: &Judges<'_>, url: &Url, known: Option<&Answer>) -> RobotsView {
    let mut view = RobotsView {
        origin: String::new(),
        verdict: "not_known".to_owned(),
        line: None,
        rule: None,
        known_until: None,
    };
    view.origin = url[..Position::BeforePath].to_owned();
    if !judges.config.politeness.obey_robots {
        view.verdict = "not_obeyed".to_owned();
        return view;
    }
    let Some(answer) = known else { return view };
    view.known_until = Some(iso(answer.expires));
    let Some(rules) = &answer.rules else {
        view.verdict = "unreachable".to_owned();
        return view;
    };
    let rule = rules.decisive(url);
    view.verdict = if rule.is_none_or(|rule| rule.allow) { "allowed" } else { "denied" }.to_owned();
    view.line = rule.map(|rule| rule.line);
    let word = |allow: bool| if allow { "Allow" } else { "Disallow" };
    view.rule = rule.map(|rule| format!("{}: {}", word(rule.allow), excerpt(&rule.pattern)));
    view
}

pub(super) fn budget(budget: &frontier::BudgetView) -> BudgetView {
    let frontier::BudgetView { limits, host, domain, held_by } = budget;
    let line = |name: &str, limit: u64, used: u64, of: &BudgetUse| LimitView {
        name: format!("budget.{name}"),
        used,
        limit,
        granted: if let Grant::More(more) = of.granted { Some(more) } else { None },
    };
    let all = [
        line("max_urls_per_host", limits.urls_per_host, host.urls, host),
        line("max_pages_per_host", limits.pages_per_host, host.pages + host.queued, host),
        line("max_urls_per_domain", limits.urls_per_domain, domain.urls, domain),
        line("max_pages_per_domain", limits.pages_per_domain, domain.pages + domain.queued, domain),
    ];
    BudgetView {
        limits: all.into_iter().filter(|line| line.limit > 0).collect(),
        held_by: held_by.map(|name| format!("budget.{name}")),
        parks: limits.park,
    }
}
