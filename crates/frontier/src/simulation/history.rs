//! One history: random verbs, merges, faults and ends of the program, each judged by the model as it comes.

mod judge;
mod verbs;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::model::{Model, Said};
use crate::disk::simulated::{Disk, End, Faults, Random};
use crate::error::Error;
use crate::journal::Sequence;
use crate::merge::{self, After};
use crate::rebuild;
use crate::record::State;
use crate::steps::{Step, watched};
use crate::{Canonical, FilterKind, FilterOptions, Found, Frontier, Lease, Millis, Options};

/// URLs of the little web.
const URLS: u64 = 48;
const HOSTS: [&str; 3] = ["a.example.com", "b.example.com", "example.org"];
const DELAY_MS: u64 = 100;
const RETRY_AFTER_MS: u64 = 300;
const MAX_ATTEMPTS: u8 = 3;

/// A frontier on a disk that fails, beside what it should be.
pub(super) struct History {
    pub(super) disk: Arc<Disk>,
    random: Random,
    kind: FilterKind,
    connections: u32,
    frontier: Option<Arc<Frontier>>,
    model: Model,
    now: Millis,
    leases: Vec<(Lease, u16)>,
    /// Leases that were dropped, which the frontier learns at its next lease.
    dropped: BTreeSet<u16>,
    /// Forgotten while in flight: seen until the lease has ended.
    leaving: BTreeSet<u16>,
    /// By host: when its last response ended, or this run of the program began; zero when it was never asked.
    ended: [Millis; 3],
    /// A filter may be missing: it could not be read once, and was not made anew before a merge.
    filter_may_miss: bool,
    /// A merge or rebuild is under way, and this verb comes between its steps.
    is_visited: bool,
    /// A verb failed: this run of the program is over.
    is_broken: bool,
    /// What happened, told when something is not as it should be.
    told: Vec<String>,
    pub(super) runs: u64,
    pub(super) merges: u64,
    pub(super) poisoned: u64,
}

type Shared = Rc<RefCell<History>>;

fn url(n: u16) -> Canonical {
    static WEB: OnceLock<Vec<Canonical>> = OnceLock::new();
    let parsed = |n| Canonical::parse(&format!("http://{}/{n}", HOSTS[host_of(n)])).expect("a URL");
    WEB.get_or_init(|| (0..URLS as u16).map(parsed).collect())[usize::from(n)].clone()
}

fn host_of(n: u16) -> usize {
    usize::from(n) % HOSTS.len()
}

/// Lives one history to its end; panics where the frontier is not what it should be. Returns it as it ended.
pub(super) fn live(seed: u64) -> Shared {
    let mut random = Random::new(seed);
    let disk = Disk::new(random.next());
    let history = History {
        disk,
        kind: FilterKind::ALL[random.below(3) as usize],
        connections: 1 + random.below(2) as u32,
        random,
        frontier: None,
        model: Model::default(),
        now: 1_000_000,
        leases: Vec::new(),
        dropped: BTreeSet::new(),
        leaving: BTreeSet::new(),
        ended: [0; 3],
        filter_may_miss: false,
        is_visited: false,
        is_broken: false,
        told: Vec::new(),
        runs: 0,
        merges: 0,
        poisoned: 0,
    };
    let history = Rc::new(RefCell::new(history));
    let runs = 1 + history.borrow_mut().random.below(4);
    for _ in 0..runs {
        history.borrow_mut().open();
        run(&history);
    }
    end(&history);
    history
}

/// One run of the program, until it ends or breaks.
fn run(history: &Shared) {
    let verbs = 5 + history.borrow_mut().random.below(40);
    for _ in 0..verbs {
        let choice = history.borrow_mut().random.below(100);
        match choice {
            0..6 => merge(history),
            6..8 => rebuild(history),
            _ => history.borrow_mut().verb(),
        }
        let history = history.borrow();
        history.look();
        if history.is_broken {
            break;
        }
    }
    history.borrow_mut().stop();
}

/// Merges a partition, with other verbs between its steps.
fn merge(history: &Shared) {
    let (frontier, number) = {
        let mut history = history.borrow_mut();
        history.merges += 1;
        (history.frontier(), history.random.below(2) as usize)
    };
    history.borrow_mut().tell(format_args!("merge {number}"));
    let merged =
        visited(history, || merge::merge(&frontier.shared, &frontier.shared.partitions[number], After::Reopen));
    history.borrow_mut().took(merged);
}

