//! The data directory: who holds it, and what it was made under.
//!
//! ```text
//! lock          held (flock) by the process that has the directory open; its pid inside
//! frontier.meta what the directory was made under, mode 0600 (it holds the crawl's secret)
//! journal/      see `journal`
//! partitions/NN/store   see `store`;  partitions/NN/blocks   see `store/blocks`;  partitions/NN/filter   see `checkpoint`
//! ```

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::canonical::{self, RuleOptions};
use crate::disk;
use crate::error::{Error, IoContext};
use crate::fingerprint::Secret;
use crate::steps::{Step, step};

/// Version of everything that is written below the directory, and its name in the meta file.
const FORMAT_VERSION: u32 = 3;
const FORMAT: &str = "format_version";

/// How long a lock is waited for.
const LOCK_PATIENCE: Duration = Duration::from_secs(1);

/// Holds the data directory until dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    /// `None` on a simulated disk, which nobody else has.
    _file: Option<File>,
}

/// What a data directory was made under; fixed for its life.
#[derive(Debug)]
pub(crate) struct Meta {
    pub(crate) partitions: u16,
    pub(crate) secret: Secret,
    /// The rules that its keys were made by.
    pub(crate) rules: RuleOptions,
}

/// Takes the directory, or says who has it.
///
/// A lock may outlive its holder for a moment: the store starts `sync` processes, and one that is just being started has
/// a copy of the lock's descriptor. So whoever has it is waited for a little.
pub(crate) fn lock(dir: &Path) -> Result<Lock, Error> {
    #[cfg(test)]
    if disk::simulated::of(dir).is_some() {
        return Ok(Lock { _file: None });
    }
    let path = dir.join("lock");
    let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).at(&path)?;
    let deadline = Instant::now() + LOCK_PATIENCE;
    loop {
        match file.try_lock() {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(error).at(&path),
        }
        let mut pid = String::new();
        file.rewind().and_then(|()| (&mut file).take(16).read_to_string(&mut pid)).at(&path)?;
        if Instant::now() > deadline {
            return Err(Error::InUse { dir: dir.to_owned(), pid: pid.trim().parse().unwrap_or(0) });
        }
        std::thread::sleep(LOCK_PATIENCE / 100);
    }
    file.set_len(0).and_then(|()| file.rewind()).at(&path)?;
    writeln!(file, "{}", std::process::id()).at(&path)?;
    Ok(Lock { _file: Some(file) })
}

/// Reads what the directory was made under, or makes it so. Under other rules it is not opened: a URL would have a
/// second key, and be new again.
pub(crate) fn meta(dir: &Path, partitions: u16, rules: &RuleOptions) -> Result<Meta, Error> {
    let path = meta_path(dir);
    if disk::exists(&path) {
        // Whoever made it may have been killed before its name was durable.
        disk::sync_dir(dir).at(dir)?;
        let meta = read_meta(dir)?;
        let differing = meta.rules.differing(rules);
        if !differing.is_empty() {
            let what = format!(
                "made under other canonical rules ({}); set those that stand in its frontier.meta, or take the crawl over \
                 to the new ones: {}",
                differing.join(", "),
                rekey(dir)
            );
            return Err(Error::Incompatible { path: dir.to_owned(), what });
        }
        return Ok(meta);
    }
    if disk::exists(&dir.join("journal")) || disk::exists(&dir.join("partitions")) {
        // A new secret would make every fingerprint new: a second crawl inside the first.
        let what = "is missing, but journal or partitions are there; put it back, or use an empty directory".to_owned();
        return Err(Error::corrupt(&path, what));
    }
    let secret = disk::random_bytes(dir).at(dir)?;
    let meta = Meta { partitions, secret: Secret::new(secret), rules: rules.clone() };
    let temporary = path.with_extension("tmp");
    let mut file = disk::create(&temporary, 0o600).at(&temporary)?;
    file.append(format_meta(&meta).as_bytes()).and_then(|()| file.sync()).at(&temporary)?;
    step(Step::MetaWritten);
    disk::rename(&temporary, &path).at(&path)?;
    step(Step::MetaNamed);
    disk::sync_dir(dir).at(dir)?;
    Ok(meta)
}

