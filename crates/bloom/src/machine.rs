//! What the machine does better than portable Rust: zeroed memory, prefetch, and probes with AVX2 or AVX-512. The only
//! module with unsafe code, and not the definition of which bits are a key's: that is [`blocked`](crate::blocked), whose
//! portable functions these equal bit for bit (a property test holds them together).
//!
//! What the processor has is asked for at run time ([`level`]), once.
//!
//! Invariant: a result never depends on the machine.

#![allow(unsafe_code, reason = "vector instructions, prefetch and zeroed allocation have no safe form")]

use crate::blocked;
use crate::lines::{Block, low_half};

mod level;
mod memory;
mod table;

pub(crate) use level::Level;
use level::Widest;
pub(crate) use memory::{reserved, zeroed};
pub(crate) use table::Table;

/// How many keys of a batch have their lines on the way at a time: those of the first so many are asked for at once, and
/// with each test that of one more. With half as many a key was measured to take half as long again; and where each group
/// of so many was waited for to its end before the next one was begun, half as long again, too.
const TOGETHER: usize = 64;

/// Asks the processor to load the line soon, into the second cache: what waits for the first cache fills its few places for
/// loads under way, which was measured to take twice the time. Changes no result.
#[inline(always)]
pub(crate) fn prefetch(block: &Block) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint that neither reads nor faults; SSE, which has it, is part of every x86-64.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T1>(std::ptr::from_ref(block).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = block;
}

/// Calls the widest form that the table's machine has.
macro_rules! widest {
    ($table:ident, $name:ident($($argument:expr),*)) => {
        match $table.level.0 {
            // SAFETY: the processor has what the level names.
            #[cfg(target_arch = "x86_64")]
            Widest::Avx512 => unsafe { avx512::$name($($argument),*) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Widest::Avx2 => unsafe { avx2::$name($($argument),*) },
            Widest::Portable => portable::$name($($argument),*),
        }
    };
}

/// Whether the fingerprint's bits are all set.
#[inline(always)]
pub(crate) fn contains(table: &Table, fingerprint: u128) -> bool {
    widest!(table, contains(table, fingerprint))
}

/// Whether the fingerprint's bits are all set in one of the tables or in the last, asked in this order.
#[inline(always)]
pub(crate) fn contains_in_any<'a>(tables: impl Iterator<Item = &'a Table>, last: &Table, fingerprint: u128) -> bool {
    widest!(last, contains_in_any(last, fingerprint, tables))
}

/// Sets the fingerprint's bits.
#[inline]
pub(crate) fn insert(table: &mut Table, fingerprint: u128) {
    widest!(table, insert(table, fingerprint));
}

/// [`contains`] for all; the two slices are of one length.
pub(crate) fn contains_batch(table: &Table, fingerprints: &[u128], found: &mut [bool]) {
    widest!(table, contains_in_any_batch(std::iter::empty(), table, fingerprints, found));
}

/// [`contains_in_any`] for all; the two slices are of one length.
pub(crate) fn contains_in_any_batch<'a>(
    tables: impl Iterator<Item = &'a Table> + Clone,
    last: &Table,
    fingerprints: &[u128],
    found: &mut [bool],
) {
    widest!(last, contains_in_any_batch(tables, last, fingerprints, found));
}

/// [`insert`] for all.
pub(crate) fn insert_batch(table: &mut Table, fingerprints: &[u128]) {
    widest!(table, insert_batch(table, fingerprints));
}

