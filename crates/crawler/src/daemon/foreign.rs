//! Whether a directory that holds no crawl may become one: only where nothing of somebody else's is in it.
//!
//! One letter forgotten after `--data`, and a crawl's files lie among somebody's own. Not the crawl's own consistency (the
//! frontier looks at that when it opens). Invariant: looking makes nothing.

use std::path::Path;

/// What crawld itself makes in a data directory, also one that was killed before it had made `frontier.meta`; and what a
/// file system makes in its root.
const OWN: [&str; 12] = [
    "lock",
    "frontier.tmp",
    "journal",
    "partitions",
    "rekeying",
    "seeds.txt",
    "last-run.toml",
    "last-run.tmp",
    "log",
    "control.sock",
    "control.tmp",
    "lost+found",
];

/// Names that are told.
const TOLD: usize = 3;

/// What of somebody else's is in the way, and how to go on; `None` where a crawl is, or may be made, and where the directory
/// cannot be read: whoever opens it says why.
pub fn foreign(dir: &Path) -> Option<String> {
    if dir.join("frontier.meta").exists() {
        return None;
    }
    let (mut told, mut more) = (Vec::new(), 0);
    for entry in std::fs::read_dir(dir).ok()?.flatten() {
        let name = entry.file_name();
        if OWN.iter().any(|own| name == *own) {
            continue;
        }
        told.push(name.to_string_lossy().into_owned());
        told.sort_unstable();
        if told.len() > TOLD {
            told.pop();
            more += 1;
        }
    }
    if told.is_empty() {
        return None;
    }
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Some(format!(
        "{} holds no crawl, but files that crawld has not made: {told:?}{more}; give a new or an empty directory (--data DIR)",
        dir.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_of_somebody_else_s_is_refused_and_an_own_one_is_not() {
        let dir = tempfile::tempdir().expect("a directory");
        let said = || foreign(dir.path());
        let write = |name: &str| std::fs::write(dir.path().join(name), "").expect("written");
        assert_eq!(said(), None, "empty");
        assert_eq!(foreign(&dir.path().join("missing")), None);
        ["lock", "frontier.tmp", "seeds.txt", "lost+found"].into_iter().for_each(write);
        assert_eq!(said(), None, "killed before it was made");
        ["d.html", "b.html", "a.html"].into_iter().for_each(write);
        let refused = said().expect("is refused");
        assert!(
            refused.contains("not made: [\"a.html\", \"b.html\", \"d.html\"]; give a new or an empty"),
            "{refused}"
        );
        ["c.html", "e\u{1b}.html"].into_iter().for_each(write);
        let refused = said().expect("is refused");
        assert!(refused.contains("[\"a.html\", \"b.html\", \"c.html\"] and 2 more; "), "{refused}");
        write("frontier.meta");
        assert_eq!(said(), None, "what lies beside a crawl is nobody's business");
    }
}
