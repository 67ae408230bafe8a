//! Where jobs may go, as the real binary is told.

use foreman_client::State;

use crate::stage::{Database, Stage, Target, call, run, state};

#[tokio::test(flavor = "multi_thread")]
async fn a_role_calls_nothing_private_unless_it_is_allowed() {
    let (stage, database, target) = (Stage::new(), Database::migrated().await, Target::willing().await);
    let mut strict = stage.role(&database, "api", &[]);
    strict.env_remove("FOREMAN_EGRESS_ALLOW");
    let mut server = stage.start_command(strict).await;
    let refused = server.client.submit(&call(&target.url)).await.unwrap_err();
    assert_eq!(refused.status(), Some(422), "{refused}");
    assert!(refused.to_string().contains("target not allowed"), "{refused}");
    assert_eq!(server.stop().await, Some(0));

    // What was accepted is judged again by whoever calls it.
    let mut server = stage.start_role(&database, "api", &["--egress-allow", "127.0.0.0/8"]).await;
    let job = server.client.submit(&call(&target.url)).await.unwrap();
    let mut strict = stage.role(&database, "worker", &[]);
    strict.env_remove("FOREMAN_EGRESS_ALLOW");
    let mut worker = stage.start_command(strict).await;
    let failed = state(&server.client, &job.id, State::Failed).await;
    assert!(failed.error.unwrap_or_default().contains("target not allowed"));
    assert_eq!(target.count(), 0, "nobody was called");
    assert!(worker.log().contains("127.0.0.0/8"), "the operator learns why: {}", worker.log());
    assert_eq!(worker.stop().await, Some(0));

    let _worker = stage.start_role(&database, "worker", &[]).await;
    let job = server.client.submit(&call(&target.url)).await.unwrap();
    state(&server.client, &job.id, State::Completed).await;
    assert_eq!(server.stop().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_laptop_calls_itself_and_nothing_else_that_is_private() {
    let (stage, target) = (Stage::new(), Target::willing().await);
    let server = stage.start(&["--egress-allow", "10.20.0.0/16"]).await;
    let job = server.client.submit(&call(&target.url)).await.unwrap();
    state(&server.client, &job.id, State::Completed).await;
    server.client.submit(&call("http://10.20.0.1:9/")).await.unwrap();
    for url in ["http://192.168.1.1/", "http://169.254.169.254/latest/meta-data", "http://printer.local/"] {
        let refused = server.client.submit(&call(url)).await.unwrap_err();
        assert_eq!(refused.status(), Some(422), "{url}: {refused}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mistake_in_the_list_says_what_to_write_instead() {
    let stage = Stage::new();
    let said = stage.foreman(&["check", "--egress-allow", "10.20.0.1/16,http://a.example"]).await;
    assert_eq!(said.code, 2, "{said:?}");
    for expected in ["--egress-allow", "did you mean 10.20.0.0/16?", "give its host alone"] {
        assert!(said.err.contains(expected), "{expected}: {said:?}");
    }
    let mut check = stage.command();
    check.args(["check", "-o", "json"]).env("FOREMAN_EGRESS_ALLOW", "169.254.0.0/16");
    let said = run(check, None).await;
    assert!(said.code == 0 && said.out.contains("169.254.169.254"), "a warning: {said:?}");
    assert!(said.out.contains("*.localhost"), "what dev allows besides is shown: {said:?}");
}
