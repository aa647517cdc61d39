//! HybridAgent: what becomes of images in a conversation with a model that cannot see.
