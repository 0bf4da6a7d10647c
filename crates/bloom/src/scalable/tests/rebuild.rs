//! Tests of sealing and of putting a rebuilt filter in place.

use super::*;

/// The steps of a rebuild while inserts go on.
#[test]
fn a_rebuild_replaces_what_was_sealed() {
    let mut filter = filled(SETTINGS, 18, 6_500);
    assert_eq!(filter.layer_count(), 3);
    filter.seal(500).expect("a small layer");
    let meanwhile: Vec<u128> = fingerprints(19).take(400).collect();
    filter.insert_batch(&meanwhile);
    let mut rebuilt = ScalableBloomFilter::with_capacity_for(SETTINGS, 6_500).expect("possible");
    fingerprints(18).take(6_500).for_each(|key| rebuilt.insert(key));
    filter.replace_sealed(rebuilt).expect("fewer layers than there were");
    let layers: Vec<(u32, u64)> = filter.layers().map(|layer| (layer.index(), layer.design_capacity())).collect();
    assert_eq!(layers, [(0, 6_500), (1, 500)]);
    assert!(fingerprints(18).take(6_500).chain(meanwhile).all(|key| filter.contains(key)));
    // the row goes on from the size of the whole, not from that of the small layer
    fingerprints(20).take(200).for_each(|key| filter.insert(key));
    assert_eq!(filter.newest().design_capacity(), 7_000);
    let again = reopened(&filter);
    assert!(again.layers().eq(filter.layers()));
}

#[test]
fn what_would_break_the_bound_is_not_put_in_place() {
    let mut filter = filled(SETTINGS, 21, 500);
    let before: Vec<Layer> = filter.layers().cloned().collect();
    // four layers where there is none to replace: the newest would move to where less is allowed
    assert!(matches!(filter.replace_sealed(filled(SETTINGS, 21, 7_500)), Err(FilterError::LayerBudget { .. })));
    let lax = Settings { false_positive_rate: 0.02, ..SETTINGS };
    filter.seal(10).expect("possible");
    assert!(matches!(filter.replace_sealed(filled(lax, 21, 500)), Err(FilterError::LayerBudget { .. })));
    assert!(filter.layers().take(1).eq(&before));
    // nothing to seal: the empty layer is kept
    filter.seal(10).expect("possible");
    assert_eq!(filter.layer_count(), 2);
}
