//! Files that a process has left open when it was killed: their torn end is cut off, and they are closed.
//!
//! Not a repair: what was damaged before its end is cut off with all that follows, and said so in the log. A file that
//! another process has locked is left alone. Invariants: what was synced is whole, so nothing is cut off that a finished
//! page rests on; memory is fixed, time linear in the file's size (a GiB of gzip takes a few seconds).

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

use tracing::{info, warn};

use super::rolling::{OPEN, finish};

/// Longest header of a record that is not compressed, in bytes: ours have some hundred, and a URL.
const MAX_HEADER_BYTES: u64 = 1 << 20;

/// Closes every file in `dir` that was left open.
///
/// # Errors
/// When a file can be neither read nor closed.
pub(super) fn close_left_open(dir: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let Some(end) = name.strip_suffix(OPEN).and_then(end_of) else { continue };
        let file = OpenOptions::new().read(true).write(true).open(&path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                warn!(file = %path.display(), "another process writes to it; left alone");
                continue;
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
        close(&file, &path, end)?;
    }
    Ok(())
}

/// Finds where the last whole record of a file ends.
pub(super) type EndOf = fn(&File) -> io::Result<u64>;

fn close(file: &File, path: &Path, end: EndOf) -> io::Result<()> {
    let bytes = file.metadata()?.len();
    let whole = end(file)?;
    file.set_len(whole)?;
    info!(file = %path.display(), bytes = whole, cut_bytes = bytes - whole, "closing what was left open");
    if whole == 0 { std::fs::remove_file(path) } else { finish(file, path) }
}

/// How to find the end of the last whole record of a file with this name.
pub(super) fn end_of(name: &str) -> Option<EndOf> {
    let known: [(&str, EndOf); 4] = [
        (".warc.gz", |file| records(file, gzip_member)),
        (".warc.zst", |file| records(file, zstd_frame)),
        (".warc", |file| records(file, plain_record)),
        (".jsonl", end_of_lines),
    ];
    known.into_iter().find(|(suffix, _)| name.ends_with(suffix)).map(|(_, end)| end)
}

/// A reader that knows how far it has come.
struct Counting<R> {
    reader: R,
    at: u64,
}

impl<R: BufRead> Read for Counting<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(out)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl<R: BufRead> BufRead for Counting<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.reader.fill_buf()
    }

    fn consume(&mut self, bytes: usize) {
        self.reader.consume(bytes);
        self.at += bytes as u64;
    }
}

type Reader<'a> = Counting<BufReader<&'a File>>;

/// Where the last of the records ends that `skip` reads from the start without an error.
fn records(file: &File, skip: impl Fn(&mut Reader<'_>) -> io::Result<()>) -> io::Result<u64> {
    let mut start = file;
    start.rewind()?;
    let mut reader = Counting { reader: BufReader::with_capacity(1 << 16, file), at: 0 };
    let mut whole = 0;
    loop {
        if reader.fill_buf()?.is_empty() {
            return Ok(whole);
        }
        match skip(&mut reader) {
            Ok(()) => whole = reader.at,
            // What the disk fails of is not the end of the file.
            Err(error) if error.raw_os_error().is_some() => return Err(error),
            Err(_) => return Ok(whole),
        }
    }
}

fn gzip_member(reader: &mut Reader<'_>) -> io::Result<()> {
    io::copy(&mut flate2::bufread::GzDecoder::new(reader), &mut io::sink()).map(drop)
}

fn zstd_frame(reader: &mut Reader<'_>) -> io::Result<()> {
    io::copy(&mut zstd::Decoder::with_buffer(reader)?.single_frame(), &mut io::sink()).map(drop)
}

fn plain_record(reader: &mut Reader<'_>) -> io::Result<()> {
    let torn = || io::Error::from(ErrorKind::UnexpectedEof);
    let mut header = reader.take(MAX_HEADER_BYTES);
    let mut line = Vec::new();
    header.read_until(b'\n', &mut line)?;
    if line != b"WARC/1.1\r\n" {
        return Err(torn());
    }
    let mut length = None;
    while line != b"\r\n" {
        line.clear();
        if header.read_until(b'\n', &mut line)? == 0 {
            return Err(torn());
        }
        let value = line.strip_prefix(b"Content-Length: ").and_then(|value| std::str::from_utf8(value).ok());
        length = value.and_then(|value| value.trim_end().parse::<u64>().ok()).or(length);
    }
    let length = length.ok_or_else(torn)?;
    if io::copy(&mut reader.take(length), &mut io::sink())? < length {
        return Err(torn());
    }
    let mut end = [0; 4];
    reader.read_exact(&mut end)?;
    if end == *b"\r\n\r\n" { Ok(()) } else { Err(torn()) }
}

/// Where the last line ends.
fn end_of_lines(file: &File) -> io::Result<u64> {
    let mut file = file;
    let mut from = file.metadata()?.len();
    let mut block = Vec::new();
    while from > 0 {
        let to = from;
        from = from.saturating_sub(1 << 16);
        file.seek(SeekFrom::Start(from))?;
        block.clear();
        file.take(to - from).read_to_end(&mut block)?;
        if let Some(at) = block.iter().rposition(|byte| *byte == b'\n') {
            return Ok(from + at as u64 + 1);
        }
    }
    Ok(0)
}