/// Makes a filter anew, in the same way.
fn rebuild(history: &Shared) {
    let (frontier, number) = {
        let mut history = history.borrow_mut();
        (history.frontier(), history.random.below(2) as usize)
    };
    let shared = &frontier.shared;
    history.borrow_mut().tell(format_args!("rebuild {number}"));
    let rebuilt = visited(history, || rebuild::rebuild(shared, &shared.partitions[number]));
    // As the thread does that makes them.
    history.borrow_mut().took(rebuilt.map(|_| ()).inspect_err(|error| shared.fail(error.to_string())));
}

fn visited<T>(history: &Shared, work: impl FnOnce() -> T) -> T {
    let visitor = Rc::clone(history);
    let visit = move |step: Step| {
        let nobody_waits = [
            Step::MergeFrozen,
            Step::MergeDurable,
            Step::MergePlanned,
            Step::FilterWritten,
            Step::MergeCovered,
            Step::MergeFinished,
            Step::LayerNamed,
            Step::ManifestNamed,
            Step::RebuildScanned,
            Step::RebuildSwapped,
        ];
        let mut history = visitor.borrow_mut();
        if nobody_waits.contains(&step) && history.random.once_in(3) {
            history.tell(format_args!("  at {step:?}:"));
            history.is_visited = true;
            history.verb();
            history.is_visited = false;
        }
    };
    watched::visiting(visit, work)
}

/// Everything is crawled to the end: every URL once, and none is left.
fn end(history: &Shared) {
    {
        let mut history = history.borrow_mut();
        history.open_well();
        history.drain();
    }
    for number in 0..2 {
        let frontier = history.borrow().frontier();
        let merged = merge::merge(&frontier.shared, &frontier.shared.partitions[number], After::Reopen);
        merged.expect("nothing fails any more");
    }
    let mut history = history.borrow_mut();
    history.stop();
    history.open_well();
    history.look_at_hosts();
    history.drain();
    history.stop();
    history.disk.remove_disk();
}

impl Drop for History {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.told.join("\n"));
        }
    }
}

impl History {
    fn tell(&mut self, what: impl std::fmt::Display) {
        let (last, durable) = (self.model.last, self.model.durable);
        self.told.push(format!("{} {what} (event {last}, durable {durable})", self.now));
    }

    fn frontier(&self) -> Arc<Frontier> {
        Arc::clone(self.frontier.as_ref().expect("it is open"))
    }

    fn options(&self) -> Options {
        let filter = FilterOptions {
            kind: self.kind,
            false_positive_rate: 0.2,
            initial_capacity: 8,
            max_layers: 2,
            ..FilterOptions::default()
        };
        Options {
            partitions: 2,
            hot_cache_entries: 8,
            commit_interval: Duration::ZERO,
            journal_max_bytes: 1 << 12,
            filter,
            connections_per_host: self.connections,
            delay_ms: DELAY_MS,
            max_attempts: MAX_ATTEMPTS,
            retry_delay_ms: 50,
            max_retry_delay_ms: 1000,
            ..Options::new(self.disk.root())
        }
    }

    /// Begins a run, perhaps after some that ended while they opened.
    fn open(&mut self) {
        for _ in 0..self.random.below(3) {
            let faults = match self.random.below(3) {
                0 => Faults { failing: 30_000, ..Faults::default() },
                1 => Faults { unreadable: 30_000, ..Faults::default() },
                _ => {
                    let soon = [12, 60][self.random.below(2) as usize];
                    Faults { power_fails_in: 1 + self.random.below(soon), ..Faults::default() }
                }
            };
            self.disk.set_faults(faults);
            self.filter_may_miss |= faults.unreadable > 0;
            self.now += 7;
            self.tell(format_args!("open with {faults:?}"));
            match Frontier::open_by_hand(self.options(), self.now) {
                Ok(frontier) => drop(frontier),
                Err(error) => assert!(self.is_excused(), "does not open: {error}"),
            }
            self.restart();
        }
        self.open_well();
        let faults = match self.random.below(8) {
            0..4 => Faults { power_fails_in: 1 + self.random.below(150), ..Faults::default() },
            4 | 5 => Faults { failing: 20_000, ..Faults::default() },
            6 => Faults { unreadable: 10_000, ..Faults::default() },
            _ => Faults::default(),
        };
        self.disk.set_faults(faults);
        self.tell(format_args!("from here {faults:?}"));
    }

