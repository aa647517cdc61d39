//! Images of conversations, kept by content in the project's state. A chart holds a reference to each: the context of an
//! agent stays small however many screenshots it takes, and one image is kept once.
//!
//! The data is on disk before the step that holds its reference is committed, so a session finds it again after a crash.
//! A reference whose data is gone (deleted, or another machine) becomes words, never a failure.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::bounds::{INLINE_IMAGE_BYTES_MAX, REQUEST_IMAGE_BYTES_MAX};
use crate::message::{Message, Part};

/// Below the root of the project.
const FOLDER: &str = ".rawko/state/attachments";

#[derive(Clone, Debug)]
pub(super) struct Attachments {
    folder: PathBuf,
}

impl Attachments {
    pub(super) fn new(project_root: &Path) -> Self {
        Self { folder: project_root.join(FOLDER) }
    }

    /// Replaces every large image by a reference to it.
    pub(super) async fn keep_all(&self, messages: Vec<Message>) -> Vec<Message> {
        let kept = |attachments: &Self, message: Message| {
            let parts = message.parts.into_iter().map(|part| attachments.kept_or_told(part)).collect();
            Message { parts, ..message }
        };
        self.blocking(messages, move |attachments, messages| {
            messages.into_iter().map(|message| kept(attachments, message)).collect()
        })
        .await
    }

    /// Replaces a large image by a reference to it, or says why that is not possible.
    pub(super) async fn keep(&self, part: Part) -> Result<Part, String> {
        self.blocking(Ok(part), |attachments, part| attachments.kept(part?)).await
    }

    /// Replaces references by images, the newest first, as far as a request can hold them.
    pub(super) async fn load_all(&self, messages: Vec<Message>) -> Vec<Message> {
        let has_refs =
            |message: &Message| message.parts.iter().any(|part| matches!(part, Part::ImageRef { .. }));
        if !messages.iter().any(has_refs) {
            return messages;
        }
        self.blocking(messages, |attachments, mut messages| {
            let mut bytes_left = REQUEST_IMAGE_BYTES_MAX;
            for part in messages.iter_mut().rev().flat_map(|message| message.parts.iter_mut().rev()) {
                attachments.load(part, &mut bytes_left);
            }
            messages
        })
        .await
    }

