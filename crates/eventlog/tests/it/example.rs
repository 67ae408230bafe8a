//! The example of the README does what it says.

use std::process::Stdio;
use std::time::Duration;

use crate::given::Given;

#[tokio::test]
async fn the_example_projects_orders_into_a_view() {
    let given = Given::blank().await;
    let path = crate::processes::example("orders");
    let run = tokio::process::Command::new(&path).arg(&given.url).stdin(Stdio::null()).output();
    let output = tokio::time::timeout(Duration::from_mins(1), run)
        .await
        .expect("it ends")
        .unwrap_or_else(|error| panic!("{}: {error}; cargo builds it with the tests", path.display()));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("order 1: paid, 30") && text.contains("order 2: placed, 5"), "{text}");
}
