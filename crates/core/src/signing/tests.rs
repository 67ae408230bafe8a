//! Signing and verifying, and everything that must not verify.

use proptest::prelude::*;

use super::*;

/// The vector in the test suites of the official libraries.
const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const MESSAGE: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
const SENT: i64 = 1_614_265_330;
const BODY: &[u8] = br#"{"test": 2432232314}"#;
const EXPECTED: &str = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

fn secret(text: &str) -> SigningSecret {
    text.parse().expect("a secret")
}

fn message() -> MessageId {
    MESSAGE.parse().expect("an id")
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(seconds * 1_000_000)
}

fn check(signature: &str) -> Result<(), NotVerified> {
    let received = Received { id: MESSAGE, timestamp: "1614265330", signature };
    verify(&[secret(SECRET)], received, BODY, at(SENT), TOLERANCE)
}

#[test]
fn the_known_vectors_come_out() {
    let signed = sign(&secret(SECRET), [], &message(), at(SENT), BODY);
    assert_eq!(
        signed.headers(),
        [(ID, MESSAGE.into()), (TIMESTAMP, "1614265330".into()), (SIGNATURE, EXPECTED.to_owned())]
    );
    // Made with the official Python library, 1.1.0.
    for (key, id, sent, body, expected) in [
        (
            "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD",
            "msg_loFOjxBNrRLzqYUf",
            1_731_705_121,
            r#"{"event_type":"ping","data":{"success":true}}"#,
            "v1,Vr7I+3nDU86QUiDSfbM2evz2uJR/7d9XDcmuTdBO8/I=",
        ),
        (
            "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD",
            "msg_loFOjxBNrRLzqYUf",
            1_674_087_231,
            r#"{"type": "contact.created","timestamp":"2022-11-03T20:26:10.344522Z","data":{"id":"1f81eb52-5198-4599-803e-771906343485","type":"contact","first_name":"John","last_name":"Smith"}}"#,
            "v1,DfGOjl0emWB2rvTplpQGnBN/cCiHgwVoM5A/6lyP68k=",
        ),
    ] {
        let id = id.parse().expect("an id");
        assert_eq!(sign(&secret(key), [], &id, at(sent), body.as_bytes()).signature, expected);
    }
    assert_eq!(check(EXPECTED), Ok(()));
}

#[test]
fn a_fraction_of_a_second_is_cut() {
    let late = Timestamp::from_micros(SENT * 1_000_000 + 999_999);
    assert_eq!(sign(&secret(SECRET), [], &message(), late, BODY).signature, EXPECTED);
}

#[test]
fn a_signature_that_is_not_whole_matches_nothing() {
    let bare = &EXPECTED["v1,".len()..];
    let decoded = STANDARD.decode(bare).expect("base64");
    let longer = format!("v1,{}", STANDARD.encode([&decoded[..], &[0]].concat()));
    let shorter = format!("v1,{}", STANDARD.encode(&decoded[..31]));
    let reversed: Vec<u8> = decoded.iter().rev().copied().collect();
    for wrong in [
        "",
        " ",
        ",",
        "v1",
        "v1,",
        "v1, ",
        "v1,=",
        bare,
        &EXPECTED[..EXPECTED.len() - 1],
        &EXPECTED[..EXPECTED.len() / 2],
        &shorter,
        &longer,
        &format!("{EXPECTED}="),
        &format!("{EXPECTED}A"),
        &format!("v1,{}", STANDARD.encode(reversed)),
        &format!("v1a,{bare}"),
        &format!("v2,{bare}"),
        &format!("V1,{bare}"),
        &format!("v1,,{bare}"),
        &format!("v1;{bare}"),
        &format!(",{bare}"),
        &EXPECTED.replace(',', ", "),
        &EXPECTED.replace('+', "-"),
        &"v1, ".repeat(1_000),
    ] {
        assert_eq!(check(wrong), Err(NotVerified::NoMatch), "{wrong:?}");
    }
}