    /// Files make a thread wait. If the runtime ends meanwhile, so does whatever needs the answer.
    async fn blocking<T: Clone + Send + 'static>(
        &self,
        given: T,
        work: impl FnOnce(&Self, T) -> T + Send + 'static,
    ) -> T {
        let (attachments, before) = (self.clone(), given.clone());
        tokio::task::spawn_blocking(move || work(&attachments, given)).await.unwrap_or(before)
    }

    fn kept_or_told(&self, part: Part) -> Part {
        self.kept(part).unwrap_or_else(|why| Part::Text { text: format!("[an image is not shown: {why}]") })
    }

    fn kept(&self, part: Part) -> Result<Part, String> {
        let (Part::Image { media_type, data }, Some(hash)) = (&part, part.image_hash()) else {
            return Ok(part);
        };
        if data.len() <= INLINE_IMAGE_BYTES_MAX {
            return Ok(part);
        }
        self.write(&hash, data.as_bytes())
            .map_err(|error| format!("it could not be stored in {}: {error}", self.folder.display()))?;
        let bytes = u64::try_from(data.len()).unwrap_or(u64::MAX);
        Ok(Part::ImageRef { media_type: media_type.clone(), hash, bytes })
    }

    /// A file is either whole or not there: it gets its name when all of it is on disk.
    fn write(&self, hash: &str, data: &[u8]) -> io::Result<()> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let path = self.folder.join(hash);
        if path.exists() {
            return Ok(());
        }
        self.create_folder()?;
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let temporary = self.folder.join(format!("{hash}.{}-{number}", std::process::id()));
        let written = File::create_new(&temporary).and_then(|mut file| {
            file.write_all(data)?;
            file.sync_all()
        });
        let named = written.and_then(|()| fs::rename(&temporary, &path));
        if named.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        named.and_then(|()| File::open(&self.folder)?.sync_all())
    }

    fn create_folder(&self) -> io::Result<()> {
        if !self.folder.is_dir() {
            fs::create_dir_all(&self.folder)?;
            fs::write(self.folder.join(".gitignore"), "*\n")?;
        }
        Ok(())
    }

    fn load(&self, part: &mut Part, bytes_left: &mut u64) {
        let Part::ImageRef { media_type, hash, bytes } = &*part else { return };
        let Some(left) = bytes_left.checked_sub(*bytes) else {
            let text = "[an older image is left out: the images of this conversation are more than one request can hold]";
            *part = Part::Text { text: text.to_owned() };
            return;
        };
        *bytes_left = left;
        let image = self.read(hash).map(|data| Part::Image { media_type: media_type.clone(), data });
        // What is on disk must be what the name says: agents can write there.
        let image = image.filter(|image| image.image_hash().as_deref() == Some(hash));
        *part = image.unwrap_or_else(|| Part::Text {
            text: "[an image is left out: it is no longer stored in this project]".to_owned(),
        });
    }

    /// A reference may come from anywhere; only names of images are looked for.
    fn read(&self, hash: &str) -> Option<String> {
        let is_name = hash.len() == 32 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_name.then(|| fs::read_to_string(self.folder.join(hash)).ok()).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Role;

    fn image(byte: &str, bytes: usize) -> Part {
        Part::Image { media_type: "image/png".into(), data: byte.repeat(bytes) }
    }

    fn said(parts: Vec<Part>) -> Vec<Message> {
        vec![Message { role: Role::User, parts }]
    }

    #[tokio::test]
    async fn a_large_image_is_kept_once_and_found_again() {
        let root = tempfile::tempdir().unwrap();
        let attachments = Attachments::new(root.path());
        let messages = said(vec![image("a", 4), image("b", 100_000), image("b", 100_000)]);
        let kept = attachments.keep_all(messages.clone()).await;
        assert_eq!(kept[0].parts[0], image("a", 4), "a small one stays");
        assert!(matches!(kept[0].parts[1], Part::ImageRef { bytes: 100_000, .. }));
        assert_eq!(kept[0].parts[1], kept[0].parts[2]);
        let files = fs::read_dir(root.path().join(FOLDER)).unwrap().count();
        assert_eq!(files, 2, "the image and .gitignore");
        assert_eq!(attachments.keep_all(kept.clone()).await, kept, "what is kept stays as it is");
        assert_eq!(Attachments::new(root.path()).load_all(kept).await, messages);
    }

    #[tokio::test]
    async fn what_cannot_be_loaded_becomes_words() {
        let root = tempfile::tempdir().unwrap();
        let attachments = Attachments::new(root.path());
        let kept = attachments.keep_all(said(vec![image("b", 100_000)])).await;
        let Part::ImageRef { hash, .. } = &kept[0].parts[0] else { panic!("{kept:?}") };
        fs::write(root.path().join(FOLDER).join(hash), "something else").unwrap();
        fs::write(root.path().join("secret"), "s").unwrap();
        let named =
            |hash: &str| Part::ImageRef { media_type: "image/png".into(), hash: hash.into(), bytes: 1 };
        for part in
            [kept[0].parts[0].clone(), named("00000000000000000000000000000000"), named("../../../secret")]
        {
            let loaded = attachments.load_all(said(vec![part.clone()])).await;
            assert!(
                matches!(&loaded[0].parts[0], Part::Text { text } if text.contains("no longer stored")),
                "{part:?}: {loaded:?}"
            );
        }
    }

    #[tokio::test]
    async fn a_request_holds_the_newest_images() {
        let root = tempfile::tempdir().unwrap();
        let attachments = Attachments::new(root.path());
        let size = usize::try_from(REQUEST_IMAGE_BYTES_MAX).unwrap() / 2;
        let messages = said(["a", "b", "c"].map(|byte| image(byte, size)).to_vec());
        let loaded = attachments.load_all(attachments.keep_all(messages.clone()).await).await;
        assert!(matches!(&loaded[0].parts[0], Part::Text { text } if text.contains("older image")));
        assert_eq!(loaded[0].parts[1..], messages[0].parts[1..]);
    }

    #[tokio::test]
    async fn an_image_that_cannot_be_stored_becomes_words() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join(".rawko"), "a file where the folder should be").unwrap();
        let kept = Attachments::new(root.path()).keep_all(said(vec![image("b", 100_000)])).await;
        assert!(
            matches!(&kept[0].parts[0], Part::Text { text } if text.contains("could not be stored")),
            "{kept:?}"
        );
    }
}
