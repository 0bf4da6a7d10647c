//! Tests that the kind chosen is the kind got, through growth, bytes, removals and rebuilds.

use super::*;
use crate::codec::DecodeError;
use crate::seeded::fingerprints;

const SETTINGS: Settings =
    Settings { false_positive_rate: 0.01, initial_capacity: 500, growth_factor: 2.0, max_bytes: None };
const KINDS: [Kind; 4] = [Kind::Blocked, Kind::Classic, Kind::Counting, Kind::Cuckoo];

fn filled(kind: Kind) -> AnyScalable {
    let mut filter = AnyScalable::new(kind, SETTINGS).expect("possible settings");
    let keys: Vec<u128> = fingerprints(61).take(2_000).collect();
    keys[..1_000].iter().for_each(|&key| filter.insert(key));
    filter.insert_batch(&keys[1_000..]);
    filter
}

/// As a checkpoint does it: each layer to bytes and back.
fn reopened(filter: &AnyScalable, kind: Kind) -> Result<AnyScalable, FilterError> {
    let origin = Origin::new(1);
    let mut files: Vec<Vec<u8>> = filter.sealed().iter().map(|layer| layer.encode(&origin, 7)).collect();
    files.push(filter.encode_newest(&origin, 7).1);
    let layers = files.iter().map(|bytes| AnyLayer::decode(kind, bytes, &origin).expect("just encoded").0);
    AnyScalable::from_layers(SETTINGS, layers.collect())
}

#[test]
fn every_kind_lives_a_whole_life() {
    for kind in KINDS {
        let mut filter = reopened(&filled(kind), kind).expect("its own layers");
        assert_eq!((filter.kind(), filter.len(), filter.layer_count()), (kind, 2_000, 3));
        assert_eq!(filter.layer_facts(), filled(kind).layer_facts());
        assert!(filter.layer_facts().iter().all(|f| f.load <= 1.0 && f.design_rate <= f.budget && f.overload == 0));
        assert!(filter.predicted_rate() <= 0.01 && filter.bytes() > 0);
        assert!(fingerprints(61).take(2_000).all(|key| filter.contains(key)));

        let before = filter.sealed();
        let removed = fingerprints(61).take(100).filter(|&key| filter.remove(key)).count();
        let can_remove = matches!(kind, Kind::Counting | Kind::Cuckoo);
        assert_eq!(removed > 90, can_remove);
        assert_eq!(filter.sealed()[0].is_same(&before[0]), !can_remove, "a removal changes a copy");
        assert!(filter.sealed()[1].is_same(&before[1]));

        filter.seal(100).expect("a small layer");
        filter.insert(1);
        let mut rebuilt = AnyScalable::with_capacity_for(kind, SETTINGS, 2_000).expect("possible");
        rebuilt.insert_batch(&fingerprints(61).take(2_000).collect::<Vec<_>>());
        filter.replace_sealed(rebuilt).expect("fewer layers");
        assert_eq!(filter.layer_count(), 2);
        assert!(filter.contains(1) && fingerprints(61).take(2_000).all(|key| filter.contains(key)));
    }
}

#[test]
fn kinds_do_not_mix() {
    let (mut blocked, cuckoo) = (filled(Kind::Blocked), filled(Kind::Cuckoo));
    let mixed = vec![blocked.sealed().remove(0), cuckoo.sealed().remove(1)];
    assert!(!mixed[0].is_same(&mixed[1]));
    assert_eq!(AnyScalable::from_layers(SETTINGS, mixed).err(), Some(FilterError::MixedKinds));
    assert_eq!(AnyScalable::from_layers(SETTINGS, Vec::new()).err(), Some(FilterError::NoLayers));
    assert_eq!(blocked.replace_sealed(cuckoo), Err(FilterError::MixedKinds));
    let bytes = blocked.encode_newest(&Origin::new(1), 7).1;
    let error = AnyLayer::decode(Kind::Cuckoo, &bytes, &Origin::new(1)).err();
    assert_eq!(error, Some(DecodeError::OtherKind { found: 1, expected: 4 }));
}