#[test]
fn one_good_signature_among_others_is_enough_wherever_it_stands() {
    let other = sign(&SigningSecret::fresh(), [], &message(), at(SENT), BODY).signature;
    for list in [
        format!("{EXPECTED} {other}"),
        format!("{other} {EXPECTED}"),
        format!("v1, {EXPECTED}"),
        format!("v1a,AAAA v2,{other} {EXPECTED} v1,"),
    ] {
        assert_eq!(check(&list), Ok(()), "{list}");
    }
    assert_eq!(check(&format!("{other} {other}")), Err(NotVerified::NoMatch));
}

#[test]
fn while_a_secret_rotates_holders_of_either_verify() {
    let (new, old) = (SigningSecret::fresh(), SigningSecret::fresh());
    let signed = sign(&new, [&old], &message(), at(SENT), BODY);
    assert_eq!(signed.signature.split(' ').count(), 2);
    let received = Received { id: MESSAGE, timestamp: "1614265330", signature: &signed.signature };
    let by = |secrets: &[SigningSecret]| verify(secrets, received, BODY, at(SENT), TOLERANCE);
    assert_eq!(by(std::slice::from_ref(&new)), Ok(()));
    assert_eq!(by(std::slice::from_ref(&old)), Ok(()));
    assert_eq!(by(&[SigningSecret::fresh(), old]), Ok(()), "a receiver may hold several too");
    assert_eq!(by(&[SigningSecret::fresh()]), Err(NotVerified::NoMatch));
    assert_eq!(by(&[]), Err(NotVerified::NoMatch), "who holds nothing trusts nothing");
}

#[test]
fn nothing_that_is_signed_can_be_changed() {
    let verified = |id, timestamp, body: &[u8]| {
        let received = Received { id, timestamp, signature: EXPECTED };
        verify(&[secret(SECRET)], received, body, at(SENT), TOLERANCE)
    };
    assert_eq!(verified(MESSAGE, "1614265330", BODY), Ok(()));
    assert_eq!(verified("msg_other", "1614265330", BODY), Err(NotVerified::NoMatch));
    assert_eq!(verified(MESSAGE, "1614265331", BODY), Err(NotVerified::NoMatch));
    assert_eq!(verified(MESSAGE, "1614265330", b""), Err(NotVerified::NoMatch));
    assert_eq!(verified(MESSAGE, "1614265330", &BODY[..BODY.len() - 1]), Err(NotVerified::NoMatch));
    assert_eq!(verified(MESSAGE, "1614265330", &[BODY, b" "].concat()), Err(NotVerified::NoMatch));
}

#[test]
fn the_parts_cannot_be_cut_elsewhere() {
    // `a` + `1` + `2.x` and `a.1` + `2` + `x` are the same signed text.
    let signed = sign(&secret(SECRET), [], &"a".parse().expect("an id"), at(1), b"2.x");
    let shifted = Received { id: "a.1", timestamp: "2", signature: &signed.signature };
    assert_eq!(verify(&[secret(SECRET)], shifted, b"x", at(2), TOLERANCE), Err(NotVerified::Header(ID)));
    for bad in ["", "a.1", "a b", "ä", "a\n", &"a".repeat(257)] {
        assert_eq!(bad.parse::<MessageId>(), Err(NotAMessageId), "{bad:?}");
    }
}

#[test]
fn a_message_is_good_for_five_minutes_either_way() {
    let received = Received { id: MESSAGE, timestamp: "1614265330", signature: EXPECTED };
    let when = |now| verify(&[secret(SECRET)], received, BODY, at(now), TOLERANCE);
    assert_eq!(when(SENT + 300), Ok(()));
    assert_eq!(when(SENT - 300), Ok(()));
    assert_eq!(when(SENT + 301), Err(NotVerified::TooOld));
    assert_eq!(when(SENT - 301), Err(NotVerified::TooNew));
}

#[test]
fn a_timestamp_is_written_in_one_way() {
    for wrong in
        ["", " 1614265330", "+1614265330", "-1614265330", "01614265330", "1614265330.0", "1e9", "9999999999999999999"]
    {
        let received = Received { id: MESSAGE, timestamp: wrong, signature: EXPECTED };
        let answer = verify(&[secret(SECRET)], received, BODY, at(SENT), Duration::MAX);
        assert_eq!(answer, Err(NotVerified::Header(TIMESTAMP)), "{wrong:?}");
    }
}

