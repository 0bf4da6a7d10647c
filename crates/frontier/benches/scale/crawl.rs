//! Lease and complete, and how long each takes: the whole spell, and apart from it while a merge ran.

use std::time::{Duration, Instant};

use frontier::{Completion, Found, Frontier, Health, HostReport, Next, Outcome, Tally};

use crate::process::rss_mib;

/// How one spell of a crawl goes.
pub struct Spell {
    pub name: &'static str,
    pub lasts: Duration,
    /// The frontier's time at its beginning, in milliseconds.
    pub from: u64,
    pub delay_ms: u64,
}

/// Crawls for a while; each page brings what `page` makes.
pub fn crawl(frontier: &Frontier, spell: &Spell, mut page: impl FnMut() -> Found) {
    let (mut leases, mut completions, mut idle) = (Vec::new(), Vec::new(), Duration::ZERO);
    let before = frontier.statistics().expect("answers");
    let start = Instant::now();
    while start.elapsed() < spell.lasts {
        let now = spell.from + start.elapsed().as_millis() as u64;
        let began = Instant::now();
        let next = frontier.lease(now).expect("answers");
        leases.push(began.elapsed());
        let Next::Lease(lease) = next else {
            let rest = Instant::now();
            std::thread::sleep(Duration::from_millis(1));
            idle += rest.elapsed();
            continue;
        };
        let found = page();
        let host = Some(HostReport { ended: now, delay_ms: spell.delay_ms, health: Health::Answered });
        let tally = Tally { fetches: 1, bytes: 20_000, statuses: [1, 0, 0, 0] };
        let completion = Completion {
            outcome: Outcome::Fetched { status: 200 },
            host,
            tally,
            visit: frontier::Visit::default(),
            found: &found,
        };
        let began = Instant::now();
        frontier.complete(lease, &completion, now).expect("completes");
        completions.push(began.elapsed());
    }
    let after = frontier.statistics().expect("answers");
    let rate = completions.len() as f64 / start.elapsed().as_secs_f64();
    let links = (after.books.offered - before.books.offered) as f64 / completions.len().max(1) as f64;
    println!(
        "{}: {rate:.0} pages/s of {links:.0} URLs, {} merges, {} MiB, nothing due for {idle:.1?} of {:.0?}",
        spell.name,
        after.merges - before.merges,
        rss_mib(),
        spell.lasts
    );
    print_times("lease", leases);
    print_times("complete", completions);
}

fn print_times(name: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |share: f64| times.get(((times.len().max(1) - 1) as f64 * share) as usize).copied().unwrap_or_default();
    let [median, p99, p999, p9999, longest] = [0.5, 0.99, 0.999, 0.9999, 1.0].map(at);
    let slow = times.iter().filter(|time| **time > Duration::from_millis(500)).count();
    println!(
        "{name:>10}: median {median:.1?}, 99 % {p99:.1?}, 99.9 % {p999:.1?}, 99.99 % {p9999:.1?}, longest {longest:.1?}; \
         {slow} of {} over 0.5 s",
        times.len()
    );
}
