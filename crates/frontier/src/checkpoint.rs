//! The filter's files of one partition, beside the store that they guard, and the sequence that they cover.
//!
//! A checkpoint writes layers that have no file yet (sealed ones once, the newest one each time), each to a temporary
//! name, synced, renamed; then the manifest, which names the files that count, in the same way; then deletes the others.
//! So a crash at any instant leaves one whole set of files. What cannot be read in full is given up by name of reason:
//! the partition then answers "maybe" and rebuilds its filter from the exact set.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bloom::{Layer, ScalableFilter, Settings};

use crate::error::{Error, IoContext};
use crate::journal::Sequence;

const MANIFEST: &str = "manifest";
const MANIFEST_HEAD: &str = "crawld filter 1";
/// A manifest of more bytes than this is not one.
const MANIFEST_LIMIT: u64 = 1 << 16;

/// The filter files of one partition.
pub(crate) struct Checkpoint {
    dir: PathBuf,
    key_check: u64,
    /// Sealed layers that have a file.
    sealed: Vec<(Arc<Layer>, String)>,
}

/// A filter read from its files.
pub(crate) struct Restored {
    pub(crate) filter: ScalableFilter,
    pub(crate) covered: Sequence,
}

impl Checkpoint {
    /// The files in `dir` (created when missing). `key_check` tells filters of another secret.
    pub(crate) fn open(dir: &Path, key_check: u64) -> Result<Self, Error> {
        fs::create_dir_all(dir).at(dir)?;
        Ok(Self { dir: dir.to_owned(), key_check, sealed: Vec::new() })
    }

    /// The sequence that the files on disk cover, if there are any that say so.
    pub(crate) fn covered(&self) -> Option<Sequence> {
        let text = read_bounded(&self.dir.join(MANIFEST), MANIFEST_LIMIT).ok()?;
        parse_manifest(&text).map(|(covered, _)| covered)
    }

    /// Reads the filter. `Ok(None)` where none was ever written.
    ///
    /// # Errors
    /// Why the files cannot be used, naming the file.
    pub(crate) fn read(&mut self, settings: Settings) -> Result<Option<Restored>, String> {
        let manifest = self.dir.join(MANIFEST);
        if !manifest.exists() {
            return Ok(None);
        }
        let text = read_bounded(&manifest, MANIFEST_LIMIT)?;
        let (covered, names) = parse_manifest(&text).ok_or_else(|| format!("{}: damaged", manifest.display()))?;
        let mut layers = Vec::new();
        for name in &names {
            let path = self.dir.join(name);
            let bytes = fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            let decoded = bloom::decode(&bytes, self.key_check).map_err(|e| format!("{}: {e}", path.display()))?;
            layers.push(decoded.layer);
        }
        let filter =
            ScalableFilter::from_layers(settings, layers).map_err(|e| format!("{}: {e}", self.dir.display()))?;
        self.sealed = filter.sealed().iter().cloned().zip(names).collect();
        Ok(Some(Restored { filter, covered }))
    }

    /// Writes the filter as it was when all events up to `covered` were in it.
    pub(crate) fn write(&mut self, filter: &ScalableFilter, covered: Sequence) -> Result<(), Error> {
        let mut sealed = Vec::new();
        for layer in filter.sealed() {
            let written = self.sealed.iter().find(|(known, _)| Arc::ptr_eq(known, layer));
            let name = match written {
                Some((_, name)) => name.clone(),
                None => self.write_layer(layer, covered)?,
            };
            sealed.push((Arc::clone(layer), name));
        }
        let newest = self.write_layer(filter.newest(), covered)?;
        let names: Vec<&str> = sealed.iter().map(|(_, name)| &**name).chain([&*newest]).collect();
        self.replace(MANIFEST, manifest(covered, &names).as_bytes())?;
        self.delete_all_but(&names)?;
        self.sealed = sealed;
        Ok(())
    }

    fn write_layer(&self, layer: &Layer, covered: Sequence) -> Result<String, Error> {
        let name = format!("{covered:020}-{:03}.layer", layer.index());
        self.replace(&name, &bloom::encode(layer, self.key_check, covered))?;
        Ok(name)
    }

    /// Temporary file, sync, rename, sync of the directory.
    fn replace(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let (path, temporary) = (self.dir.join(name), self.dir.join(format!("{name}.tmp")));
        let mut file = File::create(&temporary).at(&temporary)?;
        file.write_all(bytes).and_then(|()| file.sync_all()).at(&temporary)?;
        fs::rename(&temporary, &path).at(&path)?;
        File::open(&self.dir).and_then(|d| d.sync_all()).at(&self.dir)
    }

    fn delete_all_but(&self, names: &[&str]) -> Result<(), Error> {
        for entry in fs::read_dir(&self.dir).at(&self.dir)? {
            let path = entry.at(&self.dir)?.path();
            let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
            if name != MANIFEST && !names.contains(&name) {
                fs::remove_file(&path).at(&path)?;
            }
        }
        Ok(())
    }
}

