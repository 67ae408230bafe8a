//! Sealing and opening, and everything that must not open.

use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use proptest::prelude::*;

use super::*;

fn ring(keys: &[&MasterKey]) -> Keyring {
    let texts: Vec<String> = keys.iter().map(|key| key.text().reveal().to_owned()).collect();
    texts.join(",").parse().expect("keys")
}

fn place<'a>(tenant: &'a TenantId, name: &'a str) -> SealedFor<'a> {
    SealedFor { tenant, name }
}

#[test]
fn what_is_sealed_opens_in_its_place_and_is_not_readable() {
    let (ring, tenant) = (Keyring::new(MasterKey::fresh()), TenantId::new("acme"));
    let here = place(&tenant, "webhook/1/secret");
    for text in ["", "whsec_abc", "ünï\0'quoted'", &"long ".repeat(10_000)] {
        let sealed = ring.seal(here, &Secret::new(text));
        assert_eq!(ring.open(here, &sealed).expect("it opens").reveal(), text);
        assert_ne!(sealed, ring.seal(here, &Secret::new(text)), "never twice the same");
        assert!(sealed.as_str().starts_with(&format!("fmsec1.{}.", ring.sealing_key_id())));
        assert!(text.is_empty() || !sealed.as_str().contains(text));
        assert_eq!(sealed.as_str().parse::<Sealed>().as_ref(), Ok(&sealed), "it survives its text");
    }
    assert_eq!(ring.self_test(), Ok(()));
}

#[test]
fn a_value_that_was_moved_does_not_open() {
    let (ring, acme, other) = (Keyring::new(MasterKey::fresh()), TenantId::new("acme"), TenantId::new("other"));
    let sealed = ring.seal(place(&acme, "webhook/1"), &Secret::new("sesame"));
    let damaged = Err(OpenError::Damaged { key_id: sealed.key_id().to_owned() });
    for elsewhere in
        [place(&other, "webhook/1"), place(&acme, "webhook/2"), place(&acme, ""), place(&acme, "webhook/1 ")]
    {
        assert_eq!(ring.open(elsewhere, &sealed), damaged, "{elsewhere:?}");
    }
    // The border between tenant and place cannot be moved either.
    let shifted = TenantId::new("acmewebhook");
    assert_eq!(ring.open(place(&shifted, "/1"), &sealed), damaged);
}

#[test]
fn a_value_of_another_key_names_it() {
    let (ours, theirs) = (MasterKey::fresh(), MasterKey::fresh());
    let tenant = TenantId::default();
    let sealed = ring(&[&theirs]).seal(place(&tenant, "x"), &Secret::new("sesame"));
    let refused = ring(&[&ours]).open(place(&tenant, "x"), &sealed).expect_err("another key");
    assert_eq!(refused, OpenError::UnknownKey { key_id: theirs.id().into(), known: ours.id().into() });
    assert!(refused.to_string().contains(theirs.id()), "{refused}");
    // Passed off as ours it is damaged, for the key's name is part of what is bound.
    let renamed: Sealed = sealed.as_str().replace(theirs.id(), ours.id()).parse().expect("the form of one");
    assert!(matches!(ring(&[&ours]).open(place(&tenant, "x"), &renamed), Err(OpenError::Damaged { .. })));
}

#[test]
fn a_key_is_changed_for_another_without_losing_anything() {
    let (old, new) = (MasterKey::fresh(), MasterKey::fresh());
    let tenant = TenantId::default();
    let here = place(&tenant, "x");
    let kept = ring(&[&old]).seal(here, &Secret::new("sesame"));
    let both = ring(&[&new, &old]);
    assert_eq!(both.open(here, &kept).expect("the old key still opens").reveal(), "sesame");
    let resealed = both.reseal(here, &kept).expect("it opens").expect("it was under the old key");
    assert_eq!(resealed.key_id(), new.id());
    assert_eq!(both.reseal(here, &resealed), Ok(None), "once is enough");
    assert_eq!(ring(&[&new]).open(here, &resealed).expect("without the old key").reveal(), "sesame");
    assert!(ring(&[&new]).reseal(here, &kept).is_err(), "what was forgotten is heard of");
}

