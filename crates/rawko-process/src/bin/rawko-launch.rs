//! The helper of the launcher as a program of its own, for programs and tests that embed rawko and whose own binary does
//! not call `rawko_process::run_if_asked`.

fn main() {
    rawko_process::run_if_asked();
    std::process::exit(127);
}
