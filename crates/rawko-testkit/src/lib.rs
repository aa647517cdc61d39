//! What tests of several crates share. Nothing here is part of the product.
