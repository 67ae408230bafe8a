//! What cargo says about the tree.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
    process::Command,
};

use serde::Deserialize;

pub fn root() -> PathBuf {
    fs::canonicalize("../..").expect("tests run in crates/foreman, two below the root")
}

#[derive(Deserialize)]
pub struct Metadata {
    pub packages: Vec<Package>,
    pub workspace_members: BTreeSet<String>,
    resolve: Resolve,
}

#[derive(Deserialize)]
pub struct Package {
    pub id: String,
    pub name: String,
    pub version: String,
    pub license: Option<String>,
    pub source: Option<String>,
    pub dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
pub struct Dependency {
    pub name: String,
    /// `dev`, `build`, or none for what is linked.
    pub kind: Option<String>,
}

/// Crates that only tests depend on.
pub const FOR_TESTS: [&str; 1] = ["foreman-conformance"];

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Edge>,
}

#[derive(Deserialize)]
struct Edge {
    pkg: String,
    dep_kinds: Vec<EdgeKind>,
}

#[derive(Deserialize)]
struct EdgeKind {
    kind: Option<String>,
}

impl Metadata {
    /// Offline and for this target only: a second run needs no network, and crates for other systems are not on the disk.
    pub fn read() -> Self {
        let version = Command::new("rustc").arg("-vV").output().expect("rustc runs");
        let version = String::from_utf8(version.stdout).expect("rustc speaks UTF-8");
        let host = version.lines().find_map(|line| line.strip_prefix("host: ")).expect("rustc names its host");
        let output = Command::new(env!("CARGO"))
            .current_dir(root())
            .args(["metadata", "--format-version", "1", "--locked", "--offline", "--filter-platform", host])
            .output()
            .expect("cargo runs");
        assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("cargo's own format")
    }

    pub fn ours(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| self.workspace_members.contains(&package.id))
    }

    pub fn package(&self, id: &str) -> &Package {
        self.packages.iter().find(|package| package.id == id).expect("the graph names packages that are listed")
    }

    /// Everything that is compiled into what we ship, each with the package that brought it. Tests' own dependencies are
    /// left out.
    pub fn shipped(&self) -> BTreeMap<&str, &str> {
        let edges: BTreeMap<&str, &Node> = self.resolve.nodes.iter().map(|node| (node.id.as_str(), node)).collect();
        let mut brought_by = BTreeMap::new();
        let ours = self.ours().filter(|package| !FOR_TESTS.contains(&package.name.as_str()));
        let mut open: Vec<&str> = ours.map(|package| package.id.as_str()).collect();
        while let Some(id) = open.pop() {
            for edge in &edges[id].deps {
                let is_shipped = edge.dep_kinds.iter().any(|edge| edge.kind.as_deref() != Some("dev"));
                if is_shipped && !brought_by.contains_key(edge.pkg.as_str()) {
                    brought_by.insert(edge.pkg.as_str(), id);
                    open.push(&edge.pkg);
                }
            }
        }
        brought_by
    }
}
