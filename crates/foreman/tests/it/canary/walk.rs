//! Every path that a secret can take into Foreman, walked with a marker of its own.

use std::fs;

use serde_json::{Value, json};

use super::marker::{Canary, Kind, fresh};
use super::receiver::Receiver;
use super::wire::{Answer, Ask, send};
use crate::stage::{Said, Server, run, until};

/// Somebody's secret is sent to the target that it is for, and is nowhere else.
const SENT: &[Kind] = &[Kind::Target];

pub struct Walk<'a> {
    pub canary: Canary,
    pub server: &'a Server,
    /// The operator's key.
    pub admin: String,
    /// The tenant's key, once there is one.
    acme: String,
    receiver: Receiver,
    /// The jobs of the tenant.
    jobs: Vec<String>,
    webhook: String,
}

impl<'a> Walk<'a> {
    pub async fn begin(canary: Canary, server: &'a Server, admin: &str) -> Self {
        let receiver = Receiver::start().await;
        let (acme, webhook) = (String::new(), String::new());
        Self { canary, server, admin: admin.to_owned(), acme, receiver, jobs: Vec::new(), webhook }
    }

    /// From the first tenant to the last look at everything that was left behind.
    pub async fn all(&mut self) {
        self.keys().await;
        self.webhooks().await;
        self.headers().await;
        self.urls().await;
        self.schedules().await;
        self.commands().await;
        self.refusals().await;
        self.requests().await;
        self.typed().await;
        self.settled().await;
        self.looks().await;
        for request in self.receiver.seen() {
            let kind = if request.path.starts_with("/hook") { Kind::Hook } else { Kind::Target };
            self.canary.collect(kind, format!("what {} was sent", request.path), request.text);
        }
    }

    async fn ask(&mut self, ask: Ask<'_>) -> Answer {
        let answer = send(self.server.address(), &ask).await;
        assert!(answer.status < 500, "{} {}: {}", ask.method, ask.path, answer.text);
        self.canary.collect(Kind::Answer, format!("the answer to {} {}", ask.method, ask.path), answer.text.clone());
        answer
    }

    /// One that has to go well.
    async fn done(&mut self, ask: Ask<'_>) -> Value {
        let what = format!("{} {}", ask.method, ask.path);
        let answer = self.ask(ask).await;
        assert!(answer.status < 300, "{what}: {}", answer.text);
        if answer.status == 204 { Value::Null } else { answer.json() }
    }

    async fn refused(&mut self, status: u16, ask: Ask<'_>) {
        let what = format!("{} {}", ask.method, ask.path);
        let answer = self.ask(ask).await;
        assert_eq!(answer.status, status, "{what}: {}", answer.text);
    }

    /// One whose answer shows a secret, this once: the rest of the answer is kept, and the secret from now on watched.
    async fn shown_once(&mut self, path: &str, ask: Ask<'_>, field: &str) -> (Value, String) {
        let answer = send(self.server.address(), &ask).await;
        assert!(answer.status < 300, "{path}: {}", answer.text);
        let document = answer.json();
        let whole = document[field].as_str().unwrap_or_else(|| panic!("{path}: {document}")).to_owned();
        let secret = whole.rsplit_once('_').expect("it says what it is").1;
        self.canary.watch(path, secret, &[], &[]);
        let rest = answer.text.replacen(secret, "shown", 1);
        self.canary.collect(Kind::Answer, format!("the rest of the answer to {path}"), rest);
        (document, whole)
    }

    /// A command line with this key.
    async fn typed_with(&mut self, key: &str, words: &[&str]) -> Said {
        let mut command = self.server.command(words);
        command.env("FOREMAN_API_KEY", key);
        let said = run(command, None).await;
        self.said(words, &said);
        said
    }

    fn said(&mut self, words: &[&str], said: &Said) {
        let name = words.iter().take(3).copied().collect::<Vec<_>>().join(" ");
        self.canary.collect(Kind::Said, format!("what `foreman {name}` said"), format!("{}\n{}", said.out, said.err));
    }

