//! Which of a host's queue blocks have been read: for each class the last one.
//!
//! Not the blocks (`store`). Invariant: a block that was read is not read again while its host is in memory, in whatever
//! order blocks of other classes come.

use crate::found::Priority;
use crate::store::BlockId;

/// The blocks of a host that the store may hold and that were not read yet.
#[derive(Debug, Default)]
pub(crate) struct Unread {
    /// A bit for each class of which there may be some.
    classes: u8,
    /// The last one read of each class that was begun.
    last: Vec<BlockId>,
    /// The one of which only so many URLs, the first ones, were read.
    begun: Option<(BlockId, usize)>,
}

impl Unread {
    /// Of a host of which nothing was read.
    pub(crate) fn any() -> Self {
        Self { classes: u8::MAX, ..Self::default() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.classes == 0
    }

    /// The first class of which there may be some.
    pub(crate) fn first(&self) -> Option<Priority> {
        (!self.is_empty()).then(|| Priority::new(self.classes.trailing_zeros().into()))
    }

    /// For each class of which there may be some, first ones first: the block after which to read.
    pub(crate) fn cursors(&self) -> Vec<BlockId> {
        let classes = (0..8).filter(|class| self.classes & (1 << class) != 0).map(Priority::new);
        let begun = |class| self.last.iter().find(|id| id.priority == class).copied();
        classes.map(|class| begun(class).unwrap_or(BlockId::before(class))).collect()
    }

    /// This was the first after the cursors, so there is none of the classes before it.
    pub(crate) fn read(&mut self, id: BlockId) {
        self.begun = self.begun.filter(|(begun, _)| *begun != id);
        self.none_before(id.priority);
        match self.last.iter_mut().find(|last| last.priority == id.priority) {
            Some(last) => *last = id,
            None => self.last.push(id),
        }
    }

    /// The block of which only so many URLs were read.
    pub(crate) fn begun(&self) -> Option<(BlockId, usize)> {
        self.begun
    }

    /// So many URLs of this block were read. One that was begun before and put off for this one is read anew: what of it
    /// went out then does not stand in it any more.
    pub(crate) fn begin(&mut self, id: BlockId, urls: usize) {
        self.begun = Some((id, urls));
        self.none_before(id.priority);
    }

    fn none_before(&mut self, class: Priority) {
        self.classes &= u8::MAX << class.class();
    }

    /// There are none.
    pub(crate) fn clear(&mut self) {
        self.classes = 0;
    }

    /// A merge has written some of this class.
    pub(crate) fn add(&mut self, class: Priority) {
        self.classes |= 1 << class.class();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(class: u64, number: u64) -> BlockId {
        BlockId { priority: Priority::new(class), number, part: 0 }
    }

    #[test]
    fn a_better_class_comes_back_without_the_others_being_read_again() {
        let mut unread = Unread::any();
        assert_eq!(unread.cursors().len(), 8);
        unread.begin(id(4, 10), 8);
        assert_eq!((unread.first(), unread.begun()), (Some(Priority::new(4)), Some((id(4, 10), 8))));
        unread.read(id(4, 10));
        assert_eq!((unread.first(), unread.begun()), (Some(Priority::new(4)), None));
        unread.read(id(6, 5));
        assert_eq!(unread.cursors(), [id(6, 5), id(7, 0)]);
        unread.add(Priority::new(4));
        assert_eq!(unread.cursors(), [id(4, 10), id(6, 5), id(7, 0)]);
        unread.read(id(4, 11));
        unread.clear();
        assert!(unread.is_empty() && unread.first().is_none());
        unread.add(Priority::LAST);
        assert_eq!(unread.first(), Some(Priority::LAST));
    }
}
