//! The requests of a client. Forwarded to the server's loop: the library's callbacks decide nothing, because it handles
//! no other message while one runs.

use agent_client_protocol::v1::schema::{
    CancelNotification, InitializeRequest, InitializeResponse, LoadSessionRequest, LoadSessionResponse,
    NewSessionRequest, NewSessionResponse, PromptRequest, PromptResponse,
};
use agent_client_protocol::v1::{ConnectionTo, Responder};
use agent_client_protocol::{Agent, Channel, Client, Error};
use tokio::sync::{mpsc, oneshot};

pub(super) enum FromClient {
    Initialize(Responder<InitializeResponse>),
    NewSession(NewSessionRequest, Responder<NewSessionResponse>),
    LoadSession(LoadSessionRequest, Responder<LoadSessionResponse>),
    Prompt(PromptRequest, Responder<PromptResponse>),
    Cancel(CancelNotification),
}

/// Runs the connection until it is dropped.
pub(super) async fn serve(
    transport: Channel,
    tell: mpsc::UnboundedSender<FromClient>,
    give: oneshot::Sender<ConnectionTo<Client>>,
) -> Result<(), Error> {
    let (initialize, new, load, prompt, cancel) =
        (tell.clone(), tell.clone(), tell.clone(), tell.clone(), tell);
    Agent
        .v1()
        .name("rawko")
        .on_receive_request(
            async move |_: InitializeRequest, responder, _| {
                let _ = initialize.send(FromClient::Initialize(responder));
                Ok(())
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_request(
            async move |request: NewSessionRequest, responder, _| {
                let _ = new.send(FromClient::NewSession(request, responder));
                Ok(())
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_request(
            async move |request: LoadSessionRequest, responder, _| {
                let _ = load.send(FromClient::LoadSession(request, responder));
                Ok(())
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_request(
            async move |request: PromptRequest, responder, _| {
                let _ = prompt.send(FromClient::Prompt(request, responder));
                Ok(())
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_notification(
            async move |notification: CancelNotification, _| {
                let _ = cancel.send(FromClient::Cancel(notification));
                Ok(())
            },
            agent_client_protocol::on_receive_notification!(),
        )
        .connect_with(transport, async move |connection| {
            let _ = give.send(connection);
            std::future::pending().await
        })
        .await
}
