//! Offers the seeds, and makes the scope from them.
//!
//! The data directory remembers all seeds it was ever given (`seeds.txt`), because they are what `scope` is made from: a
//! restart without seeds goes on with the scope of before, instead of throwing every link away. All of them are offered
//! at every start: a run that was killed while it offered them must not lose the rest.
//!
//! Not the reading of seeds files ([`seeds`](crate::seeds)). Invariant: a seed is remembered before it is offered.

use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;

use ahash::HashSet;
use frontier::{Canonical, Found, FoundUrl, Frontier, Priority, registrable_domain};
use tokio::sync::watch;
use tracing::{info, warn};
use url::Url;

use super::{DaemonError, Plan, blocking};
use crate::clock::Clock;
use crate::config::ScopeRules;
use crate::log_file::LogFile;
use crate::scope::{Scope, Verdict};
use crate::seeds::{Seed, SeedSource};

/// Seeds offered in one verb.
const BATCH: usize = 1000;

/// Remembers and offers seeds.
pub(super) async fn seed(
    frontier: &Arc<Frontier>,
    seeds: Vec<Seed>,
    plan: &Plan,
    clock: Clock,
    stop: watch::Receiver<bool>,
) -> Result<Scope, DaemonError> {
    let (frontier, rules) = (Arc::clone(frontier), plan.config.scope.clone());
    let priority = plan.config.priority.of(0);
    let path = plan.dir.join("seeds.txt");
    let seeded = blocking(move || {
        let (scope, all) = remember(&path, &rules, seeds).map_err(DaemonError::Log)?;
        offer(&frontier, &scope, &all, priority, clock, &stop)?;
        Ok(scope)
    });
    seeded.await?
}

/// The scope that the seeds of a stopped crawl make; nothing is written.
///
/// # Errors
/// When the list of its seeds cannot be read.
pub fn scope(dir: &Path, rules: &ScopeRules) -> io::Result<Scope> {
    let seeds = match remembered(&dir.join("seeds.txt")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        seeds => seeds?,
    };
    Ok(scope_of(rules, &seeds))
}

fn scope_of(rules: &ScopeRules, seeds: &[Seed]) -> Scope {
    let urls: Vec<Url> = seeds.iter().map(|seed| seed.url.clone()).collect();
    Scope::new(rules, &urls, registrable_domain)
}

/// The seeds of earlier runs.
fn remembered(path: &Path) -> io::Result<Vec<Seed>> {
    let file: Arc<Path> = path.into();
    let mut all: Vec<Seed> = Vec::new();
    for line in BufReader::new(std::fs::File::open(path)?).split(b'\n') {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        match Url::parse(&line) {
            Ok(url) => {
                let source = SeedSource::Line { file: Arc::clone(&file), line: all.len() as u64 + 1 };
                all.push(Seed { url, source });
            }
            Err(error) => warn!(file = %path.display(), %line, %error, "a remembered seed is skipped"),
        }
    }
    Ok(all)
}

/// All seeds, those of earlier runs first, and the scope that they make.
fn remember(path: &Path, rules: &ScopeRules, seeds: Vec<Seed>) -> io::Result<(Scope, Vec<Seed>)> {
    let mut log = LogFile::open(path)?;
    let mut all = remembered(path)?;
    tell_of_changes(&all, &seeds);
    let mut known: HashSet<String> = all.iter().map(|seed| seed.url.as_str().to_owned()).collect();
    let mut new_lines = String::new();
    for seed in seeds.into_iter().filter(|seed| known.insert(seed.url.as_str().to_owned())) {
        new_lines.push_str(seed.url.as_str());
        new_lines.push('\n');
        all.push(seed);
    }
    log.append(new_lines.as_bytes())?;
    if all.is_empty() {
        warn!("no seeds: nothing was given, and nothing is remembered from earlier runs");
    }
    Ok((scope_of(rules, &all), all))
}

/// Seeds that were not among those of earlier runs, and the other way round: the scope is made of all of them.
fn tell_of_changes(remembered: &[Seed], given: &[Seed]) {
    let Some(first) = remembered.first() else { return };
    let urls = |seeds: &[Seed]| seeds.iter().map(|seed| seed.url.as_str().to_owned()).collect::<HashSet<_>>();
    let (known, now) = (urls(remembered), urls(given));
    let added: Vec<_> = given.iter().filter(|seed| !known.contains(seed.url.as_str())).collect();
    if let Some(seed) = added.first() {
        let first = seed.url.as_str();
        warn!(seeds = added.len(), first, "seeds that earlier runs did not have: the scope grows by them");
    }
    let kept = remembered.iter().filter(|seed| !now.contains(seed.url.as_str())).count();
    if kept > 0 && !given.is_empty() {
        let first = first.url.as_str();
        warn!(seeds = kept, first, "seeds of earlier runs that are not given now still count, also for the scope");
    }
}

/// Offers the seeds, until it is told to stop: the next run offers them again.
fn offer(
    frontier: &Frontier,
    scope: &Scope,
    seeds: &[Seed],
    priority: Priority,
    clock: Clock,
    stop: &watch::Receiver<bool>,
) -> Result<(), frontier::Error> {
    let mut discovered = 0;
    for batch in seeds.chunks(BATCH) {
        if *stop.borrow() {
            warn!("told to stop before all seeds were offered; the next run goes on with them");
            break;
        }
        let mut found = Found::default();
        for seed in batch {
            match frontier.rules().canonical(seed.url.clone()) {
                Ok(canonical) => sort(&mut found, scope, canonical, priority, seed),
                Err(error) => {
                    warn!(source = %seed.source, url = %seed.url, %error, "a seed cannot be crawled");
                    found.invalid += 1;
                }
            }
        }
        discovered += frontier.offer(&found, None, clock.now())?.discovered;
    }
    info!(seeds = seeds.len(), new = discovered, "seeds offered");
    Ok(())
}

fn sort(found: &mut Found, scope: &Scope, canonical: Canonical, priority: Priority, seed: &Seed) {
    match scope.judge(canonical.url(), canonical.host(), canonical.registrable_domain()) {
        Verdict::In => found.urls.push(FoundUrl { priority, ..FoundUrl::new(canonical, 0) }),
        Verdict::Out(rule) => {
            warn!(source = %seed.source, url = %seed.url, rule = rule.name(), "a seed is out of scope");
            found.out_of_scope += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seed(url: &str) -> Seed {
        Seed { url: Url::parse(url).expect("a URL"), source: SeedSource::Argument { position: 1 } }
    }

    #[test]
    fn a_restart_without_seeds_keeps_the_scope() {
        let dir = tempfile::tempdir().expect("a directory for the test");
        let path = dir.path().join("seeds.txt");
        let rules = ScopeRules::default();
        let admits = |seeds: Vec<Seed>, host: &str| {
            let (scope, all) = remember(&path, &rules, seeds).expect("remembered");
            (scope.judge(&format!("http://{host}/"), host, host) == Verdict::In, all.len())
        };
        assert_eq!(admits(vec![], "a.test"), (false, 0));
        assert_eq!(admits(vec![seed("http://a.test/"), seed("http://a.test/")], "a.test"), (true, 1));
        assert_eq!(admits(vec![], "a.test"), (true, 1), "and is offered again");
        assert_eq!(admits(vec![seed("http://b.test/x"), seed("http://a.test/")], "a.test"), (true, 2));
        assert_eq!(std::fs::read_to_string(&path).expect("read"), "http://a.test/\nhttp://b.test/x\n");
    }
}
