//! The steps between which a crash may fall, by name: where tests kill the process, and where they let other verbs in.
//!
//! In other builds than tests' a step is nothing at all. Every step of the table is reached by `simulation/kills`, which
//! fails if one is not.

/// A moment in the life of the frontier's data: what comes before it has been done, what comes after has not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
    // From "link found" to "page done".
    /// The exact set was asked for URLs of the page, outside the locks.
    ExactSetRead,
    /// The page's URLs have their verdicts; nothing is recorded.
    LinksJudged,
    /// Its event is in the journal's buffer, and in no partition.
    EventAppended,
    /// Its event is in the partitions, and not durable.
    EventApplied,
    /// The buffer has been taken for a commit.
    CommitTaken,
    /// The commit is written, not synced.
    CommitWritten,
    /// The commit is synced, and nobody told.
    CommitSynced,
    // From the queue to a lease, and out of it.
    /// The next hosts in the store are read, outside the lock.
    DueHostsRead,
    /// A host and its next block are read, outside the lock.
    HostRead,
    /// Records that are to be forgotten are read, outside the lock.
    ForgottenRead,
    // The journal's files.
    /// A segment has a name and no header.
    SegmentCreated,
    /// Its header is synced, its name is not.
    SegmentSynced,
    /// A segment is deleted, which is not synced.
    SegmentRemoved,
    // A merge.
    /// Memory is frozen.
    MergeFrozen,
    /// All that is frozen is durable.
    MergeDurable,
    /// What to write is known.
    MergePlanned,
    /// The queue blocks are in a temporary file.
    BlocksWritten,
    /// It has its name, not synced.
    BlocksNamed,
    /// A batch has been put into the store.
    BatchApplied,
    /// All batches have, and nothing is flushed.
    StoreWritten,
    /// All is flushed.
    StoreFlushed,
    /// The filter's files are written, and the store covers what it covered before.
    FilterWritten,
    /// The store says what it covers now.
    MergeCovered,
    /// The store is closed, to be opened again.
    StoreClosed,
    /// The store counts, memory is free, the journal is not trimmed.
    MergeFinished,
    /// A block file that nothing names any more is deleted.
    BlocksRemoved,
    // A checkpoint.
    /// A layer is in a temporary file.
    LayerWritten,
    /// It has its name, not synced.
    LayerNamed,
    /// The manifest is in a temporary file.
    ManifestWritten,
    /// It has its name, not synced.
    ManifestNamed,
    /// A file that the manifest does not name is deleted.
    LayerRemoved,
    // A rebuild.
    /// The store's keys are in the new filter.
    RebuildScanned,
    /// The new filter answers.
    RebuildSwapped,
    /// The notes of forgotten URLs are deleted.
    RebuildPurged,
    // An opening.
    /// What the directory is made under is in a temporary file.
    MetaWritten,
    /// It has its name, not synced.
    MetaNamed,
    /// The stores are open.
    StoresOpened,
    /// What an earlier process left of the last segment is cut and synced.
    TailCut,
    /// The journal is replayed.
    Replayed,
}

/// The step has been reached.
#[cfg(not(test))]
#[inline(always)]
pub(crate) fn step(_: Step) {}

#[cfg(test)]
pub(crate) use watched::step;

#[cfg(test)]
pub(crate) mod watched;
