//! The names on a simulated disk: a tree of directories, each as it is and as it was when it was last synced.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::Random;
use super::map::Content;

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Node {
    File(usize),
    Dir(usize),
}

type Dir = BTreeMap<OsString, Node>;

/// One change that is not synced: what a name stands for now, and which other name went with the same step.
#[derive(Debug, Clone)]
struct Change {
    dir: usize,
    name: OsString,
    node: Option<Node>,
    gone: Option<OsString>,
}

/// All names of a disk.
pub(super) struct Names {
    dirs: Vec<Content<Dir>>,
    /// In the order in which they were made.
    unsynced: Vec<Change>,
    /// Whether a power cut keeps changes in order.
    in_order: bool,
}

impl Names {
    pub(super) fn new(in_order: bool) -> Self {
        Self { dirs: vec![Content::default()], unsynced: Vec::new(), in_order }
    }

    /// What a path stands for. The root is `/simulated/<number>`.
    pub(super) fn find(&self, path: &Path) -> io::Result<Node> {
        let mut node = Node::Dir(0);
        for name in path.iter().skip(3) {
            let Node::Dir(dir) = node else { return Err(ErrorKind::NotADirectory.into()) };
            node = *self.dirs[dir].now.get(name).ok_or(ErrorKind::NotFound)?;
        }
        Ok(node)
    }

    fn dir(&self, path: &Path) -> io::Result<usize> {
        match self.find(path)? {
            Node::Dir(dir) => Ok(dir),
            Node::File(_) => Err(ErrorKind::NotADirectory.into()),
        }
    }

    pub(super) fn list(&self, dir: &Path) -> io::Result<Vec<PathBuf>> {
        Ok(self.dirs[self.dir(dir)?].now.keys().map(|name| dir.join(name)).collect())
    }

    pub(super) fn set(&mut self, path: &Path, node: Node) -> io::Result<()> {
        self.change(path, Some(node), None)
    }

    pub(super) fn make_dir(&mut self, path: &Path) -> io::Result<()> {
        self.dirs.push(Content::default());
        self.set(path, Node::Dir(self.dirs.len() - 1))
    }

    pub(super) fn remove(&mut self, path: &Path) -> io::Result<()> {
        self.find(path)?;
        self.change(path, None, None)
    }

    pub(super) fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let node = self.find(from)?;
        assert_eq!(from.parent(), to.parent(), "renames are within a directory");
        self.change(to, Some(node), from.file_name().map(Into::into))
    }

    fn change(&mut self, path: &Path, node: Option<Node>, gone: Option<OsString>) -> io::Result<()> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(ErrorKind::InvalidInput.into());
        };
        let change = Change { dir: self.dir(parent)?, name: name.into(), node, gone };
        change.make(&mut self.dirs[change.dir].now);
        self.unsynced.push(change);
        Ok(())
    }

    /// Makes the names in one directory durable.
    pub(super) fn sync(&mut self, dir: &Path) -> io::Result<()> {
        let dir = self.dir(dir)?;
        self.dirs[dir].sync();
        self.unsynced.retain(|change| change.dir != dir);
        Ok(())
    }

    /// What a power cut leaves of the names.
    pub(super) fn crash(&mut self, random: &mut Random) {
        for dir in &mut self.dirs {
            dir.now = dir.synced.clone();
        }
        let first = random.below(self.unsynced.len() as u64 + 1) as usize;
        for (index, change) in std::mem::take(&mut self.unsynced).into_iter().enumerate() {
            let is_kept = if self.in_order { index < first } else { random.once_in(2) };
            if is_kept {
                change.make(&mut self.dirs[change.dir].now);
            }
        }
        self.dirs.iter_mut().for_each(Content::sync);
    }
}

impl Change {
    fn make(&self, dir: &mut Dir) {
        if let Some(gone) = &self.gone
            && dir.get(gone).copied() == self.node
        {
            dir.remove(gone);
        }
        match self.node {
            Some(node) => dir.insert(self.name.clone(), node),
            None => dir.remove(&self.name),
        };
    }
}
