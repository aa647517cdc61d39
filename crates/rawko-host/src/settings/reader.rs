//! `HostSettingsReader`: the settings reader plus the values that only services and endpoints have. Each neighbouring module adds
//! the methods of its own part.

use std::ops::{Deref, DerefMut};

use rawko_settings::{Environment, SettingsReader};

pub(super) struct HostSettingsReader<'e>(SettingsReader<'e>);

impl<'e> HostSettingsReader<'e> {
    pub(super) fn new(environment: &'e Environment) -> Self {
        Self(SettingsReader::new(environment))
    }
}

impl<'e> Deref for HostSettingsReader<'e> {
    type Target = SettingsReader<'e>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for HostSettingsReader<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}
