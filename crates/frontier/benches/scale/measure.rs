//! What the frontier takes of the disk.

use std::fs;
use std::path::Path;

/// Bytes of all files below a directory, the journal left out.
pub fn disk_bytes(dir: &Path) -> u64 {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let of = |entry: fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() && entry.file_name() != "journal" => disk_bytes(&entry.path()),
        Ok(metadata) if metadata.is_file() => metadata.len(),
        // A merge deletes files while this looks.
        _ => 0,
    };
    entries.map(of).sum()
}
