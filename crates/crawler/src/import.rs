//! `crawld import`: a whole frontier into a stopped directory, or a list of URLs into a running or stopped one.
//!
//! A list has a URL a line; blank lines and lines that start with `#` are skipped. Compressed input is known by its first
//! byte. Not the format of a frontier ([`frontier::transfer`]). Invariant: memory is bounded whatever the input holds; an
//! error names the line, and all lines before it are in.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use frontier::canonical::MAX_URL_BYTES;
use frontier::transfer::{ImportError, Imported, ListedAs};
use frontier::{Canonical, Frontier, Millis, Rules};
use serde_json::{Value, json};

use crate::cli;
use crate::clock::Clock;
use crate::config::Config;
use crate::control::{self, Client, Request};
use crate::daemon::{foreign, options};
use crate::explain::quoted;
use crate::questions::QuestionError;
use crate::url_batch::UrlBatch;

/// The first byte of gzip; no text begins with it.
const GZIP: u8 = 0x1f;
/// URLs that go into a stopped directory at a time.
const BATCH: usize = 4096;

/// Does what the command says. Returns a line for the user.
///
/// # Errors
/// Input that is not understood; a daemon where none may be; when the directory cannot be opened or written.
pub fn import(command: &cli::Import, config: &Config) -> Result<String, QuestionError> {
    let listed = match (command.seen, command.queue) {
        (true, _) => Some(ListedAs::Seen),
        (false, true) => Some(ListedAs::Queued),
        (false, false) => None,
    };
    let mut input = open(&command.file)?;
    let (dir, now) = (&command.data.dir, Clock::start().now());
    let daemon = Client::connect(dir)?.is_some();
    let imported = match listed {
        None if daemon => return Err(QuestionError::InUse(running(dir))),
        None => change(dir, config, now, |frontier| Ok(frontier.import(&mut input, now)?))?,
        Some(listed) if daemon => {
            // The daemon makes its own keys.
            read_list(&mut input, &Rules::default(), &mut Daemon { dir, listed, batch: UrlBatch::default() })?
        }
        Some(listed) => change(dir, config, now, |frontier| {
            read_list(&mut input, frontier.rules(), &mut Stopped { frontier, listed, now, urls: Vec::new() })
        })?,
    };
    let Imported { imported, known, hosts } = imported;
    let of_hosts = if listed.is_none() { format!(" of {hosts} hosts") } else { String::new() };
    Ok(format!("imported {imported} URLs{of_hosts}; {known} more were known already\n"))
}

fn running(dir: &Path) -> String {
    format!(
        "a daemon is running on {}: a whole frontier goes into a stopped crawl only, so stop it first (lists of URLs go \
         into a running one too: --seen, --queue)",
        dir.display()
    )
}

/// Standard input for `-`; decompressed where it is compressed.
fn open(path: &Path) -> Result<Box<dyn BufRead>, QuestionError> {
    let failed = |error: io::Error| QuestionError::Usage(format!("{}: {error}", path.display()));
    let mut input: Box<dyn BufRead> = match path == Path::new("-") {
        true => Box::new(io::stdin().lock()),
        false => Box::new(BufReader::new(File::open(path).map_err(failed)?)),
    };
    let is_gzip = input.fill_buf().map_err(failed)?.first() == Some(&GZIP);
    Ok(if is_gzip { Box::new(BufReader::new(MultiGzDecoder::new(input))) } else { input })
}

/// Opens a directory, made when missing, for a change; closes it also after a failure, so that what is in stays in.
fn change(
    dir: &Path,
    config: &Config,
    now: Millis,
    work: impl FnOnce(&Frontier) -> Result<Imported, QuestionError>,
) -> Result<Imported, QuestionError> {
    if let Some(what) = foreign(dir) {
        return Err(QuestionError::Usage(what));
    }
    let frontier = Frontier::open(options(config, dir), now, || {})?;
    let done = work(&frontier);
    let closed = frontier.close();
    let done = done?;
    closed?;
    Ok(done)
}

/// Where the URLs of a list go.
trait Target {
    /// Takes one; gives what became of it and of those before it, once that is known.
    fn put(&mut self, url: Canonical) -> Result<Imported, QuestionError>;
    /// Takes in what was put and is still under way.
    fn flush(&mut self) -> Result<Imported, QuestionError>;
}

struct Stopped<'f> {
    frontier: &'f Frontier,
    listed: ListedAs,
    now: Millis,
    urls: Vec<Canonical>,
}

impl Target for Stopped<'_> {
    fn put(&mut self, url: Canonical) -> Result<Imported, QuestionError> {
        self.urls.push(url);
        if self.urls.len() < BATCH { Ok(Imported::default()) } else { self.flush() }
    }

    fn flush(&mut self) -> Result<Imported, QuestionError> {
        Ok(self.frontier.import_urls(std::mem::take(&mut self.urls), self.listed, self.now)?)
    }
}

struct Daemon<'d> {
    dir: &'d Path,
    listed: ListedAs,
    batch: UrlBatch,
}

