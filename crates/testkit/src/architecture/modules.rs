//! Which file of a crate uses which.
//!
//! A file uses the file that *defines* a name, whatever modules hand it on. So a `mod.rs` or `lib.rs` that only declares
//! and re-exports is in no circle, while a child that uses what its parent defines, and that its parent uses, is in one.
//! Fields and methods are not followed: a type may have its methods in several files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::architecture::circles::Arrow;
use crate::architecture::file::{Import, Section, sections};

/// The arrows between the files in `src` of a crate.
pub(super) fn arrows(root: &Path, folder: &str) -> Vec<Arrow> {
    let source = root.join(folder).join("src");
    let programs = fs::read_dir(source.join("bin"))
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()));
    let beginnings = [source.join("lib.rs"), source.join("main.rs")]
        .into_iter()
        .chain(programs);
    beginnings
        .filter(|file| file.is_file())
        .flat_map(|file| Tree::read(root, &file).arrows())
        .collect()
}

/// The modules of a library or a program.
#[derive(Default)]
struct Tree {
    modules: Vec<Module>,
}

struct Module {
    children: BTreeMap<String, usize>,
    parent: Option<usize>,
    /// From the root of the repository.
    file: String,
    section: Section,
}

/// What a path leads to.
#[derive(Clone, Copy)]
enum Place<'a> {
    Module(usize),
    Item { module: usize, name: &'a str },
}

/// Imports of imports and of whole modules are followed this far, so that those in a circle have an end.
const STEPS: usize = 16;

impl Tree {
    fn read(root: &Path, file: &Path) -> Self {
        let mut tree = Self::default();
        let folder = file.parent().expect("a folder").to_owned();
        tree.add(root, file, &folder, "crate", None);
        tree
    }

    /// Adds a file, and the files of its modules, which are in `folder`.
    fn add(&mut self, root: &Path, file: &Path, folder: &Path, name: &str, parent: Option<usize>) {
        let source =
            fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let shown = file
            .strip_prefix(root)
            .expect("a file of the repository")
            .display()
            .to_string();
        let first = self.modules.len();
        let sections = sections(&source);
        let files: Vec<(usize, PathBuf, String)> = sections
            .iter()
            .enumerate()
            .flat_map(|(index, section)| {
                section
                    .children
                    .iter()
                    .map(move |child| (index, section, child))
            })
            .map(|(index, section, child)| {
                (
                    first + index,
                    folder.join(section.path.join("/")),
                    child.clone(),
                )
            })
            .collect();
        for section in sections {
            let above = section.path.split_last().map(|(_, above)| above.to_vec());
            let around = above.and_then(|above| {
                self.modules[first..]
                    .iter()
                    .position(|one| one.section.path == above)
            });
            let parent = around.map(|around| first + around).or(parent);
            let name = section.path.last().map_or(name, String::as_str).to_owned();
            if let Some(parent) = parent {
                let module = self.modules.len();
                self.modules[parent].children.insert(name, module);
            }
            self.modules.push(Module {
                children: BTreeMap::new(),
                parent,
                file: shown.clone(),
                section,
            });
        }
        for (parent, folder, child) in files {
            let inside = folder.join(&child);
            let candidates = [folder.join(format!("{child}.rs")), inside.join("mod.rs")];
            if let Some(file) = candidates.iter().find(|file| file.is_file()) {
                self.add(root, file, &inside, &child, Some(parent));
            }
        }
    }

    fn arrows(&self) -> BTreeSet<Arrow> {
        let mut arrows = BTreeSet::new();
        for (from, module) in self.modules.iter().enumerate() {
            let section = &module.section;
            let imports = section
                .imports
                .iter()
                .filter(|import| is_used(import, section))
                .map(|import| &import.named);
            for named in imports.chain(&section.paths) {
                self.draw(
                    from,
                    self.resolve(from, &named.path, STEPS),
                    named.line,
                    &mut arrows,
                );
            }
            for glob in &section.globs {
                let Some(Place::Module(whole)) = self.resolve(from, &glob.path, STEPS) else {
                    continue;
                };
                for word in &section.words {
                    self.draw(from, self.named(whole, word, STEPS), glob.line, &mut arrows);
                }
            }
        }
        arrows
    }

    fn draw(
        &self,
        from: usize,
        place: Option<Place<'_>>,
        line: usize,
        arrows: &mut BTreeSet<Arrow>,
    ) {
        let Some(Place::Item { module, name }) = place else {
            return;
        };
        let (from, to) = (&self.modules[from].file, &self.modules[module].file);
        if from != to {
            arrows.insert(Arrow {
                from: from.clone(),
                to: to.clone(),
                line,
                name: name.to_owned(),
            });
        }
    }

    /// What a path in a module leads to, unless it is outside of the crate.
    fn resolve<'a>(&'a self, module: usize, path: &'a [String], steps: usize) -> Option<Place<'a>> {
        let (first, rest) = path.split_first()?;
        let start = match first.as_str() {
            "crate" => 0,
            "self" => module,
            "super" => self.modules[module].parent?,
            name => match self.named(module, name, steps)? {
                Place::Module(start) => start,
                item @ Place::Item { .. } => return Some(item),
            },
        };
        self.descend(start, rest, steps)
    }

