//! Generates the service from the project's proto file, without protoc.

use std::env;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-env-changed=PROTO_DIR");
    let folder = env::var("PROTO_DIR").unwrap_or_else(|_| "../../workloads".to_owned());
    println!("cargo::rerun-if-changed={folder}/echo.proto");

    let files = protox::compile(["echo.proto"], [folder])?;
    tonic_prost_build::configure()
        .build_client(false)
        .compile_fds(files)?;
    Ok(())
}
