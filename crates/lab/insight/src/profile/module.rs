//! The files that code is in: executables and libraries.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::profile::go::FunctionTable;
use framehop::ExplicitModuleSectionInfo;
use object::read::elf::{ElfFile64, ProgramHeader, SectionHeader};
use object::{Endianness, Object, ReadCache, elf};
use procfs_core::FromRead;
use procfs_core::process::{MMapPath, MemoryMaps};

/// The bytes of a section, shared by all processes that map the file.
pub(crate) type Bytes = Arc<[u8]>;

/// A file with code.
#[derive(Debug)]
pub(crate) struct Module {
    /// The path in its process, without what the kernel appends to it.
    pub(crate) path: PathBuf,
    /// Open, so that its names can be read after the file was replaced or its processes ended.
    pub(crate) file: Option<File>,
    pub(crate) elf: Option<Elf>,
}

/// What unwinding needs from an ELF file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Elf {
    segments: Vec<Segment>,
    sections: HashMap<&'static str, (Range<u64>, Option<Bytes>)>,
    has_symbols: bool,
    /// In hexadecimal digits.
    build_id: Option<String>,
    go_functions: Option<Bytes>,
}

/// A part of a file that is loaded into memory and may be executed.
#[derive(Clone, Copy, Debug)]
struct Segment {
    offset: u64,
    bytes: u64,
    address: u64,
}

/// All files in which code was seen.
#[derive(Debug, Default)]
pub(crate) struct Modules {
    list: Vec<Module>,
    numbers: HashMap<FileId, u32>,
}

/// The same file has the same id in every process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum FileId {
    Inode { device: u64, inode: u64 },
    Path(PathBuf),
}

/// Files are kept open; with more of them, code in further files has no names.
const MOST_MODULES: usize = 1024;
/// No section that unwinding needs is larger in a program that anyone runs.
const MOST_SECTION_BYTES: u64 = 256 << 20;

/// The sections that unwinding needs. The addresses of `.text` and `.got` are enough; of the others it needs the bytes.
const SECTIONS: [(&str, bool); 5] = [
    (".text", false),
    (".got", false),
    (".eh_frame", true),
    (".eh_frame_hdr", true),
    (".debug_frame", true),
];

impl Modules {
    /// The number of the file that a process has mapped; `None` if there are too many.
    pub(crate) fn number(&mut self, pid: i32, mapped: &Range<u64>, path: &Path) -> Option<u32> {
        let path = without_mark(path);
        let file = open(pid, mapped, &path);
        let id = match file.as_ref().map(File::metadata) {
            Ok(Ok(metadata)) => FileId::Inode {
                device: metadata.dev(),
                inode: metadata.ino(),
            },
            _ => FileId::Path(path.clone()),
        };
        self.add(id, path, file.ok())
    }

    /// The number of the library that the kernel maps into every process.
    pub(crate) fn vdso(&mut self) -> Option<u32> {
        let path = PathBuf::from("[vdso]");
        let id = FileId::Path(path.clone());
        let file = || copy_of_vdso().ok();
        match self.numbers.get(&id) {
            Some(&number) => Some(number),
            None => self.add(id, path, file()),
        }
    }

    fn add(&mut self, id: FileId, path: PathBuf, file: Option<File>) -> Option<u32> {
        if let Some(&number) = self.numbers.get(&id) {
            return Some(number);
        }
        if self.list.len() >= MOST_MODULES {
            return None;
        }
        let elf = file.as_ref().and_then(|file| Elf::read(file).ok());
        let number = self.list.len() as u32;
        self.list.push(Module { path, file, elf });
        self.numbers.insert(id, number);
        Some(number)
    }

    pub(crate) fn get(&self, number: u32) -> Option<&Module> {
        self.list.get(number as usize)
    }
}

impl Module {
    /// The name of the file without its folder.
    pub(crate) fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or(self.path.as_os_str());
        name.to_string_lossy().into_owned()
    }

    /// A path at which this process can open the file now: its own if that is still the same file, so that separate debug
    /// information beside it is found, and otherwise the open file.
    pub(crate) fn readable_path(&self) -> Option<PathBuf> {
        let file = self.file.as_ref()?;
        let same = match (fs::metadata(&self.path), file.metadata()) {
            (Ok(named), Ok(open)) => (named.dev(), named.ino()) == (open.dev(), open.ino()),
            _ => false,
        };
        Some(if same {
            self.path.clone()
        } else {
            PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
        })
    }
}

