//! What tests do at a step.

use std::cell::RefCell;
use std::sync::OnceLock;

use super::Step;

impl Step {
    /// Every step.
    pub(crate) const ALL: [Self; 39] = [
        Self::ExactSetRead,
        Self::LinksJudged,
        Self::EventAppended,
        Self::EventApplied,
        Self::CommitTaken,
        Self::CommitWritten,
        Self::CommitSynced,
        Self::DueHostsRead,
        Self::HostRead,
        Self::ForgottenRead,
        Self::SegmentCreated,
        Self::SegmentSynced,
        Self::SegmentRemoved,
        Self::MergeFrozen,
        Self::MergeDurable,
        Self::MergePlanned,
        Self::BlocksWritten,
        Self::BlocksNamed,
        Self::BatchApplied,
        Self::StoreWritten,
        Self::StoreFlushed,
        Self::FilterWritten,
        Self::MergeCovered,
        Self::StoreClosed,
        Self::MergeFinished,
        Self::BlocksRemoved,
        Self::LayerWritten,
        Self::LayerNamed,
        Self::ManifestWritten,
        Self::ManifestNamed,
        Self::LayerRemoved,
        Self::RebuildScanned,
        Self::RebuildSwapped,
        Self::RebuildPurged,
        Self::MetaWritten,
        Self::MetaNamed,
        Self::StoresOpened,
        Self::TailCut,
        Self::Replayed,
    ];
}

/// What to do at every step that this thread reaches.
type Visitor = Box<dyn FnMut(Step)>;

thread_local! {
    static VISITOR: RefCell<Option<Visitor>> = const { RefCell::new(None) };
}

/// What to do at every step that any thread of the process reaches.
static EVERYWHERE: OnceLock<fn(Step)> = OnceLock::new();

/// The step has been reached.
pub(crate) fn step(step: Step) {
    if let Some(visit) = EVERYWHERE.get() {
        visit(step);
    }
    // Taken out meanwhile: what a visitor does reaches steps too.
    if let Some(mut visitor) = VISITOR.take() {
        visitor(step);
        VISITOR.set(Some(visitor));
    }
}

/// Does the work with a visitor at each of its steps.
pub(crate) fn visiting<T>(visitor: impl FnMut(Step) + 'static, work: impl FnOnce() -> T) -> T {
    VISITOR.set(Some(Box::new(visitor)));
    let done = work();
    VISITOR.set(None);
    done
}

/// For the rest of the process.
pub(crate) fn visit_everywhere(visit: fn(Step)) {
    EVERYWHERE.set(visit).expect("only once in a process");
}
