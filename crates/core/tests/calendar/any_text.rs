//! Whatever is written, an answer comes: a schedule or a reason, never a panic and never a long search.

use foreman_core::Timestamp;
use foreman_core::schedule::{DstGap, Timing, TimingSpec, Zone};
use proptest::prelude::*;

/// Text made of what expressions are made of.
fn nearly_cron() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[0-9]{1,3}",
        Just("*".to_owned()),
        Just("/".to_owned()),
        Just("-".to_owned()),
        Just(",".to_owned()),
        Just("#".to_owned()),
        Just("L".to_owned()),
        Just("sun".to_owned()),
        Just("feb".to_owned()),
        Just("@every".to_owned()),
        Just("TZ=".to_owned()),
        Just(" ".to_owned()),
        Just("\u{130}".to_owned()),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

/// Five or six fields, each of which is likely to be read.
fn mostly_cron() -> impl Strategy<Value = String> {
    let field = prop_oneof![
        4 => Just("*".to_owned()),
        2 => "[0-9]{1,2}",
        1 => "\\*/[0-9]{1,2}",
        1 => "[0-2]?[0-9]-[0-5]?[0-9]",
        1 => "[0-7](L|#[1-5])",
        1 => Just("L".to_owned()),
    ];
    prop::collection::vec(field, 5..=6).prop_map(|fields| fields.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_gets_an_answer(
        text in prop_oneof![nearly_cron(), mostly_cron(), any::<String>()],
        zone in prop_oneof![Just("Europe/Berlin"), Just("UTC"), Just("Pacific/Apia")],
        gap in prop_oneof![Just(None), Just(Some(DstGap::Skip))],
        micros in any::<i64>(),
    ) {
        let zone: Zone = zone.parse().unwrap();
        let instant = Timestamp::from_micros(micros);
        match Timing::read(TimingSpec::Cron(&text), Some(zone), gap, None, instant) {
            Ok(timing) => {
                prop_assert!(!timing.describe().is_empty());
                if let Some(fire) = timing.next_after(instant) {
                    prop_assert!(fire.at > instant);
                    prop_assert_eq!(timing.next_after(fire.at.minus(std::time::Duration::from_micros(1))).map(|next| next.at), Some(fire.at));
                    if let Some(note) = fire.note {
                        prop_assert!(!note.to_string().is_empty());
                    }
                }
            }
            Err((pointer, why)) => prop_assert!(pointer.starts_with('/') && !why.is_empty()),
        }
    }

    #[test]
    fn any_text_is_a_zone_or_refused_with_a_hint(text in any::<String>()) {
        match text.parse::<Zone>() {
            Ok(zone) => prop_assert_eq!(zone.name().parse::<Zone>().unwrap(), zone),
            Err(refused) => prop_assert!(!refused.hint.is_empty()),
        }
    }
}
