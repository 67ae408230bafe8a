use std::sync::{Arc, Mutex};

use foreman_client::{Client, Error, Follow, ResponseFuture, Transport};
use http::{Request, Response};

/// Answers as it is told, and keeps what it was asked.
struct Canned {
    status: u16,
    body: &'static str,
    asked: Mutex<Vec<Request<Vec<u8>>>>,
}

impl Canned {
    fn new(status: u16, body: &'static str) -> Arc<Self> {
        Arc::new(Self { status, body, asked: Mutex::default() })
    }
}

impl Transport for Canned {
    fn send(&self, request: Request<Vec<u8>>) -> ResponseFuture {
        self.asked.lock().unwrap().push(request);
        let response = Response::builder().status(self.status).body(self.body.as_bytes().to_vec());
        Box::pin(async move { response.map_err(|error| error.to_string()) })
    }
}

#[tokio::test]
async fn a_call_is_carried_as_it_would_go_over_the_network() {
    let canned = Canned::new(204, "");
    let client = Client::through(canned.clone()).unwrap().for_tenant("acme").unwrap();
    client.delete_tenant("a/b", Some(3)).await.unwrap();
    let asked = canned.asked.lock().unwrap();
    assert_eq!((asked[0].method().as_str(), asked[0].uri().path()), ("DELETE", "/api/v1/tenants/a%2Fb"));
    assert_eq!(asked[0].headers()["if-match"], "\"3\"");
    assert_eq!(asked[0].headers()["foreman-tenant"], "acme");
}

#[tokio::test]
async fn a_carried_refusal_is_a_refusal() {
    let problem = r#"{"type": "/errors/conflict", "title": "No", "status": 409, "detail": "not now"}"#;
    let canned = Canned::new(409, problem);
    let client = Client::through(canned.clone()).unwrap();
    let error = client.update_tenant("acme", &serde_json::json!({"weight": 2}), None).await.unwrap_err();
    assert_eq!((error.status(), error.to_string().as_str()), (Some(409), "not now"));
    let asked = canned.asked.lock().unwrap();
    assert_eq!(asked[0].body(), br#"{"weight":2}"#);
    assert_eq!(asked[0].headers()["content-type"], "application/json");
}

#[tokio::test]
async fn without_a_connection_there_is_no_stream() {
    let client = Client::through(Canned::new(200, "")).unwrap();
    let refused = client.stream(Follow::everything()).await.map(drop);
    assert!(matches!(refused, Err(Error::Setup(why)) if why.contains("connection")));
}
