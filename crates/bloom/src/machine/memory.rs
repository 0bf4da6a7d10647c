//! Memory for many lines: zeroed without touching it where the allocator can, and on huge pages. Not a filter.
//!
//! Invariant: what is given out is an ordinary vector, freed as any other.

use std::alloc::{Layout, alloc_zeroed};

use crate::lines::Block;

/// So many lines of zeros, or `None` when the allocator refuses.
pub(crate) fn zeroed(count: usize) -> Option<Vec<Block>> {
    let layout = Layout::array::<Block>(count).ok()?;
    if layout.size() == 0 {
        return Some(Vec::new());
    }
    // SAFETY: the size is not 0.
    let start = unsafe { alloc_zeroed(layout) }.cast::<Block>();
    if start.is_null() {
        return None;
    }
    // SAFETY: `start` comes from the global allocator with the layout of `count` blocks, which is the layout that the
    // vector frees; and zero bytes are a valid `Block`, an array of integers.
    let mut lines = unsafe { Vec::from_raw_parts(start, count, count) };
    ask_for_huge_pages(&mut lines);
    Some(lines)
}

/// An empty vector with room for so many lines, to be filled at once.
pub(crate) fn reserved(count: usize) -> Vec<Block> {
    let mut lines = Vec::with_capacity(count);
    ask_for_huge_pages(lines.spare_capacity_mut());
    lines
}

/// Asks Linux to put this memory on pages of 2 MiB, as far as it covers whole ones.
///
/// A probe of a filter far beyond the cache also misses the translation of its address, which costs as much again; with
/// huge pages it does not. It must come before the memory is touched, and so has an effect only with an allocator that
/// leaves large zeroed memory untouched (mimalloc does, and asks for huge pages by itself; the system's allocator does
/// not ask). Where the system refuses, nothing is lost but speed.
fn ask_for_huge_pages<T>(memory: &mut [T]) {
    #[cfg(target_os = "linux")]
    {
        use rustix::mm::{Advice, madvise};
        const HUGE: usize = 2 << 20;
        let (start, bytes) = (memory.as_mut_ptr().cast::<u8>(), size_of_val(memory));
        let skipped = start.align_offset(HUGE).min(bytes);
        let length = (bytes - skipped) / HUGE * HUGE;
        if length >= 2 * HUGE {
            // SAFETY: the range lies inside the slice, and the advice changes how it is mapped, not what is in it.
            let _ = unsafe { madvise(start.add(skipped).cast(), length, Advice::LinuxHugepage) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = memory;
}