    fn descend<'a>(
        &'a self,
        mut module: usize,
        path: &'a [String],
        steps: usize,
    ) -> Option<Place<'a>> {
        for name in path {
            let place = if name == "super" {
                Place::Module(self.modules[module].parent?)
            } else {
                self.named(module, name, steps)?
            };
            match place {
                Place::Module(inside) => module = inside,
                item @ Place::Item { .. } => return Some(item),
            }
        }
        Some(Place::Module(module))
    }

    /// What a name in a module is: what it declares, defines or imports.
    fn named<'a>(&'a self, module: usize, name: &'a str, steps: usize) -> Option<Place<'a>> {
        let steps = steps.checked_sub(1)?;
        let section = &self.modules[module].section;
        if let Some(child) = self.modules[module].children.get(name) {
            return Some(Place::Module(*child));
        }
        if section.defines.contains(name) {
            return Some(Place::Item { module, name });
        }
        if let Some(import) = section.imports.iter().find(|import| import.name == name) {
            return self.resolve(module, &import.named.path, steps);
        }
        section
            .globs
            .iter()
            .find_map(|glob| match self.resolve(module, &glob.path, steps)? {
                Place::Module(whole) if whole != module => self.named(whole, name, steps),
                _ => None,
            })
    }
}

/// Whether a module uses what it imports, rather than only handing it on.
fn is_used(import: &Import, section: &Section) -> bool {
    !import.is_public || section.words.contains(&import.name)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::architecture::circles::circles;

    /// The circles of a crate with these files, each by its name and its text.
    fn circles_of(files: &[(&str, &str)]) -> Vec<String> {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let file = root.path().join("one/src").join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        let circles = circles(&arrows(root.path(), "one"));
        circles.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn siblings_that_use_each_other_are_a_circle() {
        let circles = circles_of(&[
            ("lib.rs", "mod a; mod b; pub mod c;"),
            ("a.rs", "use crate::b::B;\npub struct A(B);"),
            (
                "b.rs",
                "pub struct B;\n\nfn a() -> super::a::A { crate::c::d::C }",
            ),
            ("c/mod.rs", "pub mod d;"),
            ("c/d.rs", "use crate::a; pub struct C(a::A);"),
        ]);
        let expected = "\
            3 files use each other in a circle:\n  \
            one/src/a.rs uses B (line 1) of one/src/b.rs\n  \
            one/src/b.rs uses A (line 3) of one/src/a.rs\n  \
            one/src/b.rs uses C (line 3) of one/src/c/d.rs\n  \
            one/src/c/d.rs uses A (line 1) of one/src/a.rs\n";
        assert_eq!(circles, [expected]);
    }

    #[test]
    fn a_face_is_in_no_circle() {
        let circles = circles_of(&[
            (
                "lib.rs",
                "mod a;\nmod b;\npub use a::{A, B as Other};\npub use b::*;",
            ),
            (
                "a.rs",
                "use crate::B;\npub struct A(B);\npub use crate::b::B;",
            ),
            (
                "b.rs",
                "/// [`super::A`]\npub struct B { other: &'static str }\n// crate::A\nconst C: &str = \"crate::A\";",
            ),
        ]);
        assert_eq!(circles, [""; 0]);
    }

    #[test]
    fn a_parent_and_a_child_that_use_each_other_are_a_circle() {
        let parent = "mod child;\npub struct Parent;\n";
        let child =
            "use super::Parent;\npub struct Child(Parent);\nimpl Parent { fn method(&self) {} }";
        let of =
            |more: &str| circles_of(&[("lib.rs", &format!("{parent}{more}")), ("child.rs", child)]);
        assert_eq!(of("pub use child::Child;"), [""; 0]);
        assert_eq!(
            of("pub use child::Child;\nstruct Other { Child: u8 }"),
            [""; 0]
        );
        assert_eq!(of("pub use child::Child;\nfn child() -> Child {}").len(), 1);
        assert_eq!(of("fn child() { child::Child::new(); }").len(), 1);
    }

    #[test]
    fn inline_modules_and_globs_are_followed_and_tests_are_not() {
        let circles = circles_of(&[
            (
                "lib.rs",
                "mod a { pub mod inner; pub use super::b::*; }\nmod b;\n#[cfg(test)]\nmod tests;",
            ),
            (
                "a/inner.rs",
                "pub fn f() -> super::B { super::super::b::C }",
            ),
            (
                "b.rs",
                "pub struct B; pub struct C;\n#[cfg(test)] mod tests { use crate::a::inner::f; }",
            ),
            ("tests.rs", "use crate::a::inner::f;"),
        ]);
        assert_eq!(circles, [""; 0]);
        let circles = circles_of(&[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "use crate::b::*;\npub struct A(B);"),
            ("b.rs", "pub struct B(crate::a::A);"),
        ]);
        assert_eq!(circles.len(), 1);
    }
}