impl Elf {
    fn read(file: &File) -> io::Result<Elf> {
        let cache = ReadCache::new(file);
        let elf: ElfFile64<'_, Endianness, _> = ElfFile64::parse(&cache).map_err(invalid)?;
        let endian = elf.endian();
        let segments = elf.elf_program_headers().iter();
        let segments = segments
            .filter(|header| {
                let executable = header.p_flags(endian) & elf::PF_X != 0;
                header.p_type(endian) == elf::PT_LOAD && executable
            })
            .map(|header| Segment {
                offset: header.p_offset(endian),
                bytes: header.p_filesz(endian),
                address: header.p_vaddr(endian),
            })
            .collect();
        let mut sections = HashMap::new();
        let mut has_symbols = false;
        let mut go_functions = None;
        let table = elf.elf_section_table();
        for (_, header) in table.enumerate() {
            has_symbols |= header.sh_type(endian) == elf::SHT_SYMTAB;
            let Ok(name) = table.section_name(endian, header) else {
                continue;
            };
            if name == b".gopclntab" || name == b".data.rel.ro.gopclntab" {
                let length = header.sh_size(endian);
                go_functions = (length <= MOST_SECTION_BYTES)
                    .then(|| read_at(file, header.sh_offset(endian), length).ok())
                    .flatten();
            }
            let wanted = SECTIONS.iter().find(|(known, _)| known.as_bytes() == name);
            if let Some(&(name, with_bytes)) = wanted {
                let start = header.sh_addr(endian);
                let length = header.sh_size(endian);
                let range = start..start.saturating_add(length);
                let plain = header.sh_type(endian) != elf::SHT_NOBITS
                    && header.sh_flags(endian) & u64::from(elf::SHF_COMPRESSED) == 0;
                let bytes = (with_bytes && plain && length <= MOST_SECTION_BYTES)
                    .then(|| read_at(file, header.sh_offset(endian), length).ok())
                    .flatten();
                sections.insert(name, (range, bytes));
            }
        }
        Ok(Elf {
            segments,
            sections,
            has_symbols,
            build_id: elf.build_id().ok().flatten().map(hexadecimal),
            go_functions,
        })
    }

    /// Go's table of functions, if it is a Go program.
    pub(crate) fn go_functions(&self) -> Option<FunctionTable<'_>> {
        let (text, _) = self.sections.get(".text")?;
        FunctionTable::read(self.go_functions.as_ref()?, text.start)
    }

    /// Where a distribution installs what it stripped from this file: its symbols and debug information.
    pub(crate) fn separate_file(&self) -> Option<PathBuf> {
        let (folder, name) = self.build_id.as_ref()?.split_at_checked(2)?;
        let path = format!("/usr/lib/debug/.build-id/{folder}/{name}.debug");
        let path = PathBuf::from(path);
        path.is_file().then_some(path)
    }

    /// The address, as the file states it, of the code at this offset of the file.
    pub(crate) fn address_of(&self, offset: u64) -> Option<u64> {
        self.stated_address(offset..offset.checked_add(1)?)
    }

    /// It has a symbol table, not only the symbols that others link to.
    pub(crate) fn has_symbols(&self) -> bool {
        self.has_symbols
    }

    /// The address, as the file states it, of the start of an executable mapping of this part of the file.
    pub(crate) fn stated_address(&self, part: Range<u64>) -> Option<u64> {
        // A mapping starts at a page, so it may start a little before its segment, where another segment still is.
        let overlaps = |segment: &&Segment| {
            segment.offset < part.end && part.start < segment.offset.saturating_add(segment.bytes)
        };
        let segment = self.segments.iter().find(overlaps)?;
        segment
            .address
            .checked_add(part.start)?
            .checked_sub(segment.offset)
    }

    pub(crate) fn sections(&self) -> ExplicitModuleSectionInfo<Bytes> {
        let range = |name| self.sections.get(name).map(|(range, _)| range.clone());
        let bytes = |name| self.sections.get(name).and_then(|(_, bytes)| bytes.clone());
        ExplicitModuleSectionInfo {
            base_svma: 0,
            text_svma: range(".text"),
            got_svma: range(".got"),
            eh_frame_svma: range(".eh_frame"),
            eh_frame: bytes(".eh_frame"),
            eh_frame_hdr_svma: range(".eh_frame_hdr"),
            eh_frame_hdr: bytes(".eh_frame_hdr"),
            debug_frame: bytes(".debug_frame"),
            ..ExplicitModuleSectionInfo::default()
        }
    }
}

/// Opens what is mapped, even if the file has been deleted or is in another mount namespace.
fn open(pid: i32, mapped: &Range<u64>, path: &Path) -> io::Result<File> {
    let mapping = format!("/proc/{pid}/map_files/{:x}-{:x}", mapped.start, mapped.end);
    // Opening a device could do something.
    let open = |path: &Path| {
        if fs::metadata(path)?.is_file() {
            File::open(path)
        } else {
            Err(io::Error::other("not a regular file"))
        }
    };
    let in_its_root = || {
        let relative = path.strip_prefix("/").unwrap_or(path);
        open(&Path::new(&format!("/proc/{pid}/root")).join(relative))
    };
    open(Path::new(&mapping))
        .or_else(|_| in_its_root())
        .or_else(|_| open(path))
}

/// The kernel's library as a file: this process has the same one as every other.
fn copy_of_vdso() -> io::Result<File> {
    let maps = MemoryMaps::from_file("/proc/self/maps");
    let maps = maps.map_err(io::Error::other)?;
    let vdso = maps.into_iter().find(|map| map.pathname == MMapPath::Vdso);
    let (start, end) = vdso.ok_or(io::ErrorKind::NotFound)?.address;
    let bytes = read_at(&File::open("/proc/self/mem")?, start, end - start)?;
    let copy = rustix::fs::memfd_create("vdso", rustix::fs::MemfdFlags::CLOEXEC)?;
    let copy = File::from(copy);
    copy.write_all_at(&bytes, 0)?;
    Ok(copy)
}

fn read_at(file: &File, offset: u64, length: u64) -> io::Result<Bytes> {
    let length = usize::try_from(length).map_err(io::Error::other)?;
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, offset)?;
    Ok(bytes.into())
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn without_mark(path: &Path) -> PathBuf {
    let text = path
        .to_str()
        .and_then(|path| path.strip_suffix(" (deleted)"));
    text.map_or_else(|| path.to_owned(), PathBuf::from)
}

fn invalid(error: object::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}