    async fn keys(&mut self) {
        let admin = self.admin.clone();
        // In metrics there are no tenants: they may be many, and they are nobody's business.
        let elsewhere = [Kind::Answer, Kind::Said, Kind::Log, Kind::Hook, Kind::Environment];
        let tenant = self.canary.allowed("the name of a tenant", &elsewhere, &[Kind::Answer, Kind::Database]);
        self.done(
            Ask::new("POST", "/api/v1/tenants")
                .key(&admin)
                .json(&json!({"id": tenant, "commands": ["sh", "/no/such"]})),
        )
        .await;
        let keys = format!("/api/v1/tenants/{tenant}/keys");
        let scopes = json!({"scopes": ["jobs:*", "schedules:*", "exec:command"]});
        let (made, _) = self.shown_once("a key", Ask::new("POST", &keys).key(&admin).json(&scopes), "key").await;
        let rotate = format!("{keys}/{}/rotate", made["id"].as_str().unwrap());
        let ask = Ask::new("POST", &rotate).key(&admin).json(&json!({"grace": "1h"}));
        self.acme = self.shown_once("a rotated key", ask, "key").await.1;
        let reader = json!({"scopes": ["jobs:read"], "name": "reader"});
        let (_, reader) =
            self.shown_once("a key that may only read", Ask::new("POST", &keys).key(&admin).json(&reader), "key").await;
        let secret = self.canary.secret("a header of a job that its key may not submit", &[]);
        let job = self.job("/t", &secret);
        self.refused(403, Ask::new("POST", "/api/v1/jobs").key(&reader).json(&job)).await;
        let signing = format!("/api/v1/tenants/{tenant}/signing-secret");
        for path in ["a signing secret", "a rotated signing secret"] {
            self.shown_once(path, Ask::new("POST", &signing).key(&admin).json(&json!({"overlap": "1h"})), "secret")
                .await;
        }
        for words in [["--output", "json"], ["--name", "typed"]] {
            let words = [&["keys", "create", "--tenant", &tenant, "--scopes", "jobs:read"][..], &words].concat();
            let mut command = self.server.command(&words);
            command.env("FOREMAN_API_KEY", &admin);
            let mut said = run(command, None).await;
            assert_eq!(said.code, 0, "{said:?}");
            let start = said.out.find("fm_").expect("it is printed") + 16;
            let secret: String = said.out[start..].chars().take_while(char::is_ascii_alphanumeric).collect();
            self.canary.watch("a key made on the command line", &secret, &[], &[]);
            said.out = said.out.replacen(&secret, "shown", 1);
            self.said(&words, &said);
        }
    }

    async fn webhooks(&mut self) {
        let key = self.acme.clone();
        let own = [Kind::Answer, Kind::Said];
        let token = self.canary.allowed("a parameter of a webhook's URL", &own, &[Kind::Database, Kind::Hook]);
        let spec = json!({"url": format!("{}/hook?token={token}", self.receiver.url), "events": ["*"]});
        let ask = Ask::new("POST", "/api/v1/webhooks").key(&key).json(&spec);
        let (made, _) = self.shown_once("the secret of a webhook", ask, "secret").await;
        made["id"].as_str().unwrap().clone_into(&mut self.webhook);
        let rotate = format!("/api/v1/webhooks/{}/rotate-secret", self.webhook);
        let ask = Ask::new("POST", &rotate).key(&key).json(&json!({"overlap": "1h"}));
        self.shown_once("the rotated secret of a webhook", ask, "secret").await;
    }

    /// A call of this path with a secret header.
    fn job(&self, path: &str, secret: &str) -> Value {
        json!({
            "url": format!("{}{path}", self.receiver.url),
            "headers": {"Authorization": format!("Bearer {secret}"), "X-Token": secret},
            "max_attempts": 2,
            "backoff": {"base": "50ms", "factor": 1.0, "cap": "50ms"},
        })
    }

