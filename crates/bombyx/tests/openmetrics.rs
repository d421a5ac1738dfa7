//! The text is OpenMetrics, and the server speaks HTTP. A strict parser of the format's grammar is the judge.
#![cfg(feature = "openmetrics")]

use bombyx::{Metrics, Pool, openmetrics};
use std::collections::{HashMap, HashSet};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

/// The samples of a text: name, label and value. Or what is wrong with it.
fn parse(text: &str) -> Result<Vec<(String, String, f64)>, String> {
    let body = text.strip_suffix("# EOF\n").ok_or("it does not end with EOF")?;
    let (mut kinds, mut samples) = (HashMap::<String, String>::new(), Vec::new());
    let (mut family, mut seen, mut series) = (String::new(), HashSet::new(), HashSet::new());
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    for line in body.split_terminator('\n') {
        if let Some(meta) = line.strip_prefix("# ") {
            let mut words = meta.splitn(3, ' ');
            let [what, name, rest] =
                [words.next(), words.next(), words.next()].map(Option::unwrap_or_default);
            if name != family {
                if !seen.insert(name.to_owned()) {
                    return Err(format!("{name} comes in two parts"));
                }
                name.clone_into(&mut family);
            }
            match what {
                "TYPE" if is_name(name) && matches!(rest, "gauge" | "counter") => {
                    kinds.insert(name.to_owned(), rest.to_owned());
                }
                "UNIT" if name.ends_with(&format!("_{rest}")) => {}
                "HELP" if !rest.is_empty() => {}
                _ => return Err(format!("bad metadata: {line}")),
            }
            continue;
        }
        let (head, value) = line.rsplit_once("\"} ").ok_or_else(|| format!("no value: {line}"))?;
        let (name, label) = head.split_once("{pool=\"").ok_or_else(|| format!("no label: {line}"))?;
        let of = match kinds.get(&family).map(String::as_str) {
            Some("counter") => format!("{family}_total"),
            Some(_) => family.clone(),
            None => return Err(format!("no type before {line}")),
        };
        if name != of || !series.insert(head.to_owned()) {
            return Err(format!("wrong or twice: {line}"));
        }
        let mut plain = String::new();
        let mut characters = label.chars();
        while let Some(character) = characters.next() {
            plain.push(match character {
                '\\' => match characters.next() {
                    Some('n') => '\n',
                    Some(escaped @ ('\\' | '"')) => escaped,
                    other => return Err(format!("bad escape {other:?}: {line}")),
                },
                '"' => return Err(format!("bare quote: {line}")),
                other => other,
            });
        }
        let value: f64 = value.parse().map_err(|_| format!("no number: {line}"))?;
        if !value.is_finite() || value < 0.0 {
            return Err(format!("no count or size: {line}"));
        }
        samples.push((name.to_owned(), plain, value));
    }
    Ok(samples)
}

#[test]
fn the_parser_can_refuse() {
    let good = "# TYPE a gauge\na{pool=\"x\"} 1\n# TYPE b counter\nb_total{pool=\"x\"} 1\n# EOF\n";
    assert_eq!(parse(good).unwrap().len(), 2);
    let bad = [
        good.replace("# EOF\n", ""),
        good.replace("_total", ""),
        good.replace("# TYPE a gauge\n", ""),
        good.replace("# TYPE b counter", "# TYPE a counter"),
        good.replace("} 1", "} one"),
        good.replace("\"x\"", "\"x\"y\""),
        good.replace("\"x\"", "\"\\x\""),
        good.replace("a{pool=\"x\"} 1\n", "a{pool=\"x\"} 1\na{pool=\"x\"} 2\n"),
    ];
    for text in bad {
        assert!(parse(&text).is_err(), "{text}");
    }
}

#[test]
fn the_text_is_openmetrics() {
    let pool = Pool::builder().processors(2).build().unwrap();
    pool.run(|| bombyx::join(|| 1, || 2));
    let names = ["plain", "a \"quoted\\ name\"\nin two lines", "plain", "plain-2", "größe"];
    let pools: Vec<_> = names.iter().map(|name| ((*name).to_owned(), pool.metrics())).collect();
    let samples = parse(&openmetrics::text(&pools)).unwrap();
    let processors: Vec<_> = samples.iter().filter(|sample| sample.0 == "bombyx_processors").collect();
    assert!(processors.iter().all(|sample| sample.2 == 2.0));
    let labels: Vec<_> = processors.iter().map(|sample| sample.1.as_str()).collect();
    assert_eq!(labels, ["plain", names[1], "plain-2", "plain-2-2", "größe"]);
    assert_eq!(samples.len() % names.len(), 0);
    assert!(parse(&openmetrics::text(&[])).unwrap().is_empty());
    let none = parse(&openmetrics::text(&[("none".to_owned(), Metrics::default())])).unwrap();
    assert!(none.iter().all(|sample| sample.2 == 0.0));
}

fn ask(server: &openmetrics::Server, request: &str) -> String {
    let mut client = TcpStream::connect(server.address()).unwrap();
    client.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn the_server_answers() {
    let pool = Pool::builder().processors(3).build().unwrap();
    let handle = pool.handle();
    let figures = move || vec![("render".to_owned(), handle.metrics())];
    let server = openmetrics::serve("127.0.0.1:0", figures).unwrap();
    let answer = ask(&server, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    assert!(
        head.contains("Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8"),
        "{head}"
    );
    assert!(head.contains(&format!("Content-Length: {}", body.len())), "{head}");
    let samples = parse(body).unwrap();
    assert!(samples.contains(&("bombyx_processors".to_owned(), "render".to_owned(), 3.0)));
    let head = ask(&server, "HEAD /metrics HTTP/1.1\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 200") && head.ends_with("\r\n\r\n"), "{head}");
    assert!(ask(&server, "GET /elsewhere HTTP/1.0\r\n\r\n").starts_with("HTTP/1.1 404"));
    assert!(ask(&server, "POST /metrics HTTP/1.1\r\n\r\n").contains("Allow: GET, HEAD"));
    // A client that leaves in the middle, and one that sends too much.
    drop(TcpStream::connect(server.address()).unwrap());
    let mut long = TcpStream::connect(server.address()).unwrap();
    let _ = long.write_all(&[b'x'; 1 << 16]);
    drop(long);
    assert!(ask(&server, "GET / HTTP/1.1\r\n\r\n").contains("# EOF"));
    let address = server.address();
    drop(server);
    assert!(TcpStream::connect(address).is_err(), "nobody listens any more");
}