fn read_bounded(path: &Path, limit: u64) -> Result<String, String> {
    let length = fs::metadata(path).map_err(|e| format!("{}: {e}", path.display()))?.len();
    if length > limit {
        return Err(format!("{}: damaged ({length} bytes)", path.display()));
    }
    fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}

/// Head, covered sequence, a line for each layer (oldest first), and a checksum of all that.
fn manifest(covered: Sequence, names: &[&str]) -> String {
    let mut text = format!("{MANIFEST_HEAD}\ncovered {covered}\n");
    for name in names {
        text.push_str(&format!("layer {name}\n"));
    }
    let checksum = crc32fast::hash(text.as_bytes());
    text.push_str(&format!("crc32 {checksum:08x}\n"));
    text
}

fn parse_manifest(text: &str) -> Option<(Sequence, Vec<String>)> {
    let body_end = text.rfind("crc32 ")?;
    let (body, checksum) = text.split_at(body_end);
    if checksum != format!("crc32 {:08x}\n", crc32fast::hash(body.as_bytes())) {
        return None;
    }
    let mut lines = body.lines();
    if lines.next()? != MANIFEST_HEAD {
        return None;
    }
    let covered = lines.next()?.strip_prefix("covered ")?.parse().ok()?;
    let names = lines.map(|line| line.strip_prefix("layer ").map(str::to_owned)).collect::<Option<Vec<_>>>()?;
    // Names are of files in this directory, whatever the manifest says.
    names.iter().all(|name| !name.contains('/')).then_some((covered, names))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: Settings = Settings { false_positive_rate: 0.01, initial_capacity: 100, growth_factor: 2.0 };

    fn filter(items: u128) -> ScalableFilter {
        let mut filter = ScalableFilter::new(SETTINGS).expect("settings are possible");
        (0..items).for_each(|i| filter.insert(fingerprint(i)));
        filter
    }

    /// Spread over all bits, as a hash would.
    fn fingerprint(i: u128) -> u128 {
        (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835)
    }

    fn checkpoint(dir: &Path) -> Checkpoint {
        Checkpoint::open(dir, 7).expect("opens")
    }

    #[test]
    fn a_filter_comes_back_with_what_it_covers_and_sealed_layers_are_written_once() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut files = checkpoint(dir.path());
        let mut filter = filter(250);
        files.write(&filter, 5).expect("writes");
        let first_layer = dir.path().join(format!("{:020}-000.layer", 5));
        let written = fs::metadata(&first_layer).and_then(|m| m.modified()).expect("is there");
        (250..900).for_each(|i| filter.insert(fingerprint(i)));
        files.write(&filter, 9).expect("writes");
        assert_eq!(fs::metadata(&first_layer).and_then(|m| m.modified()).expect("is there"), written);

        let restored = checkpoint(dir.path()).read(SETTINGS).expect("reads").expect("is there");
        assert_eq!(restored.covered, 9);
        assert!((0..900).all(|i| restored.filter.contains(fingerprint(i))), "absent means absent");
        let layers = restored.filter.layer_count();
        assert_eq!(fs::read_dir(dir.path()).expect("lists").count(), layers + 1, "no file is left over");
    }

    #[test]
    fn a_directory_without_filter_is_not_an_error() {
        let dir = tempfile::tempdir().expect("a directory");
        assert!(checkpoint(dir.path()).read(SETTINGS).expect("reads").is_none());
    }

    #[test]
    fn what_is_damaged_foreign_or_missing_is_given_up_by_name() {
        type Damage = fn(&Path);
        let damage: [(&str, Damage); 4] = [
            ("manifest", |dir| fs::write(dir.join(MANIFEST), "crawld filter 1\n").expect("writes")),
            ("layer", |dir| {
                let path = layer(dir);
                let mut bytes = fs::read(&path).expect("reads");
                let middle = bytes.len() / 2;
                bytes[middle] ^= 1;
                fs::write(path, bytes).expect("writes");
            }),
            ("layer", |dir| fs::remove_file(layer(dir)).expect("removes")),
            ("layer", |dir| {
                Checkpoint::open(dir, 8).expect("opens").write(&filter(250), 5).expect("writes");
            }),
        ];
        for (named, damage) in damage {
            let dir = tempfile::tempdir().expect("a directory");
            checkpoint(dir.path()).write(&filter(250), 5).expect("writes");
            damage(dir.path());
            let reason = checkpoint(dir.path()).read(SETTINGS).err().expect("is given up");
            assert!(reason.contains(named), "{reason}");
        }
    }

    fn layer(dir: &Path) -> PathBuf {
        dir.join(format!("{:020}-000.layer", 5))
    }
}
