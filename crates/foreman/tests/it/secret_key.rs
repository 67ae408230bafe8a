//! The key that secrets are sealed with: where it comes from, and what happens without it.

use std::os::unix::fs::PermissionsExt as _;

use foreman_client::{JobSpec, State};

use crate::stage::{Database, Stage, Target, call, run, state};

const SECRET: &str = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";

fn with_a_header(url: &str) -> JobSpec {
    JobSpec { headers: Some([("x-token".to_owned(), "hush-hush".to_owned())].into()), ..call(url) }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_laptop_makes_its_own_and_refuses_one_that_others_can_read() {
    let (stage, target) = (Stage::new(), Target::willing().await);
    let mut server = stage.start(&[]).await;
    let key = stage.data().join("secret.key");
    let mode = std::fs::metadata(&key).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let job = server.client.submit(&with_a_header(&target.url)).await.unwrap();
    state(&server.client, &job.id, State::Completed).await;
    let text = std::fs::read_to_string(&key).unwrap();
    assert!(!server.log().contains(text.trim()) && !server.greeting.contains(text.trim()));
    assert!(server.greeting.contains("jobs may call this machine"), "{}", server.greeting);
    assert_eq!(server.stop().await, Some(0));
    for file in ["foreman.db", "foreman.db-wal"].map(|name| stage.data().join(name)) {
        let kept = std::fs::read(&file).unwrap_or_default();
        assert!(!kept.windows(9).any(|window| window == b"hush-hush"), "{}", file.display());
    }

    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    let said = stage.start_in_vain(&[]).await;
    assert!(said.code == 1 && said.err.contains("chmod 600"), "{said:?}");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    let mut server = stage.start(&[]).await;
    assert_eq!(std::fs::read_to_string(&key).unwrap(), text, "it is the same one");
    assert_eq!(server.stop().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_without_one_starts_and_says_what_it_refuses() {
    let (stage, database) = (Stage::new(), Database::migrated().await);
    let mut server = stage.start_role(&database, "api", &[]).await;
    assert!(server.log().contains("no FOREMAN_SECRET_KEY"), "{}", server.log());
    server.client.submit(&call("http://127.0.0.1:9/")).await.unwrap();
    let refused = server.client.submit(&with_a_header("http://127.0.0.1:9/")).await.unwrap_err();
    assert_eq!(refused.status(), Some(422), "{refused}");
    assert!(refused.to_string().contains("FOREMAN_SECRET_KEY"), "{refused}");
    assert_eq!(server.stop().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_names_it_and_a_mistake_in_it_is_told_without_repeating_it() {
    let stage = Stage::new();
    let file = stage.path().join("ring");
    let check = async |text: &str, variables: &[(&str, &str)]| {
        std::fs::write(&file, text).unwrap();
        let mut command = stage.command();
        command.args(["check", "-o", "json"]).env("FOREMAN_SECRET_KEY_FILE", &file).envs(variables.iter().copied());
        run(command, None).await
    };
    let fine = check(&format!("{SECRET}\n"), &[]).await;
    assert!(fine.code == 0 && !fine.out.contains(SECRET), "{fine:?}");
    for wrong in ["", "sesame", &format!("{SECRET},{SECRET}")] {
        let said = check(wrong, &[]).await;
        assert!(said.code == 2 && said.err.contains("FOREMAN_SECRET_KEY_FILE"), "{said:?}");
        assert!(!said.err.contains("sesame") && !said.err.contains(SECRET), "{said:?}");
    }
    let both = check(SECRET, &[("FOREMAN_SECRET_KEY", SECRET)]).await;
    assert!(both.code == 2 && both.err.contains("set only one of them") && !both.err.contains(SECRET), "{both:?}");
}