#[test]
fn each_header_is_there_once() {
    let signed = sign(&secret(SECRET), [], &message(), at(SENT), BODY);
    let mut headers = HeaderMap::new();
    for (name, value) in signed.headers() {
        assert!(Received::from_headers(&headers).is_err(), "not before all are there");
        headers.append(name, value.parse().expect("a header"));
    }
    let received = Received::from_headers(&headers).expect("all three");
    assert_eq!(verify(&[secret(SECRET)], received, BODY, at(SENT), TOLERANCE), Ok(()));
    headers.append(SIGNATURE, "v1,".parse().expect("a header"));
    assert_eq!(Received::from_headers(&headers).err(), Some(NotVerified::Header(SIGNATURE)));
}

#[test]
fn a_secret_is_24_to_64_bytes_of_base64_behind_its_prefix() {
    for (length, fits) in [(0, false), (23, false), (24, true), (32, true), (64, true), (65, false)] {
        let text = format!("{PREFIX}{}", STANDARD.encode(vec![7_u8; length]));
        let read = text.parse::<SigningSecret>();
        assert_eq!(read.as_ref().err(), (!fits).then_some(&NotASigningSecret::Length(length)), "{length} bytes");
        if let Ok(secret) = read {
            assert_eq!(secret.text().reveal(), text, "it survives its text");
        }
    }
    let bare = &SECRET[PREFIX.len()..];
    for wrong in [bare, "", "WHSEC_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", " whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"] {
        assert_eq!(wrong.parse::<SigningSecret>().err(), Some(NotASigningSecret::Prefix), "{wrong:?}");
    }
    for wrong in ["whsec_***", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw "] {
        assert_eq!(wrong.parse::<SigningSecret>().err(), Some(NotASigningSecret::Base64), "{wrong:?}");
    }
}

#[test]
fn a_fresh_secret_is_new_and_never_shown() {
    let (one, other) = (SigningSecret::fresh(), SigningSecret::fresh());
    assert_ne!(one.text(), other.text());
    assert_eq!(one.text().reveal().parse::<SigningSecret>().map(|read| read.text()), Ok(one.text()));
    assert_eq!(format!("{one:?}"), "whsec_***");
}

#[test]
fn a_jobs_message_keeps_its_id() {
    let job = JobId::fresh();
    let id = MessageId::of_job(job);
    assert_eq!(id, MessageId::of_job(job));
    assert_eq!(id.as_str().parse(), Ok(id), "it is one that can be signed");
}

proptest! {
    #[test]
    fn what_is_signed_verifies_and_no_flipped_bit_does(
        body: Vec<u8>, id in "[!-~&&[^.]]{1,40}", sent in 0_i64..4_000_000_000, byte in 0_usize..32, bit in 0_u8..8,
    ) {
        let (key, id) = (SigningSecret::fresh(), id.parse::<MessageId>().expect("an id"));
        let signed = sign(&key, [], &id, at(sent), &body);
        let timestamp = signed.timestamp.to_string();
        let received = Received { id: id.as_str(), timestamp: &timestamp, signature: &signed.signature };
        let keys = [key];
        prop_assert_eq!(verify(&keys, received, &body, at(sent), TOLERANCE), Ok(()));
        let mut mac = digest(&signed.signature).expect("whole");
        mac[byte] ^= 1 << bit;
        let flipped = format!("v1,{}", STANDARD.encode(mac));
        let received = Received { signature: &flipped, ..received };
        prop_assert_eq!(verify(&keys, received, &body, at(sent), TOLERANCE), Err(NotVerified::NoMatch));
    }

    #[test]
    fn no_text_at_all_is_taken_for_a_signature(text in ".{0,80}") {
        prop_assert_eq!(check(&text), Err(NotVerified::NoMatch));
    }
}
