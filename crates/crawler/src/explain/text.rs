//! An explanation for people, and as JSON for programs.
//!
//! Invariant: what comes from outside is written with every control, invisible or direction-changing character escaped:
//! a URL must not be able to move the cursor of whoever asks for it.

use std::fmt::{self, Write as _};

use super::{BudgetView, Explained, HostView, RecordView, RobotsView, SeenView, UrlView};

/// Longest piece of a text that only illustrates, in bytes.
const MAX_EXCERPT_BYTES: usize = 300;

/// Width of the names.
const NAME: usize = 16;

/// One JSON object and a line end; ASCII only.
pub fn to_json(explained: &Explained) -> String {
    let json = serde_json::to_string(explained).expect("numbers and texts are JSON");
    let mut out = String::with_capacity(json.len() + 1);
    // JSON itself is ASCII: all else stands inside a string, where an escape means the same.
    for unit in json.encode_utf16() {
        match u8::try_from(unit) {
            Ok(byte @ ..0x7f) => out.push(char::from(byte)),
            _ => write!(out, "\\u{unit:04x}").expect("a string takes every text"),
        }
    }
    out.push('\n');
    out
}

/// Text of some 40 lines.
pub fn to_text(explained: &Explained) -> String {
    let mut out = Page(String::new());
    write_page(&mut out, explained).expect("a string takes every text");
    out.0
}

/// What is written, line by line; texts are made printable here and nowhere else.
struct Page(String);

impl Page {
    fn title(&mut self, title: &str) -> fmt::Result {
        writeln!(self.0, "\n{}", printable(title))
    }

    fn line(&mut self, name: &str, value: impl AsRef<str>) -> fmt::Result {
        writeln!(self.0, "  {name:<NAME$}{}", printable(value.as_ref()))
    }
}

fn write_page(out: &mut Page, all: &Explained) -> fmt::Result {
    writeln!(out.0, "{}\n{}", printable(&all.url.input), printable(&all.verdict))?;
    if !all.canonical_differs.is_empty() {
        let names = all.canonical_differs.join(", ");
        writeln!(
            out.0,
            "WARNING: this config has other canonical rules ({}); the directory's own hold",
            printable(&names)
        )?;
    }
    write_url(out, &all.url)?;
    out.title("Scope")?;
    out.line("verdict", if all.scope.in_scope { "in" } else { "out" })?;
    out.line("decided by", format!("{}: {}", all.scope.decided_by, all.scope.why))?;
    out.line("traps", all.scope.trap.as_ref().map_or("none".to_owned(), |trap| format!("more than {trap}")))?;
    out.line("depth", format!("links lead at most {} deep (crawl.max_depth)", all.scope.max_depth))?;
    write_seen(out, &all.seen)?;
    if let Some(record) = &all.record {
        write_record(out, record, &all.url.fetch_url)?;
    }
    write_host(out, &all.host)?;
    out.line("robots.txt", robots(&all.robots))?;
    all.budget.as_ref().map_or(Ok(()), |budget| write_budget(out, budget))?;
    if all.crawl.max_pages == 0 {
        return Ok(());
    }
    out.title("Whole crawl")?;
    out.line("pages", format!("{} of {} (crawl.max_pages)", all.crawl.pages, all.crawl.max_pages))
}

fn write_url(out: &mut Page, url: &UrlView) -> fmt::Result {
    out.title("URL")?;
    for step in &url.steps {
        out.line("changed by", format!("{:<26} {}", step.rule, step.after))?;
    }
    out.line("fetch URL", &url.fetch_url)?;
    out.line("key", &url.key)?;
    out.line("partition", format!("{} of {}, by {}", url.partition, url.partitions, url.registrable_domain))
}

fn write_seen(out: &mut Page, seen: &SeenView) -> fmt::Result {
    out.title("Seen-test")?;
    out.line("hot cache", if seen.hot_cache { "seen" } else { "not in it" })?;
    match (&seen.filter, &seen.filter_says) {
        (Some(kind), Some(says)) => out.line("filter", format!("{says} ({kind})"))?,
        _ => out.line("filter", "being rebuilt: the exact set answers alone")?,
    }
    for (index, layer) in seen.layers.iter().enumerate() {
        let fill = format!("{:<8}{} of {} URLs", layer.says, layer.urls, layer.capacity);
        out.line(&format!("  layer {index}"), fill)?;
    }
    out.line("exact set", seen.exact.replace('_', " "))
}

