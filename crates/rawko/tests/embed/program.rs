use rawko::{Project, Scripted, ServiceError, service};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Draft {
    text: String,
}
#[derive(Serialize, Deserialize)]
struct Published {
    url: String,
}

async fn publish(draft: Draft) -> Result<Published, ServiceError> {
    Ok(Published { url: format!("https://example.test/{}", draft.text) })
}

async fn run(directory: &str) -> Result<String, Box<dyn std::error::Error>> {
    let script = Scripted::of_text("script.yaml", "- {agent: writer, text: hello}")?;
    let options = Project::options().service(service("publish", publish)).scripted(script).in_memory();
    let project = options.trust_files().open(directory).await?;
    let article = project.actor_of("article", serde_json::json!({"topic": "greetings"})).await?;
    Ok(article.result::<Published>().await?.url)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    rawko::init();
    Ok(println!("{}", run(&std::env::args().nth(1).unwrap_or_default()).await?))
}
