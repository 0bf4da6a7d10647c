//! The part of the fold that concerns pages that are visited again. Invariant: as of the whole ([the module above](super)).

use crate::canonical::host_of_key;
use crate::event::Change;
use crate::fingerprint::Fingerprint;
use crate::memory::{Order, Place};
use crate::partition::State;
use crate::record::{Counts, Record, State as UrlState};

impl State {
    /// A fetched page goes to the end of its host's queue.
    pub(super) fn queue_again(&mut self, order: Order, change: &Change<'_>) {
        let fingerprint = self.secret.fingerprint(change.key);
        let (_, block) = self.stands(fingerprint, change.record.block);
        let record = Record { block, ..change.record };
        self.active.put(fingerprint, &Change { record, ..*change }, Place::Tail(order));
        // While it is queued its depth can be lowered again.
        self.hot.remove(fingerprint);
        let id = self.enter(host_of_key(change.key));
        self.count(id, Counts::change(UrlState::Fetched, UrlState::Queued));
        self.push_tail(id, fingerprint, record.priority, order);
    }

    /// Another interval: of a page that was fetched, or of a URL in memory that nobody has asked for.
    pub(super) fn set_interval(&mut self, change: &Change<'_>) {
        let fingerprint = self.secret.fingerprint(change.key);
        let interval_secs = change.record.interval_secs;
        if change.record.state == UrlState::Queued {
            self.active.set_interval(fingerprint, interval_secs);
            let id = self.touch(change.key);
            let heads = self.queues.host_mut(id).heads.iter_mut();
            heads.filter(|(head, _)| *head == fingerprint).for_each(|(_, i)| i.record.interval_secs = interval_secs);
            return;
        }
        let (_, block) = self.stands(fingerprint, change.record.block);
        let record = Record { block, ..change.record };
        self.active.put(fingerprint, &Change { record, ..*change }, Place::None);
        self.touch(change.key);
        self.note_due(fingerprint, &record);
    }

    /// Where pages are visited again, this one may have to be.
    pub(super) fn note_due(&mut self, fingerprint: Fingerprint, record: &Record) {
        if let Some(revisits) = &mut self.revisits {
            revisits.push(fingerprint, record);
        }
    }
}
