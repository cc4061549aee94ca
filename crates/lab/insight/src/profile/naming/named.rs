//! What a place is called.

use prony_model::{Frame, FrameKind};

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Named {
    /// The functions, the outermost first: a place in code that was inlined has several.
    pub(crate) frames: Vec<Frame>,
    pub(crate) why_unnamed: Option<String>,
}

impl Named {
    pub(crate) fn function(name: String, module: &str, kind: FrameKind) -> Named {
        Named {
            frames: vec![Frame {
                name,
                module: module.to_owned(),
                kind,
            }],
            why_unnamed: None,
        }
    }

    pub(crate) fn unknown(module: &str, kind: FrameKind, why: impl Into<String>) -> Named {
        let name = format!("{module} [unknown]");
        Named {
            why_unnamed: Some(why.into()),
            ..Named::function(name, module, kind)
        }
    }
}
