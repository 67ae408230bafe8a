//! The tables that every job passes through are cleaned up by the number of dead rows, not by a share of their size.

use crate::given::Database;

#[tokio::test]
async fn the_hot_tables_are_cleaned_up_early_and_without_pauses() {
    let client = Database::ready().await.client().await;
    for table in ["ready", "claims", "sessions"] {
        let row = client
            .query_one("SELECT coalesce(reloptions, '{}') FROM pg_class WHERE oid = $1::text::regclass", &[&table])
            .await
            .unwrap();
        let options: Vec<String> = row.get(0);
        for wanted in ["autovacuum_vacuum_scale_factor=0", "autovacuum_vacuum_cost_delay=0"] {
            assert!(options.iter().any(|option| option == wanted), "{table}: {wanted} is not among {options:?}");
        }
        let threshold = options.iter().find_map(|option| option.strip_prefix("autovacuum_vacuum_threshold="));
        let threshold: u32 = threshold.unwrap_or_else(|| panic!("{table}: {options:?}")).parse().unwrap();
        assert!(threshold <= 1_000, "{table}: {threshold} dead rows are many to walk over");
        assert!(options.iter().any(|option| option.starts_with("fillfactor=")), "{table}: {options:?}");
    }
}