    async fn submit(&mut self, job: &Value) -> String {
        let key = self.acme.clone();
        let made = self.done(Ask::new("POST", "/api/v1/jobs").key(&key).json(job)).await;
        let id = made["id"].as_str().unwrap().to_owned();
        self.jobs.push(id.clone());
        id
    }

    async fn headers(&mut self) {
        let key = self.acme.clone();
        for (path, at) in [
            ("a header of a job", "/t"),
            ("a header of a job that fails and is tried again", "/fail"),
            ("a header of a job that is refused by its target", "/refuse"),
            ("a header that a target says back in headers", "/echo-head"),
            ("a header that a target says back in its body", "/echo-body"),
        ] {
            let secret = self.canary.secret(path, SENT);
            let job = self.job(at, &secret);
            self.submit(&job).await;
        }
        let everywhere = [Kind::Answer, Kind::Database, Kind::Target];
        let payload = self.canary.allowed("the payload of a job", &[Kind::Said, Kind::Hook], &everywhere);
        let job = json!({"url": format!("{}/t", self.receiver.url), "payload": {"text": payload}});
        self.submit(&job).await;

        let secret = self.canary.secret("a header of a job that is submitted twice", SENT);
        let (name, job) = (fresh(), self.job("/t", &secret));
        for time in ["first", "second"] {
            let ask = Ask::new("POST", "/api/v1/jobs").key(&key).header(&format!("Idempotency-Key: {name}")).json(&job);
            let answer = self.ask(ask).await;
            assert!(answer.status < 300, "the {time} time: {}", answer.text);
        }
        let other = self.canary.secret("a header of a job whose idempotency key was used otherwise", &[]);
        let job = self.job("/t", &other);
        let ask = Ask::new("POST", "/api/v1/jobs").key(&key).header(&format!("Idempotency-Key: {name}")).json(&job);
        let answer = self.ask(ask).await;
        assert!(matches!(answer.status, 409 | 422), "{}", answer.text);

        let (first, second) =
            (self.canary.secret("a header of a batch", SENT), self.canary.secret("a header of a refused batch", &[]));
        let batch = json!({"jobs": [self.job("/t", &first), self.job("/fail", &first)]});
        self.done(Ask::new("POST", "/api/v1/jobs/batch").key(&key).json(&batch)).await;
        let mut wrong = self.job("/t", &second);
        wrong["queue"] = json!("foreman.webhooks");
        let batch = json!({"jobs": [wrong, {"url": "nonsense", "headers": {"x": second}}]});
        self.ask(Ask::new("POST", "/api/v1/jobs/batch").key(&key).json(&batch)).await;
    }

    /// A target's URL is the tenant's to see, and for nobody's log.
    async fn urls(&mut self) {
        let own = [Kind::Answer, Kind::Said, Kind::Hook];
        let (kept, called) = (&[Kind::Database][..], &[Kind::Database, Kind::Target][..]);
        let token = self.canary.allowed("a parameter of a target's URL", &own, called);
        let job = json!({"url": format!("{}/t?token={token}", self.receiver.url)});
        self.submit(&job).await;
        let token = self.canary.allowed("a parameter of a URL where nobody listens", &own, kept);
        let job = json!({"url": format!("http://127.0.0.1:9/?api_key={token}"), "max_attempts": 1});
        self.submit(&job).await;
        let token = self.canary.allowed("a parameter of a URL that fails", &own, called);
        let job = json!({"url": format!("{}/refuse?x=1&sig={token}", self.receiver.url)});
        self.submit(&job).await;
        let token = self.canary.allowed("a parameter of a callback URL", &own, &[Kind::Database, Kind::Hook]);
        let callback = format!("{}/hook/callback?secret={token}", self.receiver.url);
        let job = json!({"url": format!("{}/t", self.receiver.url), "callback_url": callback});
        self.submit(&job).await;
    }

