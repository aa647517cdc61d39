//! What the programs share: the charts, the stubs that answer in them, and measuring. The programs are apart so that the limits are compiled the
//! same way whatever rawko's code looks like.

pub mod charts;
pub mod report;
pub mod stubs;
