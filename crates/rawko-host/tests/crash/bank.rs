//! The payment service: a real HTTP server that counts calls by idempotency key, pays once per key, and misbehaves the
//! way services do: fails, pays and hangs up, pays and responds late.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use crate::dice::Dice;

#[derive(Clone, Default)]
pub(crate) struct Books {
    /// Calls by key, with any result.
    pub(crate) calls: BTreeMap<String, u32>,
    /// Payments by key: the order and the round they are for.
    pub(crate) paid: BTreeMap<String, (String, u64)>,
    /// Keys of calls that must not be repeated.
    pub(crate) once: BTreeSet<String>,
}

pub(crate) struct Bank {
    pub(crate) address: String,
    pub(crate) books: Arc<Mutex<Books>>,
}

/// The behaviour of the service for one call.
enum Mood {
    Fine,
    Refuse,
    PayAndHangUp,
    PaySlowly,
}

impl Bank {
    pub(crate) fn open(seed: u64) -> Bank {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let books = Arc::new(Mutex::new(Books::default()));
        let dice = Arc::new(Mutex::new(Dice::new(seed)));
        let shared = Arc::clone(&books);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (books, dice) = (Arc::clone(&shared), Arc::clone(&dice));
                // A caller killed in the middle of its request must not stop the server.
                std::thread::spawn(move || serve(stream, &books, &dice));
            }
        });
        Bank { address, books }
    }
}

fn serve(mut stream: TcpStream, books: &Mutex<Books>, dice: &Mutex<Dice>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let (mut length, mut key) = (0, String::new());
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let Some((name, value)) = line.trim().split_once(':') else {
            if line.trim().is_empty() {
                break;
            }
            continue;
        };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().ok()?,
            "idempotency-key" => key = value.trim().to_owned(),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body: Value = serde_json::from_slice(&body).ok()?;
    let (status, answer) = decide(books, dice, &key, &body)?;
    let answer = answer.to_string();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        answer.len()
    );
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(answer.as_bytes()).ok()
}

/// Returns the response; `None` closes the connection.
fn decide(
    books: &Mutex<Books>,
    dice: &Mutex<Dice>,
    key: &str,
    body: &Value,
) -> Option<(&'static str, Value)> {
    let mood = match dice.lock().unwrap().below(10) {
        0 => Mood::Refuse,
        1 => Mood::PayAndHangUp,
        2 | 3 => Mood::PaySlowly,
        _ => Mood::Fine,
    };
    let known = {
        let mut books = books.lock().unwrap();
        *books.calls.entry(key.to_owned()).or_default() += 1;
        if body["once"] == true {
            books.once.insert(key.to_owned());
        }
        let known = books.paid.contains_key(key);
        if !known && !matches!(mood, Mood::Refuse) {
            let order = body["order"].as_str().unwrap().to_owned();
            books.paid.insert(key.to_owned(), (order, body["round"].as_u64().unwrap()));
        }
        known
    };
    match mood {
        Mood::Refuse if !known => return Some(("503 Busy", json!({"message": "come back later"}))),
        Mood::PayAndHangUp if !known => return None,
        Mood::PaySlowly => std::thread::sleep(Duration::from_millis(40)),
        Mood::Refuse | Mood::PayAndHangUp | Mood::Fine => {}
    }
    Some(("200 OK", json!({"receipt": key})))
}
