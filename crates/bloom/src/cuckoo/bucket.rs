//! Four slots of 16 bits in one word. Not the choice of the bucket.
//!
//! Invariant: slot i is bits 16i .. 16i+15; a slot of 0 is empty.

/// Slots of a bucket.
pub(super) const SLOTS: u32 = 4;

/// The lowest bit of each slot.
const LOW_BITS: u64 = 0x0001_0001_0001_0001;

/// Whether a slot holds this tag. The test for a zero in a word of Warren, "Hacker's Delight" (2nd edition, 6-1).
pub(super) fn holds(bucket: u64, tag: u16) -> bool {
    let difference = bucket ^ (u64::from(tag) * LOW_BITS);
    difference.wrapping_sub(LOW_BITS) & !difference & (LOW_BITS << 15) != 0
}

pub(super) fn slot_of(bucket: u64, tag: u16) -> Option<u32> {
    (0..SLOTS).find(|&slot| (bucket >> (16 * slot)) as u16 == tag)
}

pub(super) fn first_empty(bucket: u64) -> Option<u32> {
    slot_of(bucket, 0)
}

/// Whether every slot holds this tag.
pub(super) fn is_all(bucket: u64, tag: u16) -> bool {
    bucket == u64::from(tag) * LOW_BITS
}

/// The bucket with the tag in that slot, and what was there before.
pub(super) fn with_slot(bucket: u64, slot: u32, tag: u16) -> (u64, u16) {
    let before = (bucket >> (16 * slot)) as u16;
    (bucket ^ u64::from(before ^ tag) << (16 * slot), before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_found_and_changed() {
        let check = |slots: [u16; 4], tag: u16, expect: Option<u32>| {
            let bucket = slots.iter().rev().fold(0, |word, &slot| word << 16 | u64::from(slot));
            assert_eq!(slot_of(bucket, tag), expect, "{slots:x?}");
            assert_eq!(holds(bucket, tag), expect.is_some(), "{slots:x?} {tag:x}");
            assert_eq!(is_all(bucket, tag), slots == [tag; 4]);
            let (changed, before) = with_slot(bucket, 2, tag);
            assert_eq!(before, slots[2]);
            assert_eq!(slot_of(changed, tag), expect.filter(|&slot| slot < 2).or(Some(2)));
            assert_eq!(with_slot(changed, 2, before), (bucket, tag));
        };
        check([0; 4], 1, None);
        check([0; 4], 0, Some(0));
        check([7, 7, 7, 7], 7, Some(0));
        check([1, 2, 3, 0xffff], 0xffff, Some(3));
        check([1, 2, 3, 0x8000], 0, None);
        check([0x8000, 0, 0x8001, 1], 1, Some(3));
        check([2, 1, 2, 2], 3, None);
    }
}