    async fn schedules(&mut self) {
        let key = self.acme.clone();
        let tick = self.canary.secret("a header of a schedule", SENT);
        let spec = json!({"name": "ticking", "every": "1s", "job": self.job("/ticked", &tick)});
        self.done(Ask::new("POST", "/api/v1/schedules").key(&key).json(&spec)).await;
        let receiver = self.receiver.clone();
        until("it ticked", async || receiver.seen().iter().any(|call| call.path == "/ticked").then_some(())).await;
        self.done(Ask::new("POST", "/api/v1/schedules/ticking/pause").key(&key)).await;

        let made = self.canary.secret("a header of a schedule that is replaced", &[]);
        let spec = json!({"name": "edited", "every": "1h", "job": self.job("/t", &made)});
        self.done(Ask::new("POST", "/api/v1/schedules").key(&key).json(&spec)).await;
        let replaced = self.canary.secret("a header of a schedule that replaces one", SENT);
        let spec = json!({"name": "edited", "every": "1h", "job": self.job("/t", &replaced)});
        self.done(Ask::new("PUT", "/api/v1/schedules/edited").key(&key).json(&spec)).await;
        self.done(Ask::new("POST", "/api/v1/schedules/edited/run").key(&key)).await;
        let patched = self.canary.secret("a header in a patch of a schedule", SENT);
        let patch = json!({"job": self.job("/fail", &patched)});
        self.done(Ask::new("PATCH", "/api/v1/schedules/edited").key(&key).json(&patch)).await;
        self.done(Ask::new("POST", "/api/v1/schedules/edited/run").key(&key)).await;
        let shown = self.canary.secret("a header of a schedule that is previewed", &[]);
        let spec = json!({"name": "shown", "every": "1h", "job": self.job("/t", &shown)});
        self.ask(Ask::new("POST", "/api/v1/schedules/preview").key(&key).json(&spec)).await;
        let wrong = self.canary.secret("a header of a refused schedule", &[]);
        let spec = json!({"name": "wrong", "cron": "never", "job": self.job("/t", &wrong)});
        self.refused(422, Ask::new("POST", "/api/v1/schedules").key(&key).json(&spec)).await;
    }

    async fn commands(&mut self) {
        let given = self.canary.secret("a variable of a command", &[Kind::Environment]);
        let job = json!({"command": "echo began; sleep 3", "env": {"SECRET": given}});
        let id = self.submit(&job).await;
        let mark = format!("FOREMAN_JOB_ID={id}");
        let seen = until("the command runs", async || {
            let seen = processes("environ").into_iter().filter(|(_, text)| text.contains(&mark)).collect::<Vec<_>>();
            (!seen.is_empty()).then_some(seen)
        })
        .await;
        for (pid, text) in seen {
            self.canary.collect(Kind::Environment, format!("the environment of the command {pid}"), text);
        }
        for (pid, text) in processes("cmdline") {
            self.canary.collect(Kind::Arguments, format!("the words of process {pid}: {text}"), text);
        }
        for (path, command) in [
            ("a variable of a command that fails", json!("echo no >&2; exit 3")),
            ("a variable that a command prints", json!("echo $SECRET; echo $SECRET >&2; exit 4")),
            ("a variable of a program that is not there", json!(["/no/such", "thing"])),
        ] {
            let secret = self.canary.secret(path, &[]);
            self.submit(&json!({"command": command, "env": {"SECRET": secret}, "max_attempts": 1})).await;
        }
        let key = self.acme.clone();
        let secret = self.canary.secret("a variable of a command that may not run", &[]);
        let job = json!({"command": ["/bin/rm", "-rf"], "env": {"SECRET": secret}});
        let answer = self.ask(Ask::new("POST", "/api/v1/jobs").key(&key).json(&job)).await;
        assert!(answer.status >= 400, "{}", answer.text);
    }

