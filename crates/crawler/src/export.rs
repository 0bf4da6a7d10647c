//! `crawld export`: the whole frontier, or URLs, from a running daemon or a stopped directory.
//!
//! Not the format ([`frontier::transfer`]). Invariant: a file that was asked for by name is there only when it is whole;
//! on a pipe the last line says that it was.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::Compression;
use flate2::write::GzEncoder;
use frontier::transfer::{ExportError, Totals};
use frontier::{Frontier, Rules};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use crate::cli::{self, Select};
use crate::clock::Clock;
use crate::control::{self, Answer, ClientError, Request};
use crate::questions::{self, QuestionError, Source};
use crate::select::selection;

/// Bytes of a piece on the way to the control socket, and pieces that may wait there.
const PIECE_BYTES: usize = 1 << 16;
const PIECES: usize = 4;

/// Does what the command says. Returns a line for the user where the output is a file.
///
/// # Errors
/// A selection that is not understood; when nobody can be asked, or nothing written.
pub fn export(command: &cli::Export) -> Result<Option<String>, QuestionError> {
    let Some(path) = &command.output else {
        return write(command, io::stdout().lock()).map(|(_, _)| None);
    };
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    let file = File::create(&part).map_err(|error| named(&part, error))?;
    let written = write(command, file).and_then(|(file, said)| {
        file.sync_all().map_err(|error| named(&part, error))?;
        std::fs::rename(&part, path).map_err(|error| named(path, error))?;
        Ok(Some(format!("{said} in {}\n", path.display())))
    });
    if written.is_err() {
        // The first error is the one to tell.
        let _ = std::fs::remove_file(&part);
    }
    written
}

fn named(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Writes to `out`, and gives it back with what was written in words.
fn write<W: Write>(command: &cli::Export, out: W) -> Result<(W, String), QuestionError> {
    let dir = &command.data.dir;
    let select = command.urls.then_some(&command.select);
    if !command.gzip {
        let mut out = BufWriter::with_capacity(PIECE_BYTES, out);
        let said = ask(dir, select, &mut out)?;
        return Ok((out.into_inner().map_err(io::IntoInnerError::into_error)?, said));
    }
    // Fast, because a running crawl can be outrun by it.
    let mut out = BufWriter::with_capacity(PIECE_BYTES, GzEncoder::new(out, Compression::fast()));
    let said = ask(dir, select, &mut out)?;
    Ok((out.into_inner().map_err(io::IntoInnerError::into_error)?.finish()?, said))
}

/// The whole frontier of the crawl in `dir`, or the URLs of a selection, one a line.
fn ask(dir: &Path, select: Option<&Select>, out: &mut dyn Write) -> Result<String, QuestionError> {
    let now = Clock::start().now();
    let chosen =
        |rules: &Rules| select.map(|select| selection(select, rules, now).map_err(QuestionError::Usage)).transpose();
    // What is not understood is not understood by any rules, and needs no crawl.
    chosen(&Rules::default())?;
    let said = match (questions::open(dir, None)?, select) {
        (Source::Stopped(frontier), _) => match chosen(frontier.rules())? {
            None => in_words(&frontier.export(out)?),
            Some(chosen) => format!("{} URLs", frontier.list(&chosen, |url| writeln!(out, "{url}"))?),
        },
        (Source::Daemon(mut client), _) => {
            let request = Request::Export { select: select.cloned() };
            let last = client.ask_lines(&request, |line| match select {
                None => Ok::<(), QuestionError>(out.write_all(line)?),
                Some(_) => {
                    let url: String = serde_json::from_slice(line).map_err(malformed)?;
                    Ok(writeln!(out, "{url}")?)
                }
            })?;
            if select.is_none() {
                out.write_all(&last)?;
            }
            end(&last, select.is_some())?
        }
    };
    out.flush()?;
    Ok(said)
}

/// What the last line says.
fn end(line: &[u8], of_urls: bool) -> Result<String, QuestionError> {
    #[derive(Deserialize)]
    struct Last<T> {
        end: T,
    }
    #[derive(Deserialize)]
    struct Urls {
        urls: u64,
    }
    if of_urls {
        let last: Last<Urls> = serde_json::from_slice(line).map_err(malformed)?;
        return Ok(format!("{} URLs", last.end.urls));
    }
    let last: Last<Totals> = serde_json::from_slice(line).map_err(malformed)?;
    Ok(in_words(&last.end))
}

fn malformed(error: serde_json::Error) -> ClientError {
    ClientError::Malformed(error.to_string())
}

fn in_words(totals: &Totals) -> String {
    format!("{} URLs of {} hosts, {} of them queued", totals.urls(), totals.hosts, totals.queued)
}

/// The daemon's side: the lines, as they come. They end early when their reader goes away.
pub fn answer(frontier: Arc<Frontier>, select: Option<Select>, now: frontier::Millis) -> Answer {
    let chosen = match select.map(|select| selection(&select, frontier.rules(), now)).transpose() {
        Ok(chosen) => chosen,
        Err(error) => return control::error("bad_selection", error).into(),
    };
    let (sender, pieces) = mpsc::channel(PIECES);
    spawn_blocking(move || {
        let mut out = BufWriter::with_capacity(PIECE_BYTES, Pieces(sender));
        let written = match chosen {
            None => frontier.export(&mut out).map(|_| ()),
            Some(chosen) => list(&frontier, &chosen, &mut out),
        };
        if let Err(error) = written {
            let name = if matches!(error, ExportError::Outrun) { "outrun" } else { "failed" };
            let _ = writeln!(out, "{}", control::error(name, error));
        }
        let _ = out.flush();
    });
    Answer::Lines(pieces)
}

fn list(frontier: &Frontier, selection: &frontier::Selection, out: &mut dyn Write) -> Result<(), ExportError> {
    let urls = frontier.list(selection, |url| {
        serde_json::to_writer(&mut *out, url)?;
        out.write_all(b"\n")
    })?;
    Ok(writeln!(out, "{}", json!({ "end": { "urls": urls } }))?)
}

/// Writes to whoever serves the connection.
struct Pieces(mpsc::Sender<Vec<u8>>);

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.blocking_send(bytes.to_vec()).map_err(|_| io::ErrorKind::BrokenPipe)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
