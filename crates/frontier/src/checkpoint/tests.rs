//! What a checkpoint wrote comes back as it was, or is given up by name.

use std::fs;

use super::*;

const SETTINGS: Settings =
    Settings { false_positive_rate: 0.01, initial_capacity: 100, growth_factor: 2.0, max_bytes: None };

fn filter(kind: Kind, items: u128) -> AnyScalable {
    let mut filter = AnyScalable::new(kind, SETTINGS).expect("settings are possible");
    (0..items).for_each(|i| filter.insert(fingerprint(i)));
    filter
}

/// Spread over all bits, as a hash would.
fn fingerprint(i: u128) -> u128 {
    (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835)
}

fn checkpoint(dir: &Path) -> Checkpoint {
    Checkpoint::open(dir, Origin::new(7))
}

#[test]
fn a_filter_comes_back_with_what_it_covers_and_sealed_layers_are_written_once() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut files = checkpoint(dir.path());
    let mut filter = filter(Kind::Blocked, 250);
    files.write(&filter, 5).expect("writes");
    let first_layer = dir.path().join(format!("{:020}-000.layer", 5));
    let written = fs::metadata(&first_layer).and_then(|m| m.modified()).expect("is there");
    (250..900).for_each(|i| filter.insert(fingerprint(i)));
    files.write(&filter, 9).expect("writes");
    assert_eq!(fs::metadata(&first_layer).and_then(|m| m.modified()).expect("is there"), written);

    let restored =
        checkpoint(dir.path()).read(Kind::Blocked, SETTINGS, Judge::BySettings).expect("reads").expect("is there");
    assert_eq!(restored.covered, 9);
    assert!((0..900).all(|i| restored.filter.contains(fingerprint(i))), "absent means absent");
    let layers = restored.filter.layer_count();
    assert_eq!(fs::read_dir(dir.path()).expect("lists").count(), layers + 1, "no file is left over");
}

#[test]
fn a_directory_without_filter_is_not_an_error() {
    let dir = tempfile::tempdir().expect("a directory");
    assert!(checkpoint(dir.path()).read(Kind::Blocked, SETTINGS, Judge::BySettings).expect("reads").is_none());
}

#[test]
fn what_is_damaged_foreign_or_missing_is_given_up_by_name() {
    type Damage = fn(&Path);
    let damage: [(&str, Damage); 4] = [
        ("manifest", |dir| fs::write(dir.join(MANIFEST), "crawld filter 1\n").expect("writes")),
        ("layer", |dir| {
            let path = layer(dir);
            let mut bytes = fs::read(&path).expect("reads");
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            fs::write(path, bytes).expect("writes");
        }),
        ("layer", |dir| fs::remove_file(layer(dir)).expect("removes")),
        ("layer", |dir| {
            Checkpoint::open(dir, Origin::new(8)).write(&filter(Kind::Blocked, 250), 5).expect("writes");
        }),
    ];
    for (named, damage) in damage {
        let dir = tempfile::tempdir().expect("a directory");
        checkpoint(dir.path()).write(&filter(Kind::Blocked, 250), 5).expect("writes");
        damage(dir.path());
        let reason =
            checkpoint(dir.path()).read(Kind::Blocked, SETTINGS, Judge::BySettings).err().expect("is given up");
        assert!(reason.contains(named), "{reason}");
    }
}

fn layer(dir: &Path) -> PathBuf {
    dir.join(format!("{:020}-000.layer", 5))
}

#[test]
fn every_kind_comes_back_and_another_one_is_given_up_by_name() {
    for (word, kind) in FilterKind::ALL.map(|kind| (kind.name(), kind.layers())) {
        let dir = tempfile::tempdir().expect("a directory");
        checkpoint(dir.path()).write(&filter(kind, 250), 5).expect("writes");
        let restored = checkpoint(dir.path()).read(kind, SETTINGS, Judge::BySettings).expect("reads");
        let restored = restored.expect("is there").filter;
        assert!(restored.kind() == kind && (0..250).all(|i| restored.contains(fingerprint(i))));
        let other = if kind == Kind::Blocked { Kind::Cuckoo } else { Kind::Blocked };
        let reason = checkpoint(dir.path()).read(other, SETTINGS, Judge::BySettings).err().expect("is given up");
        assert!(reason.contains(&format!("of kind {word}, not ")), "{reason}");
        let strict = Settings { false_positive_rate: 1e-9, ..SETTINGS };
        let asked = checkpoint(dir.path()).read(other, strict, Judge::AsItIs).expect("reads").expect("is there");
        assert_eq!(asked.filter.len(), 250);
    }
}

#[test]
fn a_sealed_layer_that_lost_a_key_is_written_again() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut files = checkpoint(dir.path());
    let mut filter = filter(Kind::Counting, 250);
    files.write(&filter, 5).expect("writes");
    assert!(filter.remove(fingerprint(3)) && !filter.contains(fingerprint(3)));
    files.write(&filter, 9).expect("writes");
    let restored = checkpoint(dir.path()).read(Kind::Counting, SETTINGS, Judge::BySettings);
    let restored = restored.expect("reads").expect("is there").filter;
    assert!(!restored.contains(fingerprint(3)) && restored.contains(fingerprint(4)));
}

#[test]
fn small_layers_are_read_as_they_are() {
    let dir = tempfile::tempdir().expect("a directory");
    let tiny = Settings { initial_capacity: 1, ..SETTINGS };
    let mut filter = AnyScalable::new(Kind::Cuckoo, tiny).expect("possible");
    filter.insert(fingerprint(0));
    checkpoint(dir.path()).write(&filter, 5).expect("writes");
    let restored = checkpoint(dir.path()).read(Kind::Blocked, SETTINGS, Judge::AsItIs).expect("reads");
    assert!(restored.expect("is there").filter.contains(fingerprint(0)));
}

#[test]
fn an_older_layer_under_the_name_of_a_newer_one_is_given_up() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut files = checkpoint(dir.path());
    let mut filter = filter(Kind::Blocked, 50);
    files.write(&filter, 5).expect("writes");
    let older = fs::read(layer(dir.path())).expect("reads");
    (50..90).for_each(|i| filter.insert(fingerprint(i)));
    files.write(&filter, 9).expect("writes");
    let newer = dir.path().join(layer_name(9, 0));
    fs::write(&newer, older).expect("writes");
    let reason = checkpoint(dir.path()).read(Kind::Blocked, SETTINGS, Judge::BySettings).err().expect("is given up");
    assert!(reason.contains("was written as 00000000000000000005-000.layer"), "{reason}");
    assert!(checkpoint(dir.path()).verify().is_err());
}

#[test]
fn a_sealed_layer_in_the_place_of_another_is_given_up() {
    let dir = tempfile::tempdir().expect("a directory");
    checkpoint(dir.path()).write(&filter(Kind::Blocked, 500), 5).expect("writes");
    let (first, second) = (dir.path().join(layer_name(5, 0)), dir.path().join(layer_name(5, 1)));
    fs::copy(&second, &first).expect("copies");
    let reason = checkpoint(dir.path()).read(Kind::Blocked, SETTINGS, Judge::BySettings).err().expect("is given up");
    assert!(reason.contains("damaged"), "{reason}");
}
