//! Starts that must not succeed, and what they say.

use std::net::TcpListener;

use foreman_client::State;

use crate::stage::{Stage, call, state};

#[tokio::test(flavor = "multi_thread")]
async fn a_second_process_on_the_same_data_is_refused_and_harms_nobody() {
    let stage = Stage::new();
    let server = stage.start(&[]).await;
    let said = stage.start_in_vain(&[]).await;
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.err.contains("in use by another foreman") && said.err.contains("--data-dir"), "{said:?}");
    assert!(said.err.contains(&server.pid().to_string()), "{said:?}");
    let echo = format!("{}/dev/echo", server.url);
    let job = server.client.submit(&call(&echo)).await.unwrap();
    state(&server.client, &job.id, State::Completed).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_taken_port_is_named_with_the_flag_that_changes_it() {
    let stage = Stage::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let data = stage.data();
    let words = ["dev", "--listen", &address.to_string(), "--data-dir", data.to_str().unwrap()];
    let said = stage.foreman(&words).await;
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.err.contains(&address.port().to_string()) && said.err.contains("--listen"), "{said:?}");
    drop(taken);
    // The store was closed behind the failed start: the next one finds it free.
    stage.start(&[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_no_database_is_left_as_it_is() {
    let stage = Stage::new();
    std::fs::create_dir_all(stage.data()).unwrap();
    let text = "this is not a database, it is a letter to my aunt. ".repeat(200);
    std::fs::write(stage.database(), &text).unwrap();
    let said = stage.start_in_vain(&[]).await;
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.err.contains("foreman.db") && said.err.contains("not a Foreman database"), "{said:?}");
    assert_eq!(std::fs::read_to_string(stage.database()).unwrap(), text);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_file_is_refused_with_what_to_do() {
    let stage = Stage::new();
    let mut server = stage.start(&["--queues", "other"]).await;
    let jobs = (0..200).map(|_| call("http://127.0.0.1:9/")).collect();
    server.client.submit_batch(jobs).await.unwrap();
    assert_eq!(server.stop().await, Some(0));
    // Pages in the middle are overwritten, as by a broken disk; and the stop was not in good order.
    let sql = "UPDATE store SET value = 0 WHERE name = 'clean'";
    rusqlite::Connection::open(stage.database()).unwrap().execute_batch(sql).unwrap();
    let mut bytes = std::fs::read(stage.database()).unwrap();
    assert!(bytes.len() > 16 * 4096, "there is a middle");
    bytes[3 * 4096..12 * 4096].fill(0xA5);
    std::fs::write(stage.database(), &bytes).unwrap();
    let said = stage.start_in_vain(&[]).await;
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.err.contains("damaged") && said.err.contains("backup"), "{said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_from_a_newer_version_is_refused_and_left_as_it_is() {
    let stage = Stage::new();
    let mut server = stage.start(&[]).await;
    assert_eq!(server.stop().await, Some(0));
    let newer = "INSERT INTO schema_migrations (version, name, checksum, serves, applied_at)
                 VALUES (999, 'later', 'x', 999, 0); PRAGMA user_version = 999;";
    rusqlite::Connection::open(stage.database()).unwrap().execute_batch(newer).unwrap();
    let said = stage.start_in_vain(&[]).await;
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.err.contains("newer") && said.err.contains("999"), "{said:?}");
    // Unless it says that it serves this version too.
    rusqlite::Connection::open(stage.database())
        .unwrap()
        .execute("UPDATE schema_migrations SET serves = 1 WHERE version = 999", [])
        .unwrap();
    let mut server = stage.start(&[]).await;
    assert_eq!(server.foreman(&["submit", "--task", "foreman.noop", "--wait"]).await.code, 0);
    assert!(server.log().contains("999, newer than this binary"), "{}", server.log());
    assert_eq!(server.stop().await, Some(0));
    stage.assert_clean().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_store_may_be_memory_and_then_nothing_is_kept() {
    let stage = Stage::new();
    let mut server = stage.start(&["--store", "memory"]).await;
    let said = server.foreman(&["submit", "--task", "foreman.noop", "--wait"]).await;
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(server.stop().await, Some(0));
    assert!(!stage.data().exists(), "no file was made");
}
