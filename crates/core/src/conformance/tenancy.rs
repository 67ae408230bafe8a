//! The promises about tenants and keys, and the macro that stamps them onto a store that keeps them.
//!
//! A list of their own until every store keeps tenants; then they move into `suite.rs`.

/// Stamps them onto a store: `tenancy_suite!(make_subject)`, where `make_subject` is an `async fn() -> impl TenancySubject`
/// that makes a fresh, empty store. Each becomes a test such as `tenancy::keys::a_key_is_replaced_once`.
#[macro_export]
macro_rules! tenancy_suite {
    ($make:ident) => {
        mod tenancy {
            use super::$make as make_subject;
            $crate::for_every_tenancy_promise!($crate::stamp_promises);
        }
    };
}

/// Hands the list to another macro, like `for_every_promise!`.
#[doc(hidden)]
#[macro_export]
macro_rules! for_every_tenancy_promise {
    ($($callback:tt)+) => {
        $($callback)+! {
            keys {
                a_key_reads_back_as_it_was_made,
                a_key_sent_again_is_made_once,
                an_id_is_taken_once_whoever_asks,
                a_key_needs_a_tenant,
                another_tenants_key_is_not_there,
                a_key_nobody_made_is_not_there,
                the_door_finds_key_and_tenant_of_one_moment,
                the_door_sees_at_once_what_an_administrator_did,
                a_revoked_key_stays_revoked_since_the_first_time,
                keys_are_listed_by_id_page_by_page,
                a_use_is_noted_and_never_taken_back,
                a_replaced_key_goes_on_for_its_grace,
                a_key_gains_no_time_by_being_replaced,
                a_replacement_sent_again_is_made_once,
                a_key_is_replaced_once,
                what_opens_nothing_is_not_replaced,
                a_replacement_needs_an_id_of_its_own,
                of_many_replacements_at_once_one_takes_place,
                one_key_sent_twice_at_once_is_made_once,
            }
            tenants_kept {
                the_default_tenant_is_always_there,
                a_tenant_reads_back_as_it_was_made,
                a_tenant_nobody_made_is_not_there,
                a_tenant_sent_again_is_made_once,
                an_id_is_taken_once,
                of_many_made_with_one_id_at_once_one_is_made,
                tenants_are_listed_by_id_page_by_page,
                a_change_raises_the_version,
                a_change_of_what_was_not_seen_is_stale,
                a_change_sent_again_is_done_once,
                of_many_changes_at_once_one_takes_place,
                the_default_tenant_can_be_changed_and_not_deleted,
                a_tenant_is_deleted_when_it_is_disabled_and_owns_nothing,
                a_tenant_with_a_schedule_is_not_deleted,
                a_deleted_tenant_is_gone_with_its_keys,
                a_deletion_sent_again_is_answered_the_same,
                the_id_of_a_deleted_tenant_is_never_given_again,
            }
        }
    };
}
