//! What the processor has, as a value that a filter keeps: a test looks where it looks anyway, and asks nothing else. (To
//! ask the standard library each time, which remembers the answer, can be seen in the time of a test.)
//!
//! Invariant: a level exists only on a processor that has what it names.

/// The widest instructions that probes can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Level(pub(super) Widest);

/// Only made by [`Level::of_this_machine`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Widest {
    /// AVX-512F and BMI2.
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// AVX2 and BMI2.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    Portable,
}

impl Level {
    pub(crate) fn of_this_machine() -> Self {
        #[cfg(target_arch = "x86_64")]
        if std::is_x86_feature_detected!("bmi2") {
            if std::is_x86_feature_detected!("avx512f") {
                return Self(Widest::Avx512);
            }
            if std::is_x86_feature_detected!("avx2") {
                return Self(Widest::Avx2);
            }
        }
        Self(Widest::Portable)
    }
}