#[test]
fn what_was_never_sealed_is_not_taken_for_sealed() {
    let sealed = Keyring::new(MasterKey::fresh()).seal(place(&TenantId::default(), "x"), &Secret::new("y"));
    let text = sealed.as_str();
    for wrong in [
        "",
        "sesame",
        "whsec_abc",
        "fmsec1",
        "fmsec1..",
        "fmsec1.0123abcd.",
        "fmsec1.0123abcd.AAAA",
        "fmsec1.xyz.AAAA",
        &text.replace("fmsec1", "fmsec2"),
        &text[..text.len() / 2],
        &format!("{text}="),
        &format!(" {text}"),
    ] {
        assert_eq!(wrong.parse::<Sealed>(), Err(NotSealed), "{wrong:?}");
    }
    assert!(serde_json::from_str::<Sealed>("\"sesame\"").is_err());
    let json = serde_json::to_string(&sealed).expect("plain text");
    assert_eq!(serde_json::from_str::<Sealed>(&json).expect("it was sealed"), sealed);
}

#[test]
fn keys_are_read_as_openssl_prints_them_and_never_repeated() {
    let key = MasterKey::fresh();
    let hex = key.bytes.chunks(4).fold(String::new(), |hex, four| {
        hex + &format!("{:08x}", u32::from_be_bytes(four.try_into().expect("32 is eight times four")))
    });
    let url = URL_SAFE_NO_PAD.encode(*key.bytes);
    for text in [key.text().reveal(), &hex, &hex.to_uppercase(), &url] {
        assert_eq!(text.parse::<MasterKey>().map(|read| read.id().to_owned()), Ok(key.id().to_owned()), "{text}");
    }
    for wrong in ["sesame", "00", &hex[1..], &format!("{}g", &hex[1..]), &format!("{url}AA"), &url[..42]] {
        let refused = wrong.parse::<Keyring>().expect_err(wrong);
        assert_eq!(refused, NotAKeyring::Form, "{wrong}");
        assert!(!refused.to_string().contains("sesame"));
    }
    assert_eq!("0".repeat(64).parse::<Keyring>().err(), Some(NotAKeyring::NotRandom));
    for empty in ["", " ", ",", " , "] {
        assert_eq!(empty.parse::<Keyring>().err(), Some(NotAKeyring::Empty), "{empty:?}");
    }
    let twice = format!("{hex},{url}");
    assert_eq!(twice.parse::<Keyring>().err(), Some(NotAKeyring::Twice(key.id().to_owned())));
    let several = format!(" {hex} , {} ", MasterKey::fresh().text().reveal());
    assert_eq!(several.parse::<Keyring>().expect("two keys").sealing_key_id(), key.id());
    let shown = format!("{key:?} {:?}", several.parse::<Keyring>());
    assert!(!shown.contains(&hex) && !shown.contains(key.text().reveal()) && shown.contains(key.id()));
}

proptest! {
    #[test]
    fn whatever_bit_is_changed_it_does_not_open(text in ".{0,40}", at: prop::sample::Index, bit in 0_u8..8) {
        let (ring, tenant) = (Keyring::new(MasterKey::fresh()), TenantId::default());
        let sealed = ring.seal(place(&tenant, "x"), &Secret::new(text));
        let mut bytes = sealed.bytes().expect("whole");
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        let changed = format!("{FORM}.{}.{}", sealed.key_id(), URL_SAFE_NO_PAD.encode(bytes));
        let opened = ring.open(place(&tenant, "x"), &changed.parse().expect("the form of one"));
        prop_assert!(matches!(opened, Err(OpenError::Damaged { .. })), "{:?}", opened);
    }
}