impl Target for Daemon<'_> {
    fn put(&mut self, url: Canonical) -> Result<Imported, QuestionError> {
        self.batch.push(&url);
        if self.batch.is_full() { self.flush() } else { Ok(Imported::default()) }
    }

    fn flush(&mut self) -> Result<Imported, QuestionError> {
        if self.batch.is_empty() {
            return Ok(Imported::default());
        }
        // A connection for each batch: the input may be slow, and a silent client loses its place.
        let mut client = Client::connect(self.dir)?.ok_or_else(|| {
            QuestionError::InUse(format!("the daemon on {} has ended; import the list again", self.dir.display()))
        })?;
        let request = Request::Import { urls: self.batch.take(), seen: self.listed == ListedAs::Seen };
        let reply = client.ask(&request)?;
        let count = |name: &str| reply[name].as_u64().unwrap_or(0);
        Ok(Imported { imported: count("imported"), known: count("known"), hosts: 0 })
    }
}

fn read_list(input: &mut dyn BufRead, rules: &Rules, target: &mut dyn Target) -> Result<Imported, QuestionError> {
    let mut done = Imported::default();
    let read = read_lines(input, rules, |url| {
        add(&mut done, &target.put(url)?);
        Ok(())
    });
    // Also after a bad line: those before it are good.
    add(&mut done, &target.flush()?);
    read.map(|()| done)
}

fn add(done: &mut Imported, more: &Imported) {
    done.imported += more.imported;
    done.known += more.known;
}

fn read_lines(
    input: &mut dyn BufRead,
    rules: &Rules,
    mut each: impl FnMut(Canonical) -> Result<(), QuestionError>,
) -> Result<(), QuestionError> {
    // A little more than a URL, for line end, mark and space.
    let max_bytes = MAX_URL_BYTES + 64;
    let mut bytes = Vec::new();
    let mut taken = 0;
    for line in 1.. {
        bytes.clear();
        let bounded = &mut (&mut *input).take(max_bytes as u64 + 1);
        let read = bounded.read_until(b'\n', &mut bytes).map_err(|source| ImportError::Read { line, taken, source })?;
        if read == 0 {
            break;
        }
        let bad = |what: String| ImportError::Line { line, taken, what };
        if read > max_bytes {
            return Err(bad(format!("longer than {MAX_URL_BYTES} bytes")).into());
        }
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").filter(|_| line == 1).unwrap_or(&bytes).trim_ascii();
        if text.is_empty() || text.starts_with(b"#") {
            continue;
        }
        let text = std::str::from_utf8(text).map_err(|_| bad("not UTF-8".to_owned()))?;
        each(rules.parse(text).map_err(|error| bad(format!("{}: {error}", quoted(text))))?)?;
        taken += 1;
    }
    Ok(())
}

/// What the daemon does with a batch.
pub fn answer(frontier: &Frontier, urls: &[String], seen: bool, now: Millis) -> Value {
    let urls = match urls.iter().map(|url| frontier.rules().parse(url)).collect::<Result<Vec<_>, _>>() {
        Ok(urls) => urls,
        Err(error) => return control::error("bad_url", error),
    };
    let listed = if seen { ListedAs::Seen } else { ListedAs::Queued };
    let imported = frontier.import_urls(urls, listed, now);
    match imported.and_then(|imported| frontier.commit().map(|()| imported)) {
        Ok(Imported { imported, known, .. }) => json!({ "imported": imported, "known": known }),
        Err(error) => control::error("failed", error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(input: &[u8]) -> (Vec<String>, Option<String>) {
        let mut urls = Vec::new();
        let ended = read_lines(&mut &*input, &Rules::default(), |url| {
            urls.push(url.url().to_owned());
            Ok(())
        });
        (urls, ended.err().map(|error| error.to_string()))
    }

    #[test]
    fn a_list_is_read_up_to_its_first_bad_line() {
        let long = [b"https://a.test/\n".as_slice(), &[b'x'; 10_000], b"\nhttps://b.test/\n"].concat();
        for (input, count, said) in [
            (b"\xef\xbb\xbfhttps://a.test/\r\n\n# no\n  https://b.test/ \nhttps://c.test/".as_slice(), 3, None),
            (b"", 0, None),
            (
                b"https://a.test/\nmailto:x@y\nhttps://b.test/\n",
                1,
                Some("line 2: \"mailto:x@y\": scheme is neither http nor https; the lines before it are imported"),
            ),
            (
                b"# a list\n\nmailto:x@y\n",
                0,
                Some("line 3: \"mailto:x@y\": scheme is neither http nor https; nothing is imported"),
            ),
            (b"\n\n\xff\n", 0, Some("line 3: not UTF-8")),
            (&long, 1, Some("line 2: longer than")),
        ] {
            let (urls, error) = read(input);
            assert_eq!(urls.len(), count, "{error:?}");
            match said {
                None => assert_eq!(error, None),
                Some(said) => assert!(error.as_ref().is_some_and(|error| error.starts_with(said)), "{error:?}"),
            }
        }
    }
}
