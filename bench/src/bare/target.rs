//! A target that costs as little as a target can: it finds the end of a request and answers 200. To requests for `/slow` it does
//! so after a while.

use std::time::Duration;

use anyhow::{Result, bail};
use foreman_runtime::Tasks;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
const SLOW: &[u8] = b"POST /slow ";
/// How long a slow request takes.
const WHILE: Duration = Duration::from_millis(100);
/// No request of this benchmark is longer.
const LONGEST: usize = 64 * 1024;

pub async fn serve() -> Result<()> {
    let (listener, tasks) = (TcpListener::bind("127.0.0.1:0").await?, Tasks::new());
    println!("{}", listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        // Its end is the client's to see.
        drop(tasks.spawn("connection", answer(stream)));
    }
}

async fn answer(mut stream: TcpStream) -> Result<()> {
    let mut received = Vec::with_capacity(4 * 1024);
    loop {
        while let Some(length) = request_length(&received)? {
            if received.starts_with(SLOW) {
                tokio::time::sleep(WHILE).await;
            }
            received.drain(..length);
            stream.write_all(ANSWER).await?;
        }
        if received.len() > LONGEST {
            bail!("a request without an end");
        }
        if stream.read_buf(&mut received).await? == 0 {
            return Ok(());
        }
    }
}

/// Of the first request, if all of it is here.
fn request_length(received: &[u8]) -> Result<Option<usize>> {
    let Some(end) = received.windows(4).position(|window| window == b"\r\n\r\n") else { return Ok(None) };
    let head = std::str::from_utf8(&received[..end])?;
    let mut body = 0;
    for line in head.split("\r\n") {
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            body = value.trim().parse::<usize>()?;
        }
    }
    let length = end + 4 + body;
    Ok((received.len() >= length).then_some(length))
}

#[cfg(test)]
mod tests {
    use super::request_length;

    #[test]
    fn a_request_ends_where_its_body_does() {
        let request = b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc";
        assert_eq!(request_length(request).expect("a request"), Some(request.len()));
        assert_eq!(request_length(&request[..request.len() - 1]).expect("half a request"), None);
        assert_eq!(request_length(b"GET / HTTP/1.1\r\n\r\nGET").expect("and another"), Some(18));
    }
}
