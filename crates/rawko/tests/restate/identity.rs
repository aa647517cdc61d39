//! The identity of the server and the address of a worker: signed requests, and an advertised address other than the
//! worker's own.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rawko_testkit::RestateOptions;

use crate::support::{PATIENCE, Site, directory, free_address, worker_with};

const LIGHT: &str = "
statechart: {id: light, version: 1.0.0, initial: on, states: {on: {on: {PRESSED: off}}, off: {type: final}}}
";

/// Forwards connections, as a load balancer in front of workers does, and counts them.
fn balancer(to: String) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    std::thread::spawn(move || {
        for from in listener.incoming().flatten() {
            // Connections are dropped until the worker is running.
            let Ok(into) = TcpStream::connect(&to) else { continue };
            counted.fetch_add(1, Ordering::Relaxed);
            for (mut from, mut into) in [(from.try_clone().unwrap(), into.try_clone().unwrap()), (into, from)]
            {
                std::thread::spawn(move || io::copy(&mut from, &mut into));
            }
        }
    });
    (address, count)
}

#[test]
fn a_worker_serves_only_the_server_that_signs() {
    let project = directory(&[(".rawko/charts/light.yaml", LIGHT)]);
    let pem = project.path().join("private.pem");
    let made = Command::new("openssl")
        .args(["genpkey", "-algorithm", "ed25519", "-outform", "pem", "-out"])
        .arg(&pem)
        .status();
    assert!(made.unwrap().success());
    let more = format!("request-identity-private-key-pem-file = \"{}\"\n", pem.display());
    let site = Site::new(project.path(), &RestateOptions { log: "info".into(), more, ..Default::default() });
    let said = site.server.said();
    let from = said.find("publickeyv1_").unwrap();
    let key: String =
        said[from..].chars().take_while(|it| it.is_ascii_alphanumeric() || *it == '_').collect();

    let address = free_address();
    let worker = worker_with(&site.place, &address, "worker", &["--identity-key", &key]);
    worker.says("registered", 0, PATIENCE).unwrap();
    assert_eq!(site.place.run("run light --id lamp").code, Some(55), "{}", worker.said());
    assert_eq!(site.place.run("send lamp PRESSED").code, Some(0), "{}", worker.said());

    // Unsigned requests from other clients are refused on every path.
    for path in ["discover", "invoke/RawkoInstance/look"] {
        let curl = Command::new("curl")
            .args(["-s", "--http2-prior-knowledge", "-o", "/dev/null", "-w", "%{http_code}"])
            .arg(format!("http://{address}/{path}"))
            .output()
            .unwrap();
        assert_eq!(String::from_utf8(curl.stdout).unwrap(), "401", "{path}");
    }

    // A worker with another key refuses this server and reports it.
    let other = "publickeyv1_w7YHemBctH5Ck2nQRQ47iBBqhNHy4FV7t2Usbye2A6f";
    let stranger = worker_with(&site.place, &free_address(), "stranger", &["--identity-key", other]);
    stranger.says("401 Unauthorized", 0, PATIENCE).unwrap();
    let ran = site.place.run("worker --listen 127.0.0.1:0 --identity-key nonsense");
    assert_eq!(ran.code, Some(2), "{ran:?}");
}

#[test]
fn workers_are_found_behind_the_address_that_they_advertise() {
    let project = directory(&[(".rawko/charts/light.yaml", LIGHT)]);
    let site = Site::new(project.path(), &RestateOptions::default());
    let own = free_address();
    let port = own.rsplit(':').next().unwrap();
    let (balancer, connections) = balancer(own.clone());

    let everywhere = format!("0.0.0.0:{port}");
    let ran = site.place.run(&format!("worker --listen {everywhere}"));
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("--advertise http://NAME:PORT"), "{ran:?}");

    let worker = worker_with(&site.place, &everywhere, "worker", &["--advertise", &balancer]);
    worker.says("registered", 0, PATIENCE).unwrap();
    worker.says(&format!("at {balancer}"), 0, PATIENCE).unwrap();
    assert_eq!(site.place.run("run light --id lamp").code, Some(55), "{}", worker.said());
    assert_eq!(site.place.run("send lamp PRESSED").code, Some(0), "{}", worker.said());
    assert!(connections.load(Ordering::Relaxed) > 0);
}
