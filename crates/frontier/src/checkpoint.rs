//! The filter's files of one partition, beside the store that they guard, and the sequence that they cover.
//!
//! A checkpoint writes layers that have no file yet (sealed ones once, the newest one each time), each to a temporary
//! name, synced, renamed; then the manifest, which names the files that count, in the same way; then deletes the others.
//! So a crash at any instant leaves one whole set of files. What cannot be read in full is given up by name of reason:
//! the partition then answers "maybe" and rebuilds its filter from the exact set.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use bloom::{AnyLayer, AnyScalable, Kind, Origin, Settings};

use crate::disk;
use crate::error::{Error, IoContext};
use crate::journal::Sequence;
use crate::options::FilterKind;
use crate::steps::{Step, step};

const MANIFEST: &str = "manifest";
const MANIFEST_HEAD: &str = "crawld filter 2";
/// A manifest of more bytes than this is not one.
const MANIFEST_LIMIT: u64 = 1 << 16;

/// The filter files of one partition.
pub(crate) struct Checkpoint {
    dir: PathBuf,
    origin: Origin,
    /// Sealed layers that have a file.
    sealed: Vec<(AnyLayer, String)>,
}

/// What the files must be to be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Judge {
    /// Of the kind and within the rate that are asked for.
    BySettings,
    /// Of any kind and rate: for questions.
    AsItIs,
}

/// What a manifest says.
struct Manifest {
    kind: Kind,
    covered: Sequence,
    names: Vec<String>,
}

/// A filter read from its files.
pub(crate) struct Restored {
    pub(crate) filter: AnyScalable,
    pub(crate) covered: Sequence,
}

impl Checkpoint {
    /// The files in `dir`. `origin` tells filters of another secret or other rules.
    pub(crate) fn open(dir: &Path, origin: Origin) -> Self {
        Self { dir: dir.to_owned(), origin, sealed: Vec::new() }
    }

    /// Reads the filter. `Ok(None)` where none was ever written.
    ///
    /// # Errors
    /// Why the files cannot be used, naming the file.
    pub(crate) fn read(&mut self, kind: Kind, settings: Settings, judge: Judge) -> Result<Option<Restored>, String> {
        let manifest = self.dir.join(MANIFEST);
        if !disk::exists(&manifest) {
            return Ok(None);
        }
        let Manifest { kind: found, covered, names } = self.manifest()?;
        if judge == Judge::BySettings && found != kind {
            return Err(format!("{}: of kind {}, not {}", manifest.display(), word_of(found), word_of(kind)));
        }
        let mut layers = Vec::new();
        for (index, name) in (0..).zip(&names) {
            layers.push(self.read_layer(found, index, name)?);
        }
        let settings = match judge {
            Judge::BySettings => settings,
            Judge::AsItIs => any_rate(&layers),
        };
        let filter = AnyScalable::from_layers(settings, layers).map_err(|e| format!("{}: {e}", self.dir.display()))?;
        self.sealed = filter.sealed().into_iter().zip(names).collect();
        Ok(Some(Restored { filter, covered }))
    }

    /// A layer that is what its name says: another one of the same filter, older or newer, lacks keys that this one has.
    fn read_layer(&self, kind: Kind, index: u32, name: &str) -> Result<AnyLayer, String> {
        let path = self.dir.join(name);
        let bytes = disk::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let decoded = AnyLayer::decode(kind, &bytes, &self.origin).map_err(|e| format!("{}: {e}", path.display()))?;
        let (layer, covered) = decoded;
        if layer.facts().index != index || layer_name(covered, index) != name {
            let found = layer_name(covered, layer.facts().index);
            return Err(format!("{}: damaged: what is in it was written as {found}", path.display()));
        }
        Ok(layer)
    }

