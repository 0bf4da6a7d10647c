//! SimHashes of the last pages, and which of them are within a few bits of another, without looking at all.
//!
//! Two of 64 bits that differ in at most three have one of their four blocks of 16 bits in common (Manku, Jain and Das
//! Sarma, "Detecting near-duplicates for web crawling", WWW 2007, section 3). So there are four tables, by block; each
//! leads to those with that block, the newest first: of a million, some 16 in each table. Not a judgement of what *nearly*
//! means. Invariants: everything held within [`MAX_BITS`] is found, unless more than [`MAX_LOOKS`] newer ones share its
//! block (which only a site that makes its pages for it comes to); memory is 40 bytes for each entry and 2 MiB.

use crate::sketch::SimHash;

/// Bits in which near ones differ at most. Three of 64 is what Manku et al. found best for eight billion pages.
pub const MAX_BITS: u32 = 3;

/// Entries of one block that are looked at.
pub const MAX_LOOKS: usize = 4096;

const BLOCKS: usize = MAX_BITS as usize + 1;
const BLOCK_BITS: usize = 64 / BLOCKS;
const KEYS: usize = 1 << BLOCK_BITS;

/// The index. Entries are numbered from 1; 0 is none.
#[derive(Debug)]
pub struct NearIndex {
    capacity: u64,
    /// Entry n is at n % capacity.
    entries: Vec<Entry>,
    /// The newest entry of each block and key.
    newest: Vec<u64>,
    last: u64,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    simhash: u64,
    /// The entry before it with the same key, of each block.
    before: [u64; BLOCKS],
}

impl NearIndex {
    /// An empty index of at most so many, which are more than none.
    pub fn new(capacity: usize) -> Self {
        Self { capacity: capacity.max(1) as u64, entries: Vec::new(), newest: vec![0; BLOCKS * KEYS], last: 0 }
    }

    /// Whether one that is held is near; if not, this one is held from now on, in place of the oldest.
    pub fn meet(&mut self, simhash: SimHash) -> bool {
        let (is_near, _) = self.find(simhash.0);
        if !is_near {
            self.insert(simhash.0);
        }
        is_near
    }

    /// Whether one is near, and how many were looked at.
    fn find(&self, simhash: u64) -> (bool, usize) {
        let mut looks = 0;
        for block in 0..BLOCKS {
            let mut number = self.newest[place(simhash, block)];
            let end = looks + MAX_LOOKS;
            // Numbers only fall; below those that are held there are none.
            while number > self.last.saturating_sub(self.capacity) && looks < end {
                looks += 1;
                let entry = &self.entries[self.slot(number)];
                if (entry.simhash ^ simhash).count_ones() <= MAX_BITS {
                    return (true, looks);
                }
                number = entry.before[block];
            }
        }
        (false, looks)
    }

    fn insert(&mut self, simhash: u64) {
        self.last += 1;
        let mut entry = Entry { simhash, before: [0; BLOCKS] };
        for (block, before) in entry.before.iter_mut().enumerate() {
            *before = std::mem::replace(&mut self.newest[place(simhash, block)], self.last);
        }
        let slot = self.slot(self.last);
        match self.entries.get_mut(slot) {
            Some(oldest) => *oldest = entry,
            None => self.entries.push(entry),
        }
    }

    fn slot(&self, number: u64) -> usize {
        usize::try_from((number - 1) % self.capacity).expect("capacities come from usize")
    }
}

/// Where the newest entry with this block is kept.
fn place(simhash: u64, block: usize) -> usize {
    let key = (simhash >> (block * BLOCK_BITS)) as usize % KEYS;
    block * KEYS + key
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::sketch::Sketcher;

    proptest! {
        #[test]
        fn it_finds_what_a_scan_finds(
            // Few bases, so that near ones are common.
            steps in prop::collection::vec((0u64..6, prop::collection::vec(0u32..64, 0..6)), 1..200),
            capacity in 1usize..40,
        ) {
            let mut index = NearIndex::new(capacity);
            let mut held: Vec<u64> = Vec::new();
            for (base, bits) in steps {
                let base = base.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                let simhash = bits.iter().fold(base, |simhash, bit| simhash ^ 1 << bit);
                let is_near = held.iter().any(|other| (other ^ simhash).count_ones() <= MAX_BITS);
                prop_assert_eq!(index.meet(SimHash(simhash)), is_near);
                if !is_near {
                    held.push(simhash);
                    if held.len() > capacity {
                        held.remove(0);
                    }
                }
            }
        }
    }

    /// SplitMix64.
    fn random(state: &mut u64) -> u64 {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = *state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    #[test]
    fn a_question_looks_at_few_and_a_hostile_site_costs_a_bounded_number() {
        let mut index = NearIndex::new(100_000);
        let mut state = 1;
        (0..200_000).for_each(|_| index.insert(random(&mut state)));
        let looks: usize = (0..1000).map(|_| index.find(random(&mut state)).1).sum();
        assert!(looks < 1000 * 10, "{looks} for 1000 questions to 100,000 entries");
        let same_blocks = |n: u64| n << 16 | 7;
        (0..100_000).for_each(|n| index.insert(same_blocks(random(&mut state) ^ n)));
        let (_, looks) = index.find(7 | 1 << 40);
        assert!(looks <= BLOCKS * MAX_LOOKS, "{looks}");
    }

    /// The SimHash of a page of these words.
    fn simhash(words: impl Iterator<Item = u32>) -> SimHash {
        let letter = |n: u32| char::from(b'a' + (n % 26) as u8);
        let word = |n: u32| (0..5).map(|i| letter(n / 26u32.pow(i))).collect::<String>() + " ";
        let mut sketcher = Sketcher::default().with_simhash();
        words.for_each(|n| sketcher.write(word(n).as_bytes()));
        sketcher.finish().1.expect("enough words")
    }

    /// What MAX_BITS comes to on texts of 500 words.
    #[test]
    fn rates_on_texts_that_differ_a_little_and_that_differ() {
        let mut state = 7;
        let mut text = || -> Vec<u32> { (0..500).map(|_| (random(&mut state) % 20_000) as u32).collect() };
        let texts: Vec<_> = (0..400).map(|_| text()).collect();
        // Of 400 texts, how many are found again when so many of their words are others?
        let found = |changed: usize| {
            let is_near = |(n, words): (usize, &Vec<u32>)| {
                let other = words
                    .iter()
                    .enumerate()
                    .map(|(i, word)| if i < changed { 30_000 + (n * 50 + i) as u32 } else { *word });
                (simhash(other).0 ^ simhash(words.iter().copied()).0).count_ones() <= MAX_BITS
            };
            texts.iter().enumerate().filter(|pair| is_near(*pair)).count()
        };
        let rates = [0, 1, 2, 5, 10, 50].map(|changed| (changed, found(changed)));
        println!("of 400, found with so many of 500 words changed: {rates:?}");
        assert_eq!(rates[0].1, 400);
        assert!(rates[1].1 > 300 && rates[2].1 > 200, "{rates:?}");
        assert!(rates[5].1 < 40, "a tenth of the words is another text: {rates:?}");
        let mut index = NearIndex::new(1000);
        let alarms = texts.iter().filter(|words| index.meet(simhash(words.iter().copied()))).count();
        assert_eq!(alarms, 0, "of 400 texts that have nothing to do with each other");
    }
}
