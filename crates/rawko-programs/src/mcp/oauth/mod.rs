//! Authorization at remote servers: OAuth with PKCE after a login of the person, or client credentials. Separate from
//! connections, because a login outlives them and belongs to the person, not to a project.

mod file;
mod http;
mod login;

use std::path::Path;
use std::sync::Arc;

use rmcp::transport::auth::{
    AuthError, AuthorizationManager, ClientCredentialsConfig, OAuthClientConfig, OAuthState,
};

pub(super) use file::CredentialFile;
pub(super) use login::login;

use super::config::McpOAuth;
use super::settings::McpSettings;

/// Returns the manager of a server's credentials. Without a state directory they last as long as the process.
async fn manager(
    url: &str,
    settings: &McpSettings,
) -> Result<(AuthorizationManager, Option<CredentialFile>), String> {
    let http = http::OAuthHttp::new(url, &settings.egress)?;
    let mut manager =
        AuthorizationManager::new_with_oauth_http_client(url, Arc::new(http)).await.map_err(words)?;
    let file = settings.credentials.as_deref().map(|folder| credential_file(folder, url));
    if let Some(file) = &file {
        manager.set_credential_store(file.clone());
    }
    Ok((manager, file))
}

/// Returns the file with the credentials for a server.
pub(super) fn credential_file(folder: &Path, url: &str) -> CredentialFile {
    CredentialFile::new(folder, url)
}

/// Returns a manager for a connection: with the stored login, with client credentials, or with nothing, so that the
/// server can name what it requires.
pub(super) async fn authorized(
    url: &str,
    oauth: &McpOAuth,
    settings: &McpSettings,
) -> Result<AuthorizationManager, String> {
    let (mut manager, _) = manager(url, settings).await?;
    if let (true, Some(id), Some(secret)) = (oauth.is_without_person, &oauth.client_id, &oauth.client_secret)
    {
        let config = ClientCredentialsConfig::ClientSecret {
            client_id: id.clone(),
            client_secret: secret.clone(),
            scopes: oauth.scopes.clone(),
            resource: Some(url.to_owned()),
        };
        let mut state = OAuthState::Unauthorized(manager);
        state.authenticate_client_credentials(config).await.map_err(words)?;
        return state.into_authorization_manager().ok_or_else(|| "the server issued no token".to_owned());
    }
    let is_known = manager.initialize_from_store().await.map_err(words)?;
    if let (true, Some(id), Some(secret)) = (is_known, &oauth.client_id, &oauth.client_secret) {
        // A refresh needs the secret, which is not stored.
        let config =
            OAuthClientConfig::new(id.clone(), login::redirect_address(0)).with_client_secret(secret.clone());
        manager.configure_client(config).map_err(words)?;
    }
    Ok(manager)
}

fn words(error: AuthError) -> String {
    format!("authorization failed: {error}")
}