    /// Begins a run on a disk that works.
    fn open_well(&mut self) {
        self.now += 13;
        self.runs += 1;
        self.is_broken = false;
        self.ended = self.ended.map(|ended| if ended > 0 { self.now } else { 0 });
        let frontier = Frontier::open_by_hand(self.options(), self.now).expect("opens");
        if self.random.below(2) == 0 {
            // Queue blocks are read in parts.
            frontier.shared.partitions.iter().for_each(|p| p.state.lock().queues.hold_heads(0));
        }
        let last = frontier.shared.journal.last();
        assert!(last >= self.model.durable, "event {} was durable, the journal ends at {last}", self.model.durable);
        assert!(last <= self.model.last, "event {last} never was");
        self.model.cut(last);
        self.tell("opened");
        self.frontier = Some(Arc::new(frontier));
        self.judge();
    }

    /// Whether a fault may be the reason that something failed.
    fn is_excused(&self) -> bool {
        self.disk.is_off() || self.disk.failures() > 0
    }

    /// Takes in that something of the frontier's went well or failed.
    fn took(&mut self, result: Result<(), Error>) {
        let frontier = self.frontier();
        self.model.durable = self.model.durable.max(frontier.durable());
        self.model.last = self.model.last.max(frontier.shared.journal.last());
        let Err(error) = result else { return };
        self.tell(format_args!("  {error}"));
        assert!(self.is_excused(), "nothing was wrong with the disk: {error}");
        if self.disk.is_off() {
            self.is_broken = true;
        } else if frontier.health().is_err() {
            (self.is_broken, self.poisoned) = (true, self.poisoned + 1);
            let refused = frontier.lease(self.now).map(|_| ());
            assert!(matches!(refused, Err(Error::Poisoned(_))), "a lease after {error}");
            let refused = frontier.offer(&Found::default(), None, self.now);
            assert!(matches!(refused, Err(Error::Poisoned(_))), "an offer after {error}");
        }
    }

    /// Takes in a verb's event, which is the first after `before`, if it came to one.
    fn say(&mut self, before: Sequence, said: Said) {
        if self.frontier().shared.journal.last() > before {
            self.model.say(before + 1, said);
        }
    }

    /// Ends this run of the program: closed, or as it comes.
    fn stop(&mut self) {
        self.leases.clear();
        (self.dropped, self.leaving) = (BTreeSet::new(), BTreeSet::new());
        let frontier = self.frontier.take().expect("it is open");
        self.model.durable = self.model.durable.max(frontier.durable());
        if !self.is_broken && self.random.once_in(4) {
            let last = frontier.shared.journal.last();
            let closed = Arc::into_inner(frontier).expect("nobody else has it").close();
            match closed {
                Ok(()) => self.model.durable = last,
                Err(error) => assert!(self.is_excused(), "does not close: {error}"),
            }
        } else {
            // What is only in memory is lost.
            self.disk.switch_off();
            drop(frontier);
        }
        self.restart();
    }

    fn restart(&mut self) {
        let end = if self.random.once_in(3) { End::Killed } else { End::PowerCut };
        self.tell(format_args!("{end:?}"));
        self.disk.restart(end);
    }

    /// Leases and ends all that is queued.
    fn drain(&mut self) {
        for _ in 0..4000 {
            self.commit();
            if self.lease() {
                continue;
            }
            if let Some((lease, n)) = self.take_lease() {
                self.complete_with(lease, n, &Found::default(), BTreeSet::new(), 2);
            } else if self.model.known.urls.values().all(|url| url.state != State::Queued) {
                return;
            } else {
                self.now += DELAY_MS / 2;
            }
        }
        let left: Vec<_> = self.model.known.urls.iter().filter(|(_, url)| url.state == State::Queued).collect();
        panic!("never leased: {left:?}");
    }
}
