//! What Maven or Gradle builds.

use super::program_folder::{Candidate, ProgramFolder, SourceFile, id_of, id_of_folder};

/// The newest executable archive of a folder: builds leave archives with the sources, without the dependencies and of
/// earlier versions beside it.
fn run_archive(folder: &str) -> String {
    format!(
        "sh -c 'exec java -jar \"$(ls -t {folder}/*.jar | grep -Ev \"(-plain|-sources|-javadoc|-tests)[.]jar$|/original-\" | head -n 1)\"'"
    )
}

/// The program that the plugin `application` of Gradle installs.
fn run_installed(folder: &str) -> String {
    format!(
        "sh -c 'exec \"$(ls -t {folder}/build/install/*/bin/* | grep -v \"[.]bat$\" | head -n 1)\"'"
    )
}

/// The programs that Maven or Gradle builds: that of the folder, or those of its modules.
pub(super) fn candidates(place: &ProgramFolder<'_>) -> Vec<Candidate> {
    let mut candidates = maven(place);
    if candidates.is_empty() {
        candidates = gradle(place);
    }
    candidates
}

fn maven(place: &ProgramFolder<'_>) -> Vec<Candidate> {
    let Some(pom) = place.text("pom.xml") else {
        return Vec::new();
    };
    let installed = ("mvn".to_owned(), "\"maven\"");
    let (maven, need) = wrapper(place, "mvnw").unwrap_or(installed);
    let build = format!("{maven} --quiet package -DskipTests");
    let candidate = |id: String, build: String, archives: &str, text: &str| Candidate {
        id,
        needs: vec![need],
        build: vec![build],
        run: run_archive(archives),
        env: environment(text),
        ..place.candidate("pom.xml", "Java")
    };
    let modules = elements(&pom, "module");
    if modules.is_empty() {
        let id = id_of_folder(place.folder);
        return vec![candidate(id, build, "target", &pom)];
    }
    let modules = modules.into_iter().filter_map(|module| {
        let text = place.text(&format!("{module}/pom.xml"))?;
        let is_program = is_spring(&text) || text.contains("<mainClass>");
        let build = format!("{build} -pl {module} -am");
        let archives = format!("{module}/target");
        is_program.then(|| candidate(id_of(module), build, &archives, &(text + &pom)))
    });
    modules.collect()
}

fn gradle(place: &ProgramFolder<'_>) -> Vec<Candidate> {
    let settings = gradle_file(place, "settings").map(|file| file.text);
    let modules = settings.as_deref().map(included).unwrap_or_default();
    let own = std::iter::once(String::new());
    let found = own.chain(modules);
    found
        .filter_map(|module| gradle_program(place, &module))
        .collect()
}

/// The program that the build file of a module describes; of the build itself if the module has no name.
fn gradle_program(place: &ProgramFolder<'_>, module: &str) -> Option<Candidate> {
    let folder = match module {
        "" => ".".to_owned(),
        module => module.replace(':', "/"),
    };
    let SourceFile { path, text } = gradle_file(place, &format!("{folder}/build"))?;
    let archives = format!("{folder}/build/libs");
    let archives = archives.trim_start_matches("./");
    let (task, run) = if is_spring(&text) {
        ("bootJar", run_archive(archives))
    } else if is_application(&text) {
        ("installDist", run_installed(&folder))
    } else if module.is_empty() && text.contains("java") {
        ("assemble", run_archive(archives))
    } else {
        return None;
    };
    let need = "{ program = \"gradle\", install = \"see https://gradle.org/install\" }";
    let installed = ("gradle".to_owned(), need);
    let (gradle, need) = wrapper(place, "gradlew").unwrap_or(installed);
    let task = match module {
        "" => task.to_owned(),
        module => format!(":{module}:{task}"),
    };
    let mut candidate = Candidate {
        needs: vec![need],
        build: vec![format!("{gradle} --quiet {task}")],
        run,
        env: environment(&text),
        ..place.candidate(path.trim_start_matches("./"), "Java")
    };
    if !module.is_empty() {
        candidate.id = id_of(module);
    }
    Some(candidate)
}

fn gradle_file(place: &ProgramFolder<'_>, name: &str) -> Option<SourceFile> {
    let mut files = ["gradle", "gradle.kts"]
        .map(|kind| format!("{name}.{kind}"))
        .into_iter();
    files.find_map(|path| {
        let text = place.text(&path)?;
        Some(SourceFile { path, text })
    })
}

/// The modules that the settings of a build include: `api`, `services:shop`.
fn included(settings: &str) -> Vec<String> {
    let settings = settings
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default());
    let settings: String = settings.collect::<Vec<_>>().join("\n");
    let mut modules = Vec::new();
    for (at, word) in settings.match_indices("include") {
        let rest = &settings[at + word.len()..];
        if !rest.starts_with([' ', '(', '\t']) {
            continue;
        }
        // The list goes on in the next line after a comma, or until the parenthesis closes.
        let mut rest = rest.trim_start_matches([' ', '(', '\t', '\n']);
        while let Some(quote) = rest.chars().next().filter(|c| ['"', '\''].contains(c)) {
            let Some((name, after)) = rest[1..].split_once(quote) else {
                break;
            };
            modules.push(name.trim_start_matches(':').to_owned());
            rest = after.trim_start();
            rest = rest.strip_prefix(',').unwrap_or_default().trim_start();
        }
    }
    modules
}

/// The path of the project's own copy of the tool, here or in the root of the build, if there is one, and what that needs.
fn wrapper(place: &ProgramFolder<'_>, name: &str) -> Option<(String, &'static str)> {
    let (_, up) = place.upwards(|folder| folder.join(name).is_file())?;
    let path = if up.as_os_str().is_empty() {
        format!("./{name}")
    } else {
        up.join(name).display().to_string()
    };
    Some((path, "\"java\""))
}

fn is_spring(text: &str) -> bool {
    ["spring-boot", "springframework.boot", "spring.boot"]
        .iter()
        .any(|name| text.contains(name))
}

fn is_application(text: &str) -> bool {
    let applied = [
        "id 'application'",
        "id \"application\"",
        "id(\"application\")",
        "plugin: 'application'",
    ];
    text.lines().any(|line| line.trim() == "application")
        || applied.iter().any(|plugin| text.contains(plugin))
}

/// The variables by which a framework gets its address.
fn environment(text: &str) -> Vec<(&'static str, &'static str)> {
    if is_spring(text) {
        vec![("SERVER_ADDRESS", "{host}"), ("SERVER_PORT", "{port}")]
    } else {
        Vec::new()
    }
}

fn elements<'a>(xml: &'a str, name: &str) -> Vec<&'a str> {
    let (start, end) = (format!("<{name}>"), format!("</{name}>"));
    let after = xml.split(&start).skip(1);
    after
        .filter_map(|rest| Some(rest.split_once(&end)?.0.trim()))
        .collect()
}
