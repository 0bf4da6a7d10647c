//! A log on disk that holds whole lines only.
//!
//! Not a format and not a rotation: what the lines say is the caller's. Invariant: the file ends with a line end after
//! every write, and a tail torn by a crash is cut off when the file is opened again, so that no line ever runs into
//! another.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Longest tail that is looked through for the last line end, in bytes; a longer line is kept and ended instead.
const TAIL_BYTES: u64 = 1 << 20;

/// An open log.
#[derive(Debug)]
pub struct LogFile {
    file: File,
    path: PathBuf,
}

impl LogFile {
    /// Opens a log for appending, or makes it.
    ///
    /// # Errors
    /// When the file can be neither opened nor made; the path is in the text.
    pub fn open(path: &Path) -> io::Result<Self> {
        let open = || {
            let mut file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
            cut_torn_tail(&mut file)?;
            Ok(file)
        };
        match open() {
            Ok(file) => Ok(Self { file, path: path.to_owned() }),
            Err(error) => Err(named(path, &error)),
        }
    }

    /// Appends whole lines, each with its line end, in one write.
    ///
    /// # Errors
    /// When the disk does not take them; the path is in the text.
    pub fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        debug_assert!(lines.is_empty() || lines.ends_with(b"\n"), "whole lines only");
        self.file.write_all(lines).map_err(|error| named(&self.path, &error))
    }
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

fn cut_torn_tail(file: &mut File) -> io::Result<()> {
    let length = file.seek(SeekFrom::End(0))?;
    let start = length.saturating_sub(TAIL_BYTES);
    file.seek(SeekFrom::Start(start))?;
    let mut tail = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut tail)?;
    if tail.is_empty() || tail.ends_with(b"\n") {
        return Ok(());
    }
    match tail.iter().rposition(|byte| *byte == b'\n') {
        Some(at) => file.set_len(start + at as u64 + 1),
        None if start == 0 => file.set_len(0),
        None => file.write_all(b"\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_tail_is_cut_and_whole_lines_stay() {
        let dir = tempfile::tempdir().expect("a directory for the test");
        let path = dir.path().join("x.log");
        for (before, after) in [("", "new\n"), ("a\nb\n", "a\nb\nnew\n"), ("a\nb", "a\nnew\n"), ("torn", "new\n")] {
            std::fs::write(&path, before).expect("written");
            LogFile::open(&path).and_then(|mut log| log.append(b"new\n")).expect("appended");
            assert_eq!(std::fs::read_to_string(&path).expect("read"), after, "{before:?}");
        }
    }

    #[test]
    fn an_error_names_the_file() {
        let error = LogFile::open(Path::new("/nowhere/at/all.log")).expect_err("no such directory");
        assert!(error.to_string().starts_with("/nowhere/at/all.log: "), "{error}");
    }
}