/// Reads what an existing directory was made under.
pub(crate) fn read_meta(dir: &Path) -> Result<Meta, Error> {
    let text = read_text(dir)?;
    for (name, ours) in versions() {
        let theirs = value(&text, dir, name)?;
        if theirs != ours {
            if name == FORMAT {
                return Err(of_another_format(dir, theirs));
            }
            let what = format!(
                "made with {name} {theirs}, this program has {ours}. To take the crawl over, with this program and its \
                 config: {}",
                rekey(dir)
            );
            return Err(Error::Incompatible { path: dir.to_owned(), what });
        }
    }
    let rules = serde_json::from_str(value(&text, dir, "canonical_rules")?);
    let rules = rules.map_err(|_| Error::corrupt(&meta_path(dir), "canonical_rules is malformed".to_owned()))?;
    parse_meta(&text, dir, rules)
}

/// The same for whoever makes no keys by its rules, which may be those of another program; and whether they are not. Only
/// the format has to be this program's.
pub(crate) fn read_meta_of_any_rules(dir: &Path) -> Result<(Meta, bool), Error> {
    let text = read_text(dir)?;
    let theirs = value(&text, dir, FORMAT)?;
    if theirs != FORMAT_VERSION.to_string() {
        return Err(of_another_format(dir, theirs));
    }
    let rules = serde_json::from_str(value(&text, dir, "canonical_rules")?);
    let is_current =
        rules.is_ok() && versions().iter().all(|(name, ours)| value(&text, dir, name).is_ok_and(|v| v == ours));
    Ok((parse_meta(&text, dir, rules.unwrap_or_default())?, is_current))
}

/// Whether a directory was made, whatever by.
pub(crate) fn is_made(dir: &Path) -> bool {
    meta_path(dir).exists()
}

fn read_text(dir: &Path) -> Result<String, Error> {
    let path = meta_path(dir);
    let bytes = match disk::read(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(Error::NoCrawl(dir.to_owned())),
        read => read.at(&path)?,
    };
    String::from_utf8(bytes).map_err(|_| Error::corrupt(&path, "is not text".into()))
}

fn value<'t>(text: &'t str, dir: &Path, name: &str) -> Result<&'t str, Error> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = "));
    line.ok_or_else(|| Error::corrupt(&meta_path(dir), format!("{name} is missing")))
}