/// The five functions over `masks`, `covers` and `set` of the module where this stands. (The order of their arguments puts
/// the high half of the fingerprint where the multiplication wants it.)
macro_rules! probes {
    ($(#[$feature:meta])*) => {
        $(#[$feature])*
        pub(super) fn contains(table: &Table, fingerprint: u128) -> bool {
            covers(table.line(fingerprint), masks(low_half(fingerprint)))
        }

        $(#[$feature])*
        pub(super) fn contains_in_any<'a>(
            last: &Table,
            fingerprint: u128,
            mut tables: impl Iterator<Item = &'a Table>,
        ) -> bool {
            let masks = masks(low_half(fingerprint));
            tables.any(|table| covers(table.line(fingerprint), masks)) || covers(last.line(fingerprint), masks)
        }

        $(#[$feature])*
        pub(super) fn insert(table: &mut Table, fingerprint: u128) {
            set(table.line_mut(fingerprint), masks(low_half(fingerprint)));
        }

        $(#[$feature])*
        pub(super) fn contains_in_any_batch<'a>(
            tables: impl Iterator<Item = &'a Table> + Clone,
            last: &Table,
            fingerprints: &[u128],
            found: &mut [bool],
        ) {
            let fetch = |fingerprint: &u128| {
                last.fetch(*fingerprint);
                tables.clone().for_each(|table| table.fetch(*fingerprint));
            };
            let (first, later) = fingerprints.split_at(fingerprints.len().min(TOGETHER));
            first.iter().for_each(fetch);
            let mut later = later.iter();
            for (&fingerprint, found) in fingerprints.iter().zip(found) {
                later.next().into_iter().for_each(fetch);
                *found = contains_in_any(last, fingerprint, tables.clone());
            }
        }

        $(#[$feature])*
        pub(super) fn insert_batch(table: &mut Table, fingerprints: &[u128]) {
            let (first, later) = fingerprints.split_at(fingerprints.len().min(TOGETHER));
            first.iter().for_each(|&fingerprint| table.fetch(fingerprint));
            let mut later = later.iter();
            for &fingerprint in fingerprints {
                later.next().into_iter().for_each(|&later| table.fetch(later));
                insert(table, fingerprint);
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

mod portable {
    use super::blocked::{bit_masks as masks, covers, set};
    use super::{TOGETHER, Table, low_half};

    // out of the way of the choice between the two, which is small and inlined
    probes!(#[cfg_attr(target_arch = "x86_64", inline(never))]);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// All that this processor can do. (Where it has neither AVX2 nor AVX-512, the test below compares nothing.)
    fn levels() -> Vec<Level> {
        let mut levels = vec![Level(Widest::Portable)];
        #[cfg(target_arch = "x86_64")]
        match Level::of_this_machine().0 {
            Widest::Avx512 if std::is_x86_feature_detected!("avx2") => {
                levels.extend([Widest::Avx2, Widest::Avx512].map(Level))
            }
            widest => levels.push(Level(widest)),
        }
        levels
    }

    proptest! {
        /// Whatever the processor has is what the portable code does.
        #[test]
        fn all_levels_set_and_test_the_same_bits(
            count in 1_u64..40,
            keys in prop::collection::vec(any::<u128>(), 1..120),
            probes in prop::collection::vec(any::<u128>(), 1..120),
        ) {
            let table = |lines: u64, level| Table::new(crate::lines::zeroed(lines).expect("small"), lines).at(level);
            let mut expect = table(count, Level(Widest::Portable));
            keys.iter().for_each(|&key| portable::insert(&mut expect, key));
            let probes = [&keys[..], &probes].concat();
            let expect_found: Vec<bool> = probes.iter().map(|&probe| portable::contains(&expect, probe)).collect();
            for level in levels() {
                let (mut filter, mut batch, empty) = (table(count, level), table(count, level), table(3, level));
                keys.iter().for_each(|&key| insert(&mut filter, key));
                insert_batch(&mut batch, &keys);
                prop_assert_eq!((filter.lines(), batch.lines()), (expect.lines(), expect.lines()));

                let both = || [&empty, &filter].into_iter();
                for (&probe, &expect) in probes.iter().zip(&expect_found) {
                    prop_assert_eq!(contains(&filter, probe), expect);
                    prop_assert_eq!(contains_in_any(both(), &empty, probe), expect);
                    prop_assert_eq!(contains_in_any([&empty].into_iter(), &filter, probe), expect);
                }
                let mut found = vec![false; probes.len()];
                contains_batch(&filter, &probes, &mut found);
                prop_assert_eq!(&found, &expect_found);
                found.fill(true);
                contains_in_any_batch(both(), &empty, &probes, &mut found);
                prop_assert_eq!(&found, &expect_found);
            }
        }
    }
}