    /// What is refused is not repeated, for whoever logs answers logs that too.
    async fn refusals(&mut self) {
        let key = self.acme.clone();
        let submit = "/api/v1/jobs";
        for (path, body, status) in [
            ("text that is no JSON", r#"{"url":"http://127.0.0.1:9/","headers":{"a":"MARK"},oops}"#, 400),
            ("JSON that breaks off", r#"{"url":"http://127.0.0.1:9/","headers":{"a":"MARK"#, 400),
            ("a field that there is not", r#"{"url":"http://127.0.0.1:9/","hedaers":{"a":"MARK"}}"#, 400),
            ("headers as text", r#"{"url":"http://127.0.0.1:9/","headers":"a: MARK"}"#, 422),
            ("headers as a list", r#"{"url":"http://127.0.0.1:9/","headers":["a: MARK"]}"#, 422),
            ("variables as text", r#"{"command":"true","env":"A=MARK"}"#, 422),
            ("a header that is a list", r#"{"url":"http://127.0.0.1:9/","headers":{"a":["MARK"]}}"#, 422),
            ("a header with a wrong name", r#"{"url":"http://127.0.0.1:9/","headers":{"a b":"MARK"}}"#, 422),
            ("a header with a reserved name", r#"{"url":"http://127.0.0.1:9/","headers":{"Cookie":"MARK"}}"#, 422),
            ("a header with a line's end", r#"{"url":"http://127.0.0.1:9/","headers":{"a":"MARK\r\nb: c"}}"#, 422),
            ("a variable with a wrong name", r#"{"command":"true","env":{"A-B":"MARK"}}"#, 422),
            ("a variable with a NUL", r#"{"command":"true","env":{"A":"MARK\u0000"}}"#, 422),
            ("headers of a command", r#"{"command":"true","headers":{"a":"MARK"}}"#, 422),
            ("a password in a URL", r#"{"url":"https://ann:MARK@example.com/"}"#, 422),
            ("a user in a URL", r#"{"url":"https://MARK@example.com/"}"#, 422),
            (
                "a password in a callback URL",
                r#"{"url":"https://example.com/","callback_url":"https://ann:MARK@example.com/"}"#,
                422,
            ),
            ("a parameter of a URL that is no URL", r#"{"url":"https://exa mple.com/?token=MARK"}"#, 422),
            ("a parameter of a refused URL", r#"{"url":"http://169.254.169.254/?token=MARK"}"#, 422),
            ("a password in a URL of another scheme", r#"{"url":"ftp://ann:MARK@example.com/"}"#, 422),
        ] {
            let secret = self.canary.secret(path, &[]);
            self.refused(status, Ask::new("POST", submit).key(&key).text(&body.replace("MARK", &secret))).await;
        }
        let secret = self.canary.secret("a password in a webhook's URL", &[]);
        let spec = json!({"url": format!("https://ann:{secret}@example.com/")});
        self.refused(422, Ask::new("POST", "/api/v1/webhooks").key(&key).json(&spec)).await;
        let secret = self.canary.secret("a header of a job that is sent as something else", &[]);
        let ask = Ask::new("POST", submit).key(&key).header("Content-Type: text/plain");
        let body = self.job("/t", &secret).to_string();
        self.refused(415, Ask { body: Some(body), ..ask }).await;
    }

    /// What comes along with requests.
    async fn requests(&mut self) {
        let (key, admin) = (self.acme.clone(), self.admin.clone());
        let id = key.split('_').nth(1).unwrap().to_owned();
        for (path, header) in [
            ("a key that nobody knows", "Authorization: Bearer fm_000000000000_MARK".to_owned()),
            ("the wrong secret of a key", format!("Authorization: Bearer fm_{id}_MARK")),
            ("a wrong operator's key", "Authorization: Bearer MARK".to_owned()),
            ("a key of another scheme", "Authorization: Basic MARK".to_owned()),
            ("a key without a scheme", "Authorization: MARK".to_owned()),
            ("a key in another header", "X-Api-Key: MARK".to_owned()),
        ] {
            let secret = self.canary.secret(path, &[]);
            self.refused(401, Ask::new("GET", "/api/v1/jobs").header(&header.replace("MARK", &secret))).await;
        }
        for (path, at, status) in [
            ("a parameter of a request", "/api/v1/jobs?access_token=MARK", 400),
            ("a parameter of a request to nowhere", "/api/v1/nowhere?key=MARK", 404),
            ("a parameter of a request for a page", "/?token=MARK", 200),
            ("a parameter of a probe", "/healthz?token=MARK", 200),
        ] {
            let secret = self.canary.secret(path, &[]);
            let answer = self.ask(Ask::new("GET", &at.replace("MARK", &secret)).key(&key)).await;
            assert!(answer.status == status || answer.status == 200, "{path}: {}", answer.text);
        }
        let secret = self.canary.secret("a cookie", &[]);
        self.done(Ask::new("GET", "/api/v1/jobs").key(&key).header(&format!("Cookie: session={secret}"))).await;
        let secret = self.canary.secret("a password in a page that refers here", &[]);
        self.ask(Ask::new("GET", "/api/v1/jobs").key(&key).header(&format!("Referer: https://a:{secret}@b/"))).await;
        // The name of a request is for logs: what is found there shows that logs are searched.
        let name = self.canary.allowed("the name of a request", &[Kind::Answer, Kind::Database], &[Kind::Log]);
        self.done(Ask::new("GET", "/api/v1/tenants").key(&admin).header(&format!("X-Request-Id: {name}"))).await;
    }

    /// The command line, with keys in its environment.
    async fn typed(&mut self) {
        let (key, admin) = (self.acme.clone(), self.admin.clone());
        let secret = self.canary.secret("a header on the command line", SENT);
        let (url, header) = (format!("{}/t", self.receiver.url), format!("X-Token: {secret}"));
        let words = ["submit", "--url", &url, "-H", &header, "--wait", "--output", "json"];
        let said = self.typed_with(&key, &words).await;
        assert_eq!(said.code, 0, "{said:?}");
        let secret = self.canary.secret("a header of a schedule on the command line", SENT);
        let header = format!("X-Token: {secret}");
        self.typed_with(&key, &["schedules", "create", "typed", "--every", "1h", "--url", &url, "-H", &header]).await;
        self.typed_with(&key, &["schedules", "run", "typed"]).await;
        let secret = self.canary.secret("a header on the command line that is wrong", &[]);
        self.typed_with(&key, &["submit", "--url", &url, "-H", &format!("X Token: {secret}")]).await;
        let secret = self.canary.secret("a variable on the command line that is wrong", &[]);
        self.typed_with(&key, &["submit", "--command", "true", "--env", &format!("A-B={secret}")]).await;
        for words in [
            &["--help"][..],
            &["submit", "--help"],
            &["keys", "--help"],
            &["dev", "--help"],
            &["keys", "create", "--scopes", "nonsense"],
            &["jobs", "list", "--nonsense"],
            &["jobs", "list", "--api-url", "http://127.0.0.1:9"],
            &["audit"],
            &["tenants", "list"],
            &["keys", "list"],
        ] {
            self.typed_with(&admin, words).await;
        }
        let secret = self.canary.secret("a wrong key on the command line", &[]);
        let said = self.typed_with(&secret, &["jobs", "list"]).await;
        assert_ne!(said.code, 0, "{said:?}");
        let secret = self.canary.secret("a password in the address of the API", &[]);
        for words in [&["jobs", "list"][..], &["jobs", "--help"]] {
            let mut command = self.server.command(words);
            command.env("FOREMAN_API_URL", format!("http://ann:{secret}@127.0.0.1:9/")).env("FOREMAN_API_KEY", &key);
            let said = run(command, None).await;
            self.said(words, &said);
        }
        let list = ["webhooks", "deliveries", &self.webhook.clone()];
        self.typed_with(&key, &list).await;
        for id in self.jobs.clone() {
            self.typed_with(&key, &["jobs", "show", &id]).await;
        }
    }

    /// Every job is final and every ending told.
    async fn settled(&mut self) {
        let (address, key) = (self.server.address().to_owned(), self.acme.clone());
        until("every job is final", async || {
            for state in ["scheduled", "pending", "running", "retrying"] {
                let path = format!("/api/v1/jobs?limit=1&state={state}");
                let answer = send(&address, &Ask::new("GET", &path).key(&key)).await;
                if !answer.json()["items"].as_array().unwrap().is_empty() {
                    return None;
                }
            }
            Some(())
        })
        .await;
        let receiver = self.receiver.clone();
        let told = |path: &str| receiver.seen().iter().filter(|call| call.path.starts_with(path)).count();
        let expected = self.jobs.len();
        until("all of it was told", async || (told("/hook?") >= expected && told("/hook/callback") > 0).then_some(()))
            .await;
    }

    /// Everything that can be read.
    async fn looks(&mut self) {
        let (key, admin) = (self.acme.clone(), self.admin.clone());
        let hook = format!("/api/v1/webhooks/{}", self.webhook);
        self.done(Ask::new("POST", &format!("{hook}/test")).key(&key)).await;
        let mut paths: Vec<String> = [
            "/api/v1/jobs?limit=100",
            "/api/v1/dead",
            "/api/v1/queues",
            "/api/v1/schedules",
            "/api/v1/schedules/ticking",
            "/api/v1/schedules/ticking/ticks",
            "/api/v1/schedules/edited",
            "/api/v1/schedules/typed",
            "/api/v1/schedules/edited/preview",
            "/api/v1/webhooks",
            "/api/v1/whoami",
        ]
        .map(str::to_owned)
        .to_vec();
        paths.push(hook.clone());
        let list = self.done(Ask::new("GET", "/api/v1/jobs?limit=100").key(&key)).await;
        for job in list["items"].as_array().unwrap() {
            let id = job["id"].as_str().unwrap();
            paths.extend(["", "/wait", "/output"].map(|what| format!("/api/v1/jobs/{id}{what}")));
        }
        let deliveries = self.done(Ask::new("GET", &format!("{hook}/deliveries?limit=100")).key(&key)).await;
        for delivery in deliveries["items"].as_array().unwrap() {
            paths.push(format!("{hook}/deliveries/{}", delivery["id"].as_str().unwrap()));
        }
        for path in &paths {
            self.ask(Ask::new("GET", path).key(&key)).await;
        }
        let delivery = deliveries["items"][0]["id"].as_str().unwrap();
        self.done(Ask::new("POST", &format!("{hook}/deliveries/{delivery}/resend")).key(&key)).await;
        let job = self.jobs[0].clone();
        self.ask(Ask::new("POST", &format!("/api/v1/jobs/{job}/retry")).key(&key)).await;
        for path in ["/api/v1/audit?limit=100", "/api/v1/tenants", "/api/v1/workers", "/api/v1/tenants/default/keys"] {
            self.done(Ask::new("GET", path).key(&admin)).await;
        }
        self.done(Ask::new("GET", "/api/openapi.json")).await;
    }
}

/// A file of every process that we may read.
fn processes(file: &str) -> Vec<(String, String)> {
    let pids = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    pids.filter(|pid| pid.bytes().all(|byte| byte.is_ascii_digit()))
        .filter_map(|pid| {
            let bytes = fs::read(format!("/proc/{pid}/{file}")).ok()?;
            Some((pid, String::from_utf8_lossy(&bytes).replace('\0', " ")))
        })
        .collect()
}