fn write_record(out: &mut Page, record: &RecordView, asked: &str) -> fmt::Result {
    out.title("Record")?;
    out.line("state", format!("{} (kept in {})", record.state.replace('_', " "), record.kept_in))?;
    if record.fetch_url != asked {
        out.line("first found as", &record.fetch_url)?;
    }
    out.line("depth", record.depth.to_string())?;
    out.line("first seen", &record.first_seen)?;
    let found_on = match (&record.found_on, record.found_on_kept.as_str()) {
        (Some(page), _) => page.as_str(),
        (None, "none") => "no page: a seed, or imported or released",
        (None, "in_crawl_log") => {
            "kept only until it was asked for; its line in log/crawl.log has it, in the sixth column"
        }
        (None, _) => "not kept",
    };
    out.line("found on", found_on)?;
    let unfinished = match record.unfinished_leases {
        0 => String::new(),
        count => format!(", {count} leases begun and not ended"),
    };
    out.line("attempts", format!("{} without a final outcome{unfinished}", record.attempts))?;
    let status = match (record.last_status, &record.last_status_means) {
        (Some(status), Some(means)) => format!("{status} ({means})"),
        (Some(status), None) => status.to_string(),
        (None, _) => "none yet".to_owned(),
    };
    out.line("last status", status)?;
    let due = record.next_due.as_ref().zip(record.next_due_in_ms);
    out.line("next due", due.map_or("never".to_owned(), |(at, ms)| when(at, ms)))
}

fn write_host(out: &mut Page, host: &HostView) -> fmt::Result {
    out.title(&format!("Host {}", host.name))?;
    if !host.is_known {
        out.line("known", "no: nothing was asked or heard of it")?;
    }
    out.line("may be asked", when(&host.next_slot, host.next_slot_in_ms))?;
    let last = match host.last_delay_ms {
        last if last == host.delay_ms || !host.is_known => String::new(),
        last => format!("; {last} ms after the last one"),
    };
    out.line("delay", format!("{} ms from the end of a response{last}", host.delay_ms))?;
    if let Some(why) = &host.refused {
        out.line("refused", why)?;
    }
    if let Some(reason) = &host.slowed_by {
        out.line("slowed", format!("{reason}: it grows without end, so its delay is multiplied (see crawld budget)"))?;
    }
    if host.trusted {
        out.line("trusted", "to grow: the growth guard leaves it alone")?;
    }
    out.line("requests open", host.in_flight.to_string())?;
    if let (Some(until), Some(reason), Some(means)) = (&host.blocked_until, &host.blocked_by, &host.blocked_means) {
        out.line("blocked until", format!("{until} ({reason}: {means})"))?;
    }
    out.line("failures", format!("{} not yet made good", host.failures))?;
    let HostView { urls, queued, pages, parked, .. } = host;
    out.line("URLs", format!("{urls}: {queued} queued, {pages} fetched; {parked} parked beside them"))
}

fn robots(robots: &RobotsView) -> String {
    let until = robots.known_until.as_ref().map_or(String::new(), |until| format!(" (known until {until})"));
    let what = match (robots.verdict.as_str(), robots.line.zip(robots.rule.as_ref())) {
        ("not_obeyed", _) => "not obeyed: politeness.obey_robots = false".to_owned(),
        ("not_known", _) => format!("not known: {}/robots.txt is asked for before the first page", robots.origin),
        ("unreachable", _) => "could not be had: nothing is asked for".to_owned(),
        (verdict, Some((line, rule))) => format!("{verdict} by line {line}: {rule}"),
        (verdict, None) => format!("{verdict}: no rule matches"),
    };
    format!("{what}{until}")
}

fn write_budget(out: &mut Page, budget: &BudgetView) -> fmt::Result {
    out.title("Budgets")?;
    for limit in &budget.limits {
        let granted = match limit.granted {
            Some(0) => String::new(),
            Some(more) => format!(" and {more} granted"),
            None => ", lifted".to_owned(),
        };
        writeln!(out.0, "  {:<29} {} of {}{granted}", limit.name, limit.used, limit.limit)?;
    }
    let room = match &budget.held_by {
        None => "there is room for one more new URL".to_owned(),
        Some(name) if budget.parks => format!("no more by {name}: new URLs are parked"),
        Some(name) => format!("no more by {name}: new URLs are not kept"),
    };
    out.line("room", room)
}

fn when(at: &str, in_ms: u64) -> String {
    match in_ms {
        0 => "now".to_owned(),
        ms if ms < 60_000 => format!("{at}, in {}.{} s", ms / 1000, ms % 1000 / 100),
        ms => format!("{at}, in {} min", ms.div_ceil(60_000)),
    }
}

/// The text with everything escaped that is not seen as itself. Quotes and backslashes stay.
fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '\'' | '\\' => out.push(c),
            _ => out.extend(c.escape_debug()),
        }
    }
    out
}

/// A text from outside for a message: quoted, cut, without control characters.
pub fn quoted(text: &str) -> String {
    format!("{:?}", excerpt(text))
}

/// The start of a text, with a mark where it was cut.
pub(super) fn excerpt(text: &str) -> String {
    if text.len() <= MAX_EXCERPT_BYTES {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(MAX_EXCERPT_BYTES)])
}