/// What must be this program's before it makes keys for the directory.
fn versions() -> [(&'static str, String); 3] {
    [
        (FORMAT, FORMAT_VERSION.to_string()),
        ("canonical_rules_version", canonical::RULES_VERSION.to_string()),
        ("canonical_tables", canonical_tables()),
    ]
}

fn parse_meta(text: &str, dir: &Path, rules: RuleOptions) -> Result<Meta, Error> {
    let bad = |name: &str| Error::corrupt(&meta_path(dir), format!("{name} is malformed"));
    let partitions =
        value(text, dir, "partitions")?.parse().ok().filter(|n| *n > 0).ok_or_else(|| bad("partitions"))?;
    let secret = u128::from_str_radix(value(text, dir, "secret")?, 16).map_err(|_| bad("secret"))?;
    Ok(Meta { partitions, secret: Secret::new(secret.to_be_bytes()), rules })
}

/// Of a directory whose files this program does not read, and how to go on. What a newer one has made is not for it.
fn of_another_format(dir: &Path, theirs: &str) -> Error {
    let is_newer = theirs.parse::<u32>().is_ok_and(|theirs| theirs > FORMAT_VERSION);
    let remedy = match is_newer {
        true => "A newer crawld has made it: use that one, or a newer one still".to_owned(),
        false => format!(
            "To take the crawl along: 1. with the program that made it: crawld export --data {} --output frontier.jsonl; \
             2. with this program and its config: crawld import --data NEW frontier.jsonl; 3. crawl on in NEW",
            dir.display()
        ),
    };
    let what = format!("made with {FORMAT} {theirs}, this program has {FORMAT_VERSION}. {remedy}");
    Error::Incompatible { path: dir.to_owned(), what }
}

/// How to go on under other rules: every key is made anew, from the fetch URLs.
fn rekey(dir: &Path) -> String {
    format!("crawld rekey --data {} (with the same --config and --set)", dir.display())
}

/// Where a partition's store and filter are.
pub(crate) fn partition_dirs(dir: &Path, number: u16) -> (PathBuf, PathBuf) {
    let partition = dir.join("partitions").join(format!("{number:04}"));
    (partition.join("store"), partition.join("filter"))
}

/// Where a partition's queue blocks are.
pub(crate) fn blocks_dir(dir: &Path, number: u16) -> PathBuf {
    dir.join("partitions").join(format!("{number:04}")).join("blocks")
}

fn meta_path(dir: &Path) -> PathBuf {
    dir.join("frontier.meta")
}

/// A checksum of what the rules know by heart.
fn canonical_tables() -> String {
    format!("{:08x}", canonical::tables_checksum())
}

fn format_meta(meta: &Meta) -> String {
    format!(
        "format_version = {FORMAT_VERSION}\ncanonical_rules_version = {}\ncanonical_tables = {}\n\
         canonical_rules = {}\npublic_suffix_list = {}\nidna = {}\npartitions = {}\nsecret = {:032x}\n",
        canonical::RULES_VERSION,
        canonical_tables(),
        serde_json::to_string(&meta.rules).expect("switches and texts are JSON"),
        canonical::PUBLIC_SUFFIX_LIST,
        canonical::IDNA,
        meta.partitions,
        u128::from_be_bytes(*meta.secret.bytes()),
    )
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn made(dir: &tempfile::TempDir) -> Result<Meta, Error> {
        meta(dir.path(), 4, &RuleOptions::default())
    }

    /// Opens the directory after `from` in its meta file has become `to`.
    fn error_after(from: &str, to: &str) -> String {
        let dir = tempfile::tempdir().expect("a directory");
        made(&dir).expect("makes");
        let path = meta_path(dir.path());
        let text = fs::read_to_string(&path).expect("reads");
        assert!(text.contains(from), "{text}");
        fs::write(&path, text.replace(from, to)).expect("writes");
        made(&dir).expect_err("is refused").to_string()
    }

    #[test]
    fn a_second_holder_is_told_the_pid_of_the_first() {
        let dir = tempfile::tempdir().expect("a directory");
        let held = lock(dir.path()).expect("takes it");
        let error = lock(dir.path()).expect_err("is in use");
        assert!(matches!(error, Error::InUse { pid, .. } if pid == std::process::id()), "{error}");
        drop(held);
        lock(dir.path()).expect("takes it again");
    }

    #[test]
    fn what_a_directory_was_made_under_is_fixed_and_private() {
        let dir = tempfile::tempdir().expect("a directory");
        let made = made(&dir).expect("makes");
        let read = meta(dir.path(), 16, &RuleOptions::default()).expect("reads");
        assert_eq!((read.partitions, read.secret.bytes()), (4, made.secret.bytes()));
        let mode = fs::metadata(meta_path(dir.path())).expect("is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn another_version_is_refused_by_name() {
        let error = error_after("rules_version = 2", "rules_version = 1");
        assert!(error.contains("canonical_rules_version 1") && error.contains("crawld rekey --data"), "{error}");
        let error = error_after("canonical_tables = ", "canonical_tables = 0");
        assert!(error.contains("canonical_tables 0") && error.contains("crawld rekey --data"), "{error}");
        let error = error_after(&format!("format_version = {FORMAT_VERSION}"), "format_version = 1");
        assert!(error.contains("crawld export --data") && error.contains("crawld import --data NEW"), "{error}");
    }

    /// Export and import by this program cannot help there.
    #[test]
    fn a_directory_of_a_newer_format_is_for_a_newer_program() {
        let error = error_after(&format!("format_version = {FORMAT_VERSION}"), "format_version = 9");
        assert!(error.contains("format_version 9") && error.contains("A newer crawld has made it"), "{error}");
        assert!(!error.contains("export") && !error.contains("import"), "{error}");
    }

    #[test]
    fn other_rules_are_refused_by_name() {
        let error = error_after(r#""fold_www":false"#, r#""fold_www":true"#);
        assert!(error.contains("(fold_www)") && error.contains("crawld rekey --data"), "{error}");
        let error = error_after(r#""fold_www":false"#, r#""fold_moon":true"#);
        assert!(error.contains("canonical_rules is malformed"), "{error}");
    }

    #[test]
    fn the_rules_are_kept_as_they_were() {
        let dir = tempfile::tempdir().expect("a directory");
        let rewrite = canonical::Rewrite::new(Some("e.com"), "(?<a>\n\")", "$a=;\\").expect("valid");
        let rules = RuleOptions { sort_query: true, rewrites: vec![rewrite], ..RuleOptions::default() };
        meta(dir.path(), 4, &rules).expect("makes");
        assert_eq!(read_meta(dir.path()).expect("reads").rules, rules);
    }

    #[test]
    fn a_crawl_without_its_meta_file_is_not_begun_anew() {
        let dir = tempfile::tempdir().expect("a directory");
        fs::create_dir(dir.path().join("journal")).expect("makes");
        assert!(matches!(made(&dir), Err(Error::Corrupt { .. })));
    }

    #[test]
    fn no_crawl_is_an_error_of_its_own() {
        let dir = tempfile::tempdir().expect("a directory");
        assert!(matches!(read_meta(dir.path()), Err(Error::NoCrawl(_))));
    }
}
