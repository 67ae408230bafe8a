//! A name server on loopback that answers what its script says, and differently every time if it likes.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};

use foreman_runtime::{Task, Tasks};
use tokio::net::UdpSocket;

#[derive(Clone, Debug)]
pub enum Record {
    Address(IpAddr),
    /// What follows in the same answer belongs to this name.
    Alias(&'static str),
}

pub fn address(text: &str) -> Record {
    Record::Address(text.parse().expect(text))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    V4,
    V6,
}

/// A name and which of its addresses were asked for.
pub type Asked = (String, Kind);

pub struct NameServer {
    pub address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    answering: Task<()>,
}

impl Drop for NameServer {
    fn drop(&mut self) {
        self.answering.abort();
    }
}

impl NameServer {
    /// `script` is given the name and how often it was asked for addresses of that kind before; of what it returns the
    /// aliases and the addresses of that kind are sent, to be kept for `ttl` seconds.
    pub async fn start(ttl: u32, script: impl Fn(&str, usize) -> Vec<Record> + Send + 'static) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let address = socket.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&asked);
        let answering = Tasks::new().spawn("test name server", async move {
            let mut buffer = [0; 1_500];
            loop {
                let (length, from) = socket.recv_from(&mut buffer).await.unwrap();
                let Some((question, end)) = read(&buffer[..length]) else { continue };
                let before = {
                    let mut noted = noted.lock().unwrap();
                    noted.push(question.clone());
                    noted.iter().filter(|asked| **asked == question).count() - 1
                };
                let answer = answer(&buffer[..end], question.1, ttl, &script(&question.0, before));
                socket.send_to(&answer, from).await.unwrap();
            }
        });
        Self { address, asked, answering }
    }

    pub fn asked(&self, name: &str, kind: Kind) -> usize {
        self.asked.lock().unwrap().iter().filter(|asked| asked.0 == name && asked.1 == kind).count()
    }
}

/// The question of a message, and where it ends.
fn read(message: &[u8]) -> Option<(Asked, usize)> {
    let (mut labels, mut at) = (Vec::new(), 12);
    loop {
        let length = usize::from(*message.get(at)?);
        at += 1;
        if length == 0 {
            break;
        }
        labels.push(String::from_utf8(message.get(at..at + length)?.to_vec()).ok()?);
        at += length;
    }
    let kind = match message.get(at..at + 2)? {
        [0, 1] => Kind::V4,
        [0, 28] => Kind::V6,
        _ => return None,
    };
    Some(((labels.join(".").to_ascii_lowercase(), kind), at + 4))
}

fn answer(question: &[u8], kind: Kind, ttl: u32, records: &[Record]) -> Vec<u8> {
    let fits = |record: &&Record| match record {
        Record::Address(address) => address.is_ipv4() == (kind == Kind::V4),
        Record::Alias(_) => true,
    };
    let records: Vec<&Record> = records.iter().filter(fits).collect();
    let mut message = question.to_vec();
    // An answer, recursion wanted and done, no error; one question, so many answers, nothing else.
    message[2..12].copy_from_slice(&[0x81, 0x80, 0, 1, 0, u8::try_from(records.len()).unwrap(), 0, 0, 0, 0]);
    // The name of the question stands at byte 12.
    let mut owner = vec![0xc0, 12];
    for record in records {
        let (code, data): (u8, Vec<u8>) = match record {
            Record::Address(IpAddr::V4(address)) => (1, address.octets().to_vec()),
            Record::Address(IpAddr::V6(address)) => (28, address.octets().to_vec()),
            Record::Alias(name) => (5, written(name)),
        };
        message.extend(&owner);
        message.extend([0, code, 0, 1]);
        message.extend(ttl.to_be_bytes());
        message.extend(u16::try_from(data.len()).unwrap().to_be_bytes());
        message.extend(&data);
        if let Record::Alias(_) = record {
            owner = data;
        }
    }
    message
}

fn written(name: &str) -> Vec<u8> {
    let label = |label: &str| [&[u8::try_from(label.len()).unwrap()], label.as_bytes()].concat();
    name.split('.').flat_map(label).chain([0]).collect()
}
