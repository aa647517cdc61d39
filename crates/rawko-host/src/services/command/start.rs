//! Starts a program: resolves its file, directory and environment, and reports errors.

use std::io;
use std::path::{Path, PathBuf};

use rawko_process::{Launch, LaunchError, Launched, Profile, ProjectAccess};

use super::ProgramCommand;
use crate::services::{AttemptOutcome, Category, ServiceCall, ServiceError};

impl ProgramCommand {
    pub(super) async fn start(&self, call: &ServiceCall) -> Result<Launched, ServiceError> {
        let confinement = self.confinement.clone();
        let launch = Launch {
            args: self.form.args.clone(),
            cwd: self.cwd()?,
            inherited: self.environment.all(),
            set: self.variables(call)?,
            ..Launch::new(self.file(), self.profile(), confinement)
        };
        launch.start().await.map_err(|error| match error {
            LaunchError::Program(error) => self.not_started(&error),
            LaunchError::Confinement(why) => ServiceError::not_here(why),
        })
    }

    fn profile(&self) -> Profile {
        if self.form.is_trusted { Profile::Trusted } else { Profile::Program(ProjectAccess::Write) }
    }

    /// Returns the program's file: a bare name is looked up in PATH, anything else is relative to the project.
    fn file(&self) -> PathBuf {
        let program = Path::new(&self.form.program);
        if self.is_in_path() { program.to_owned() } else { self.root.join(program) }
    }

    fn is_in_path(&self) -> bool {
        !self.form.program.contains('/')
    }

    /// Returns the working directory. The settings were checked for `..`, but a link may still lead out of the project.
    fn cwd(&self) -> Result<PathBuf, ServiceError> {
        let (root, cwd) = (self.root.canonicalize(), self.root.join(&self.form.cwd).canonicalize());
        match (root, cwd) {
            (Ok(root), Ok(cwd)) if cwd.starts_with(&root) && cwd.is_dir() => Ok(cwd),
            (Ok(_), Ok(cwd)) => {
                let message = format!(
                    "`cwd` of `{}` is not a directory in the project: {}",
                    self.form.program,
                    cwd.display()
                );
                Err(ServiceError::not_here(message))
            }
            (Err(error), _) | (_, Err(error)) => {
                let cwd = self.root.join(&self.form.cwd);
                let message = format!("cannot run `{}` in {}: {error}", self.form.program, cwd.display());
                Err(ServiceError::not_here(message))
            }
        }
    }

    fn variables(&self, call: &ServiceCall) -> Result<Vec<(String, String)>, ServiceError> {
        let mut variables = self.environment.named(self.form.pass_env.iter().map(String::as_str));
        for (name, template) in &self.form.env {
            let value = template.fill(&self.environment).map_err(|unset| {
                ServiceError::not_here(format!("the environment variable `{unset}` is not set"))
            })?;
            variables.push((name.clone(), value));
        }
        variables.push(("RAWKO_IDEMPOTENCY_KEY".into(), call.idempotency.to_string()));
        variables.push(("RAWKO_INSTANCE".into(), call.instance.to_string()));
        variables.push(("RAWKO_ATTEMPT".into(), call.attempt.to_string()));
        Ok(variables)
    }

    fn not_started(&self, error: &io::Error) -> ServiceError {
        let program = &self.form.program;
        let message = match error.kind() {
            io::ErrorKind::NotFound => self.not_found(),
            io::ErrorKind::PermissionDenied => format!("the program `{program}` is not executable"),
            _ => {
                let message = format!("cannot start the program `{program}`: {error}");
                return ServiceError::new(Category::Host, message).with_outcome(AttemptOutcome::Definite);
            }
        };
        ServiceError::new(Category::Unknown, message)
    }

    fn not_found(&self) -> String {
        let (program, file) = (&self.form.program, self.file());
        if self.is_in_path() {
            let path = self.environment.get("PATH").unwrap_or_default().replace(':', ", ");
            return format!(
                "program `{program}` not found in PATH ({path}); write `./{program}` for one in the project"
            );
        }
        if file.exists() {
            return format!("the `#!` line of the program `{program}` names a program that does not exist");
        }
        format!("program `{program}` not found: no file {}", file.display())
    }
}
