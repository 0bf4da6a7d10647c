//! The two statistics logs: aligned columns for people, JSON Lines for programs; the same moments in both.
//!
//! Not the daemon's own messages (those go to standard error). Invariant: both files get every snapshot, in the same
//! order, as whole lines.
//!
//! The columns are those of Heritrix's `progress-statistics.log` where it has them, under its names.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use super::Snapshot;
use crate::log_file::LogFile;

/// Lines between two legends.
const LEGEND_INTERVAL: u32 = 20;

/// The two open logs.
#[derive(Debug)]
pub struct StatisticsLog {
    columns: LogFile,
    json: LogFile,
    lines_since_legend: u32,
}

impl StatisticsLog {
    /// Opens both in `log_dir`, which exists. The first line will have a legend above it.
    ///
    /// # Errors
    /// When one of them cannot be opened.
    pub fn open(log_dir: &Path) -> io::Result<Self> {
        Ok(Self {
            columns: LogFile::open(&log_dir.join("crawl-statistics.log"))?,
            json: LogFile::open(&log_dir.join("crawl-statistics.jsonl"))?,
            lines_since_legend: LEGEND_INTERVAL,
        })
    }

    /// Writes one moment to both.
    ///
    /// # Errors
    /// When the disk does not take it.
    pub fn write(&mut self, snapshot: &Snapshot) -> io::Result<()> {
        let mut text = String::new();
        if self.lines_since_legend >= LEGEND_INTERVAL {
            self.lines_since_legend = 0;
            text.push_str(&legend());
        }
        self.lines_since_legend += 1;
        text.push_str(&columns(snapshot));
        self.columns.append(text.as_bytes())?;
        let mut json = serde_json::to_string(snapshot).expect("numbers and texts are JSON");
        json.push('\n');
        self.json.append(json.as_bytes())
    }
}

fn legend() -> String {
    format!(
        "{:24} {:8} {:>11} {:>11} {:>11} {:>17} {:>17} {:>9} {:>5} {:>9} {:>17}  {}\n",
        "timestamp",
        "event",
        "discovered",
        "queued",
        "downloaded",
        "docs/s(avg)",
        "KiB/s(avg)",
        "failures",
        "busy",
        "mem-MiB",
        "hosts(waiting)",
        "why"
    )
}

fn columns(s: &Snapshot) -> String {
    let pair = |now: f64, average: f64| format!("{now:.1}({average:.1})");
    let mut line = format!(
        "{:24} {:8} {:>11} {:>11} {:>11} {:>17} {:>17} {:>9} {:>5} {:>9.1} {:>17}",
        s.timestamp,
        s.event.name(),
        s.discovered,
        s.queued,
        s.fetched,
        pair(s.pages_per_sec, s.pages_per_sec_average),
        pair(s.bytes_per_sec / 1024.0, s.bytes_per_sec_average / 1024.0),
        s.failed,
        s.busy_workers,
        s.resident_bytes as f64 / f64::from(1 << 20),
        format!("{}({})", s.hosts, s.hosts_waiting),
    );
    match &s.reason {
        Some(reason) => writeln!(line, "  {}", reason.replace(['\n', '\r'], " ")),
        None => writeln!(line, "  -"),
    }
    .expect("a string takes every text");
    line
}

#[cfg(test)]
mod tests {
    use super::super::Event;
    use super::super::tests::snapshot;
    use super::*;

    #[test]
    fn columns_stand_under_their_legend() {
        let (legend, line) = (legend(), columns(&snapshot(Event::Interval)));
        let ends = |text: &str| -> Vec<usize> {
            text.char_indices().filter(|(i, c)| *c != ' ' && text[i + 1..].starts_with(' ')).map(|(i, _)| i).collect()
        };
        assert_eq!(ends(&legend)[2..], ends(&line)[2..], "\n{legend}{line}");
        assert_eq!(legend.split_whitespace().count(), line.split_whitespace().count());
    }

    #[test]
    fn a_legend_at_the_start_and_every_twenty_lines() {
        let dir = tempfile::tempdir().expect("a directory for the test");
        let mut log = StatisticsLog::open(dir.path()).expect("opened");
        for _ in 0..41 {
            log.write(&snapshot(Event::Interval)).expect("written");
        }
        let text = std::fs::read_to_string(dir.path().join("crawl-statistics.log")).expect("read");
        let legends: Vec<_> = text.lines().enumerate().filter(|(_, line)| line.starts_with("timestamp")).collect();
        assert_eq!(legends.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [0, 21, 42]);
        let json = std::fs::read_to_string(dir.path().join("crawl-statistics.jsonl")).expect("read");
        for line in json.lines() {
            let back: Snapshot = serde_json::from_str(line).expect("a snapshot");
            assert_eq!(back, snapshot(Event::Interval));
        }
        assert_eq!(json.lines().count(), 41);
    }
}
