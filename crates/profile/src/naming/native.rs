//! Names of compiled functions, from the symbols and the debug information of their files.

use blazesym::symbolize::source::{Elf, Source};
use blazesym::symbolize::{Input, Sym, Symbolized, Symbolizer};
use prony_model::{Frame, FrameKind};

use super::Named;
use crate::module::Module;

/// A name for the code at each offset of a file.
pub(super) fn names(file: &Module, offsets: &[u64]) -> Vec<Named> {
    let module = file.name();
    let unknown = |why: String| Named::unknown(&module, FrameKind::Native, why);
    let Some(path) = file.readable_path() else {
        let path = file.path.display();
        let why = format!("{path} could not be opened, or was replaced before Prony could open it");
        return vec![unknown(why); offsets.len()];
    };
    let symbolizer = Symbolizer::new();
    let source = Source::Elf(Elf::new(path));
    let symbols = match symbolizer.symbolize(&source, Input::FileOffset(offsets)) {
        Ok(symbols) => symbols,
        Err(error) => return vec![unknown(format!("{error:#}")); offsets.len()],
    };
    let stripped = file.elf.as_ref().is_some_and(|elf| !elf.has_symbols());
    let named = symbols.into_iter().map(|symbol| match symbol {
        Symbolized::Sym(symbol) => Named {
            frames: frames(&symbol, &module),
            why_unnamed: None,
        },
        Symbolized::Unknown(_) if stripped => unknown(why_stripped(file)),
        // Assembly, or a file that was stripped in part.
        Symbolized::Unknown(_) => unknown("no symbol of the file covers this code".into()),
    });
    named.collect()
}

/// The function, and what was inlined into it, the outermost first.
fn frames(symbol: &Sym<'_>, module: &str) -> Vec<Frame> {
    let inlined = symbol.inlined.iter().map(|function| &function.name);
    std::iter::once(&symbol.name)
        .chain(inlined)
        .map(|name| Frame {
            name: name.to_string(),
            module: module.to_owned(),
            kind: FrameKind::Native,
        })
        .collect()
}

fn why_stripped(file: &Module) -> String {
    let installed = ["/usr/lib", "/lib", "/usr/bin", "/usr/sbin"];
    let remedy = match installed.iter().any(|folder| file.path.starts_with(folder)) {
        true => "install the package with its debug symbols",
        false => "build it without `-s` and `strip`",
    };
    format!("the file is stripped: {remedy}")
}
