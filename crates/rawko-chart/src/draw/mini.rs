//! Temporary, tests only: a chart's YAML straight into a `Picture`, until the reader lands.
use super::picture::*;
use rawko_core::{HistoryVariant, NodeId, NodeKind, TransitionId};
use serde_json::Value as V;

pub(crate) fn read(text: &str) -> Picture {
    let v: V = serde_saphyr::from_str(text).unwrap();
    let c = &v["statechart"];
    let mut p = Picture { id: s(&c["id"]), version: s(&c["version"]), description: c["description"].as_str().map(Into::into), nodes: vec![], edges: vec![] };
    let mut todo = vec![];
    add(&mut p, &mut todo, None, &s(&c["id"]), c, true);
    for (id, body) in &todo {
        links(&mut p, *id, body);
    }
    p
}
fn s(v: &V) -> String { match v { V::String(s) => s.clone(), V::Null => String::new(), o => o.to_string() } }
fn add(p: &mut Picture, todo: &mut Vec<(NodeId, V)>, parent: Option<NodeId>, key: &str, b: &V, root: bool) -> NodeId {
    let id = NodeId(p.nodes.len() as u32);
    let kind = match b["type"].as_str() {
        Some("final") => NodeKind::Final,
        Some("parallel") => NodeKind::Parallel,
        Some("history") => NodeKind::History(if b["variant"] == "deep" { HistoryVariant::Deep } else { HistoryVariant::Shallow }),
        _ if b.get("states").is_some() => NodeKind::Compound,
        _ => NodeKind::Atomic,
    };
    let path = match parent { None => String::new(), Some(q) if p.node(q).path.is_empty() => key.to_owned(), Some(q) => format!("{}.{key}", p.node(q).path) };
    let m = &b["meta"];
    let mut lines = vec![];
    let acts = |v: &V| -> Vec<String> { v.as_array().map(|a| a.iter().map(act).collect()).unwrap_or_default() };
    if b.get("entry").is_some() { lines.push(Line { kind: LineKind::Entry, text: format!("entry / {}", acts(&b["entry"]).join(", ")) }); }
    if b.get("exit").is_some() { lines.push(Line { kind: LineKind::Exit, text: format!("exit / {}", acts(&b["exit"]).join(", ")) }); }
    if b.get("invoke").is_some() { lines.push(Line { kind: LineKind::Invoke, text: format!("invoke {}", s(&b["invoke"]["src"])) }); }
    p.nodes.push(Node { id, key: key.into(), path, title: m["label"].as_str().unwrap_or(key).into(), kind, parent, children: vec![], initial: vec![], initial_actions: vec![], lines,
        description: b["description"].as_str().map(Into::into), tags: vec![], color: m["color"].as_str().and_then(color), position: m["position"]["x"].as_f64().zip(m["position"]["y"].as_f64()) });
    todo.push((id, b.clone()));
    let _ = root;
    if let Some(o) = b["states"].as_object() { for (k, v) in o { let c = add(p, todo, Some(id), k, v, false); p.nodes[id.index()].children.push(c); } }
    if let Some(a) = b["regions"].as_array() { for v in a { let c = add(p, todo, Some(id), &s(&v["id"]), v, false); p.nodes[id.index()].children.push(c); } }
    id
}
fn act(v: &V) -> String { v.as_str().map_or_else(|| s(&v["type"]) + &v.get("event").map_or(String::new(), |e| format!(" {}", s(e))), Into::into) }
fn find(p: &Picture, from: NodeId, t: &str) -> NodeId {
    let go = |start: NodeId, t: &str| -> Option<NodeId> {
        if let Some(c) = p.node(start).children.iter().find(|c| p.node(**c).key == t) { return Some(*c); }
        let mut at = start;
        for part in t.split('.') { at = *p.node(at).children.iter().find(|c| p.node(**c).key == part)?; }
        Some(at)
    };
    if let Some(t) = t.strip_prefix('#') { if let Some(n) = p.nodes.iter().find(|n| n.key == t) { return n.id; } }
    if let Some(t) = t.strip_prefix('.') { return go(from, t).unwrap(); }
    let mut scope = p.node(from).parent.or(Some(NodeId::ROOT));
    while let Some(q) = scope { if let Some(r) = go(q, t) { return r; } scope = p.node(q).parent; }
    panic!("no target {t}")
}
fn links(p: &mut Picture, id: NodeId, b: &V) {
    if let Some(i) = b["initial"].as_str() { let t = find(p, NodeId(p.node(id).children[0].0), i); p.nodes[id.index()].initial = vec![t]; }
    if b["type"] == "history" { if let Some(t) = b["target"].as_str() { let t = find(p, id, t); p.nodes[id.index()].initial = vec![t]; } return; }
    if let Some(o) = b["on"].as_object() { for (k, v) in o { one(p, id, k, v); } }
    if let Some(v) = b.get("always") { one(p, id, "always", v); }
    if let Some(o) = b["after"].as_object() { for (k, v) in o { one(p, id, &format!("after {}", if k == "60000" { "1m" } else { k }), v); } }
    for k in ["onDone", "onAllDone"] { if let Some(v) = b.get(k) { one(p, id, "onDone", v); } }
    let i = &b["invoke"];
    for k in ["onDone", "onError"] { if let Some(v) = i.get(k) { one(p, id, &format!("{k} {}", s(&i["id"])), v); } }
}
fn one(p: &mut Picture, id: NodeId, trigger: &str, v: &V) {
    match v {
        V::Array(a) => { for x in a { one(p, id, trigger, x); } }
        V::String(t) => push(p, id, trigger, &V::Object([("target".to_string(), V::String(t.clone()))].into_iter().collect())),
        o => push(p, id, trigger, o),
    }
}
fn push(p: &mut Picture, id: NodeId, trigger: &str, o: &V) {
    let n = p.edges.len() + p.nodes.iter().flat_map(|n| &n.lines).filter(|l| matches!(l.kind, LineKind::Inner(_))).count();
    let label = Label { trigger: trigger.into(), guard: o["guard"].as_str().map(Into::into), actions: o["actions"].as_array().map(|a| a.iter().map(act).collect()).unwrap_or_default(), own: o["meta"]["label"].as_str().map(Into::into) };
    let targets: Vec<NodeId> = match &o["target"] { V::String(t) => vec![find(p, id, t)], V::Array(a) => a.iter().map(|t| find(p, id, &s(t))).collect(), _ => vec![] };
    if targets.is_empty() { p.nodes[id.index()].lines.push(Line { kind: LineKind::Inner(TransitionId(n as u32)), text: label.shown() }); return; }
    p.edges.push(Edge { id: TransitionId(n as u32), source: id, targets, label, description: None, color: None });
}
#[test]
fn dump() {
    let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/draw");
    let out = std::path::Path::new("/tmp/draw");
    std::fs::create_dir_all(out).unwrap();
    let mut files: Vec<_> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).filter(|p| p.extension().is_some_and(|e| e == "yaml")).collect();
    files.sort();
    for f in files {
        let p = read(&std::fs::read_to_string(&f).unwrap());
        let stem = f.file_stem().unwrap().to_str().unwrap();
        std::fs::write(out.join(format!("{stem}.mmd")), super::mermaid::write(&p)).unwrap();
        std::fs::write(out.join(format!("{stem}.puml")), super::plantuml::write(&p)).unwrap();
        std::fs::write(out.join(format!("{stem}.dot")), super::dot::write(&p)).unwrap();
        for (n, t) in [("", super::Theme::Auto), ("-dark", super::Theme::Dark)] {
            let at = std::time::Instant::now();
            let o = super::SvgOptions { theme: t, ..Default::default() };
            std::fs::write(out.join(format!("{stem}{n}.svg")), super::svg::write(&p, &o)).unwrap();
            println!("{stem}{n} {:?}", at.elapsed());
        }
    }
}
