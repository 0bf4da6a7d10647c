//! Says what a run finds in its data directory: an earlier crawl, what is asked otherwise than the last time, and beside it
//! what a rekey that was killed has left.
//!
//! Old state under new settings is what an operator may not expect: URLs that were refused stay unknown, queued ones are
//! still fetched. So it is never silent. The directory remembers what decided on the last run's URLs in `last-run.toml`; of
//! seeds, `seeding` tells. Invariant: what has changed is told before it is remembered.

use std::io;
use std::path::Path;

use frontier::{LeftOver, Rekey};
use toml::{Table, Value};
use tracing::{info, warn};

use crate::config::Config;
use crate::statistics::Snapshot;

/// Tells of the crawl that the directory holds, and of settings that differ from the last run's; remembers these.
pub(super) fn announce(dir: &Path, config: &Config, before: &Snapshot) -> io::Result<()> {
    let path = dir.join("last-run.toml");
    let known = before.discovered + before.imported - before.forgotten;
    if known > 0 {
        info!(urls = known, queued = before.queued, "an earlier crawl is in this directory, and goes on");
    }
    match Rekey::left_over(dir) {
        Some(LeftOver::New(path)) => warn!(
            path = %path.display(),
            "left by a rekey that was killed: an unfinished new directory, of which nothing is needed; delete it, or run crawld \
             rekey again once this crawl is stopped"
        ),
        Some(LeftOver::Old(path)) => warn!(
            path = %path.display(),
            "left by a rekey that was killed: the old directory; run the same crawld rekey again once this crawl is stopped, and \
             it is put aside"
        ),
        None => {}
    }
    let now = settings(config);
    let last = match std::fs::read_to_string(&path) {
        Ok(text) => text.parse::<Table>().unwrap_or_default(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Table::new(),
        Err(error) => return Err(error),
    };
    if last == now {
        return Ok(());
    }
    for (setting, was, is) in differences(&last, &now) {
        warn!(setting, was, is, "changed since the last run; what is known already is not judged again");
    }
    let temporary = path.with_extension("tmp");
    std::fs::write(
        &temporary,
        format!("# What the last run was started with; the next says what has changed.\n{now}"),
    )?;
    std::fs::rename(&temporary, &path)
}

/// What decides on which URLs belong to the crawl.
fn settings(config: &Config) -> Table {
    let scope = Value::try_from(&config.scope).expect("texts and lists of them");
    let max_depth = Value::Integer(i64::from(config.crawl.max_depth));
    let crawl = Table::from_iter([("max_depth".to_owned(), max_depth)]);
    Table::from_iter([("crawl".to_owned(), Value::Table(crawl)), ("scope".to_owned(), scope)])
}

/// Keys that both have with other values, and both values.
fn differences(last: &Table, now: &Table) -> Vec<(String, String, String)> {
    let mut all = Vec::new();
    for (section, values) in now {
        let (Some(last), Some(now)) = (last.get(section).and_then(Value::as_table), values.as_table()) else {
            continue;
        };
        let keys = now.keys().chain(last.keys().filter(|key| !now.contains_key(*key)));
        for key in keys.filter(|key| last.get(*key) != now.get(*key)) {
            let said = |table: &Table| table.get(key).map_or_else(|| "nothing".to_owned(), Value::to_string);
            all.push((format!("{section}.{key}"), said(last), said(now)));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_named_with_both_values() {
        let mut config = Config::default();
        let before = settings(&config);
        assert_eq!(differences(&before, &before), []);
        assert_eq!(differences(&Table::new(), &before), [], "a first run changes nothing");
        config.crawl.max_depth = 3;
        let now = settings(&config);
        let depth = ("crawl.max_depth".to_owned(), "50".to_owned(), "3".to_owned());
        assert_eq!(differences(&before, &now), [depth]);
        let read: Table = now.to_string().parse().expect("TOML");
        assert_eq!(read, now);
    }
}
