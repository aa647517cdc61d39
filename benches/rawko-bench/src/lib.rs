//! What the two programs share: the charts, and measuring. The programs are apart so that the limits are compiled the
//! same way whatever rawko's code looks like.

pub mod charts;
pub mod report;