    /// That the files are whole: the sequence that they cover, and when they were written; `None` where there are none.
    ///
    /// # Errors
    /// What is wrong with them, naming the file.
    pub(crate) fn verify(&self) -> Result<Option<(Sequence, SystemTime)>, String> {
        let path = self.dir.join(MANIFEST);
        if !disk::exists(&path) {
            return Ok(None);
        }
        let written = disk::modified(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let manifest = self.manifest()?;
        for (index, name) in (0..).zip(&manifest.names) {
            self.read_layer(manifest.kind, index, name)?;
        }
        Ok(Some((manifest.covered, written)))
    }

    fn manifest(&self) -> Result<Manifest, String> {
        let path = self.dir.join(MANIFEST);
        let bytes = disk::read_bounded(&path, MANIFEST_LIMIT).map_err(|e| format!("{}: {e}", path.display()))?;
        let text = String::from_utf8(bytes).ok();
        text.and_then(|text| parse_manifest(&text)).ok_or_else(|| format!("{}: damaged", path.display()))
    }

    /// Makes the files such as were never written, at once and for good: what they say they cover is not so.
    pub(crate) fn discard(&mut self) -> Result<(), Error> {
        let path = self.dir.join(MANIFEST);
        disk::remove(&path).at(&path)?;
        disk::sync_dir(&self.dir).at(&self.dir)?;
        self.sealed.clear();
        Ok(())
    }

    /// Writes the filter as it was when all events up to `covered` were in it.
    pub(crate) fn write(&mut self, filter: &AnyScalable, covered: Sequence) -> Result<(), Error> {
        let mut sealed = Vec::new();
        for layer in filter.sealed() {
            let written = self.sealed.iter().find(|(known, _)| known.is_same(&layer));
            let name = match written {
                Some((_, name)) => name.clone(),
                None => self.write_layer(layer.facts().index, &layer.encode(&self.origin, covered), covered)?,
            };
            sealed.push((layer, name));
        }
        let (index, newest) = filter.encode_newest(&self.origin, covered);
        let newest = self.write_layer(index, &newest, covered)?;
        let names: Vec<&str> = sealed.iter().map(|(_, name)| &**name).chain([&*newest]).collect();
        self.replace(MANIFEST, manifest(filter.kind(), covered, &names).as_bytes())?;
        self.delete_all_but(&names)?;
        self.sealed = sealed;
        Ok(())
    }

    fn write_layer(&self, index: u32, bytes: &[u8], covered: Sequence) -> Result<String, Error> {
        let name = layer_name(covered, index);
        self.replace(&name, bytes)?;
        Ok(name)
    }

    /// Temporary file, sync, rename, sync of the directory.
    fn replace(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let (path, temporary) = (self.dir.join(name), self.dir.join(format!("{name}.tmp")));
        let mut file = disk::create(&temporary, 0o666).at(&temporary)?;
        file.append(bytes).and_then(|()| file.sync()).at(&temporary)?;
        step(if name == MANIFEST { Step::ManifestWritten } else { Step::LayerWritten });
        disk::rename(&temporary, &path).at(&path)?;
        step(if name == MANIFEST { Step::ManifestNamed } else { Step::LayerNamed });
        disk::sync_dir(&self.dir).at(&self.dir)
    }

    fn delete_all_but(&self, names: &[&str]) -> Result<(), Error> {
        for path in disk::list(&self.dir).at(&self.dir)? {
            let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
            if name != MANIFEST && !names.contains(&name) {
                disk::remove(&path).at(&path)?;
                step(Step::LayerRemoved);
            }
        }
        Ok(())
    }
}

/// Says what a layer's file must hold.
fn layer_name(covered: Sequence, index: u32) -> String {
    format!("{covered:020}-{index:03}.layer")
}

/// Settings within which any layers are: those that take the memory that these take, at any rate.
fn any_rate(layers: &[AnyLayer]) -> Settings {
    let bytes = layers.iter().map(|layer| layer.facts().bits / 8).sum::<u64>().max(bloom::scalable::LEAST_BYTES);
    Settings { false_positive_rate: 0.999, initial_capacity: 1, growth_factor: 2.0, max_bytes: Some(bytes) }
}

fn word_of(kind: Kind) -> &'static str {
    FilterKind::of(kind).map_or("unknown", FilterKind::name)
}

/// Head, kind, covered sequence, a line for each layer (oldest first), and a checksum of all that.
fn manifest(kind: Kind, covered: Sequence, names: &[&str]) -> String {
    let mut text = format!("{MANIFEST_HEAD}\nkind {}\ncovered {covered}\n", word_of(kind));
    for name in names {
        text.push_str(&format!("layer {name}\n"));
    }
    let checksum = crc32fast::hash(text.as_bytes());
    text.push_str(&format!("crc32 {checksum:08x}\n"));
    text
}

fn parse_manifest(text: &str) -> Option<Manifest> {
    let body_end = text.rfind("crc32 ")?;
    let (body, checksum) = text.split_at(body_end);
    if checksum != format!("crc32 {:08x}\n", crc32fast::hash(body.as_bytes())) {
        return None;
    }
    let mut lines = body.lines();
    if lines.next()? != MANIFEST_HEAD {
        return None;
    }
    let word = lines.next()?.strip_prefix("kind ")?;
    let kind = FilterKind::ALL.into_iter().find(|kind| kind.name() == word)?.layers();
    let covered = lines.next()?.strip_prefix("covered ")?.parse().ok()?;
    let names = lines.map(|line| line.strip_prefix("layer ").map(str::to_owned)).collect::<Option<Vec<_>>>()?;
    // Names are of files in this directory, whatever the manifest says.
    names.iter().all(|name| !name.contains('/')).then_some(Manifest { kind, covered, names })
}

#[cfg(test)]
mod tests;
