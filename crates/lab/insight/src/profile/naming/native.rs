//! Names of compiled functions, from the symbols and the debug information of their files.

use std::path::Path;

use blazesym::symbolize::source::{Elf, Source};
use blazesym::symbolize::{Input, Sym, Symbolized, Symbolizer};
use prony_model::{Frame, FrameKind};

use super::Named;
use crate::profile::module::Module;

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
    let separate = separate_symbols(&symbolizer, file, offsets);
    let symbols = separate.map_or_else(
        || symbols(&symbolizer, &path, Input::FileOffset(offsets)),
        Ok,
    );
    let symbols = match symbols {
        Ok(symbols) => symbols,
        Err(error) => return vec![unknown(format!("{error:#}")); offsets.len()],
    };
    let stripped = file.elf.as_ref().is_some_and(|elf| !elf.has_symbols());
    let go = if stripped {
        go_names(file, offsets)
    } else {
        vec![None; offsets.len()]
    };
    let named = symbols.into_iter().zip(go).map(|found| match found {
        (Symbolized::Sym(symbol), None) => Named {
            frames: frames(&symbol, &module),
            why_unnamed: None,
        },
        (_, Some(name)) => Named::function(name, &module, FrameKind::Native),
        (Symbolized::Unknown(_), None) if stripped => unknown(why_stripped(file)),
        // Assembly, or a file that was stripped in part.
        (Symbolized::Unknown(_), None) => unknown("no symbol of the file covers this code".into()),
    });
    named.collect()
}

/// The names in a stripped Go program.
fn go_names(file: &Module, offsets: &[u64]) -> Vec<Option<String>> {
    let none = || vec![None; offsets.len()];
    let Some(elf) = &file.elf else {
        return none();
    };
    let Some(table) = elf.go_functions() else {
        return none();
    };
    let addresses = offsets.iter().map(|&offset| elf.address_of(offset));
    addresses.map(|address| table.name(address?)).collect()
}

/// What is known of a stripped file if its symbols are installed separately. That file has the same addresses, but not
/// the same offsets.
fn separate_symbols<'a>(
    symbolizer: &'a Symbolizer,
    file: &Module,
    offsets: &[u64],
) -> Option<Vec<Symbolized<'a>>> {
    let elf = file.elf.as_ref().filter(|elf| !elf.has_symbols())?;
    let path = elf.separate_file()?;
    let addresses = offsets.iter().map(|&offset| elf.address_of(offset));
    let addresses: Vec<u64> = addresses.collect::<Option<_>>()?;
    symbols(symbolizer, &path, Input::VirtOffset(&addresses)).ok()
}

/// Debug information that cannot be read, because it is broken or compressed, leaves the symbols.
fn symbols<'a>(
    symbolizer: &'a Symbolizer,
    path: &Path,
    code: Input<&[u64]>,
) -> blazesym::Result<Vec<Symbolized<'a>>> {
    let read = |debug_syms| {
        let elf = Elf {
            debug_syms,
            ..Elf::new(path)
        };
        symbolizer.symbolize(&Source::Elf(elf), code)
    };
    read(true).or_else(|_| read(false))
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
    let remedy = if installed.iter().any(|folder| file.path.starts_with(folder)) {
        "install the package with its debug symbols"
    } else {
        "build it without `-s` and `strip`"
    };
    format!("the file is stripped: {remedy}")
}
