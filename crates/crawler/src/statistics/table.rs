//! A snapshot as a page of text: what `crawld stats` and `crawld demo` print.
//!
//! Not a log and not for programs (those read the JSON). Invariant: every sum that is shown adds up line by line, in
//! the order of the books, so that a reader can check it.

use std::fmt::{self, Display, Write as _};

use super::Snapshot;

/// Writes the books of one moment as text of some 40 lines.
pub fn report(s: &Snapshot) -> String {
    let mut out = String::new();
    write_report(&mut out, s).expect("a string takes every text");
    out
}

fn write_report(out: &mut String, s: &Snapshot) -> fmt::Result {
    writeln!(out, "Candidates found                {:>12}", s.urls_found)?;
    part(out, "same link earlier on its page", s.page_duplicates)?;
    part(out, "not a URL to crawl", s.invalid)?;
    part(out, "refused (depth, limits, traps)", s.refused)?;
    part(out, "out of scope", s.out_of_scope)?;
    part(out, "offered to the frontier", s.offered)?;
    writeln!(out, "Offered                         {:>12}", s.offered)?;
    part(out, "seen, known from memory", s.hot_cache_seen)?;
    part(out, "filter: absent, so new", s.filter_absent)?;
    part(out, "filter: maybe, so looked up", s.filter_maybe)?;
    writeln!(out, "Filter said maybe               {:>12}", s.filter_maybe)?;
    part(out, "seen, confirmed", s.confirmed_seen)?;
    part(out, "false positives, new after all", s.false_positives)?;
    part(out, "stale positives, new", s.stale_positives)?;
    part(out, "filter bypassed, new", s.filter_bypassed)?;
    writeln!(out, "URLs discovered                 {:>12}", s.discovered)?;
    part(out, "fetched", s.fetched)?;
    part(out, "queued", s.queued)?;
    part(out, "in flight", s.in_flight)?;
    part(out, "failed", s.failed)?;
    part(out, "denied by robots.txt", s.robots_denied)?;
    part(out, "excluded by a rule", s.excluded)?;
    let others = [("parked", s.parked), ("imported as seen", s.imported_seen), ("forgotten", s.forgotten)];
    for (name, count) in others.into_iter().filter(|(_, count)| *count != 0) {
        part(out, name, count)?;
    }
    if s.imported != 0 {
        writeln!(out, "  (of them imported             {:>12})", s.imported)?;
    }
    writeln!(out, "Requests, robots.txt included   {:>12}", s.fetches)?;
    part(out, "2xx", s.status_2xx)?;
    part(out, "3xx", s.status_3xx)?;
    part(out, "4xx", s.status_4xx)?;
    part(out, "5xx", s.status_5xx)?;
    let answered = s.status_2xx + s.status_3xx + s.status_4xx + s.status_5xx;
    part(out, "without an answer", s.fetches - answered)?;
    gauges(out, s)
}

fn gauges(out: &mut String, s: &Snapshot) -> fmt::Result {
    line(out, "Downloaded", bytes(s.bytes_downloaded as f64))?;
    if s.revisits != 0 || s.due_again != 0 {
        line(out, "Visited again (not modified)", format!("{} ({})", s.revisits, s.not_modified))?;
        line(out, "Due again later", s.due_again)?;
    }
    if s.duplicate_pages + s.near_duplicate_pages != 0 {
        line(out, "Copies of pages (nearly)", format!("{} ({})", s.duplicate_pages, s.near_duplicate_pages))?;
    }
    if s.over_budget != 0 {
        line(out, "New, over a budget, not kept", s.over_budget)?;
    }
    line(out, "Hosts (waiting)", format!("{} ({})", s.hosts, s.hosts_waiting))?;
    if s.hosts_slowed != 0 {
        line(out, "Hosts slowed", s.hosts_slowed.to_string())?;
    }
    line(out, "Filter, layers", format!("{}, {}", bytes(s.filter_bytes as f64), s.filter_layers))?;
    let measured = s.false_positive_rate_measured.map_or("-".to_owned(), |rate| format!("{rate:.6}"));
    line(
        out,
        "Filter's false positives",
        format!("{measured} measured, {:.6} predicted", s.false_positive_rate_predicted),
    )?;
    line(out, "Store, journal on disk", format!("{}, {}", bytes(s.store_bytes as f64), bytes(s.journal_bytes as f64)))?;
    if s.resident_bytes > 0 {
        let (now, average) = (s.pages_per_sec, s.pages_per_sec_average);
        line(out, "Pages per second", format!("{average:.1} on average, {now:.1} since the last line"))?;
        line(out, "Memory of the process", bytes(s.resident_bytes as f64))?;
        line(out, "Running for", format!("{:.1} s", s.elapsed_secs))?;
    }
    if let Some(reason) = &s.reason {
        line(out, "Note", reason)?;
    }
    Ok(())
}

fn part(out: &mut String, name: &str, count: i64) -> fmt::Result {
    writeln!(out, "  {name:<30}{count:>12}")
}

fn line(out: &mut String, name: &str, value: impl Display) -> fmt::Result {
    writeln!(out, "{name:<32}{value}")
}

/// A size in the largest binary unit that leaves a number of at least 1.
fn bytes(size: f64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut size = size;
    let mut unit = 0;
    while size >= 1024.0 && unit + 1 < units.len() {
        size /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{size:.0} B") } else { format!("{size:.1} {}", units[unit]) }
}

#[cfg(test)]
mod tests {
    use super::super::Event;
    use super::super::tests::snapshot;
    use super::*;

    #[test]
    fn every_sum_adds_up_on_paper() {
        let text = report(&snapshot(Event::Done));
        let (mut sum, mut parts, mut checked) = (0, 0, 0);
        for line in text.lines().take_while(|line| !line.starts_with("Downloaded")).chain(["the end 0"]) {
            let Some(count) = line.split_whitespace().last().and_then(|word| word.parse::<i64>().ok()) else {
                continue;
            };
            if line.starts_with("  ") {
                parts += count;
            } else {
                assert_eq!(sum, parts, "above {line:?} in\n{text}");
                (sum, parts) = (count, 0);
                checked += 1;
            }
        }
        assert_eq!(checked, 6, "{text}");
        assert!(text.contains("Note                            why it ended"), "{text}");
    }

    #[test]
    fn sizes_have_units() {
        for (size, text) in [(0.0, "0 B"), (1023.0, "1023 B"), (1536.0, "1.5 KiB"), (5e15, "4547.5 TiB")] {
            assert_eq!(bytes(size), text);
        }
    }
}
