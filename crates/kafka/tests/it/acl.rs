//! Grants a user of the shared broker a right.
//!
//! The Rust client has no call for it, and Kafka's own command is a JVM for each. So it is the request itself: CreateAcls, version 1.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::broker::shared;

#[derive(Clone, Copy)]
pub enum Resource {
    Topics = 2,
    Groups = 3,
}

#[derive(Clone, Copy)]
pub enum Operation {
    Read = 3,
    Write = 4,
    Describe = 8,
}

const CREATE_ACLS: i16 = 30;
const PREFIXED: u8 = 4;
const ALLOW: u8 = 3;

/// On everything whose name begins with the prefix.
pub async fn grant(user: &str, operation: Operation, resource: Resource, prefix: &str) {
    let mut request = Vec::new();
    request.extend(CREATE_ACLS.to_be_bytes());
    request.extend(1i16.to_be_bytes());
    request.extend(7i32.to_be_bytes());
    text(&mut request, "tests");
    request.extend(1i32.to_be_bytes());
    request.push(resource as u8);
    text(&mut request, prefix);
    request.push(PREFIXED);
    text(&mut request, &format!("User:{user}"));
    text(&mut request, "*");
    request.extend([operation as u8, ALLOW]);
    let mut broker = TcpStream::connect(shared()).await.expect("the broker listens");
    broker.write_i32(request.len() as i32).await.expect("it is sent");
    broker.write_all(&request).await.expect("it is sent");
    let length = broker.read_i32().await.expect("the broker answers");
    let mut answer = vec![0; length as usize];
    broker.read_exact(&mut answer).await.expect("the broker answers");
    // The request's number, the time to wait, and one result that begins with its error.
    assert_eq!(
        &answer[..14],
        [7i32.to_be_bytes(), [0; 4], 1i32.to_be_bytes()].concat().into_iter().chain([0; 2]).collect::<Vec<_>>()
    );
}

fn text(request: &mut Vec<u8>, text: &str) {
    request.extend((text.len() as i16).to_be_bytes());
    request.extend(text.as_bytes());
}
