//! How a completion is matched with what was asked.

/// What was asked of the kernel. At most one of each is under way for a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Connect = 0,
    Send = 1,
    ReceiveMany = 2,
    ReceiveOnce = 3,
    Skip = 4,
    /// Cancels and closes: nobody waits for what comes of them.
    Cleanup = 5,
}

impl Operation {
    const ALL: [Operation; 6] = [
        Operation::Connect,
        Operation::Send,
        Operation::ReceiveMany,
        Operation::ReceiveOnce,
        Operation::Skip,
        Operation::Cleanup,
    ];
}

/// The user data of an operation. The generation counts the sockets that a slot has had, so what comes of an old one
/// is told from what comes of the present one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tag {
    pub(super) operation: Operation,
    pub(super) slot: u32,
    pub(super) generation: u64,
}

const OPERATION_BITS: u32 = 3;
const SLOT_BITS: u32 = 24;
/// The most slots that a tag can tell apart.
pub(super) const MOST_SLOTS: usize = 1 << SLOT_BITS;

impl Tag {
    /// Of an operation for whose completion nobody waits.
    pub(super) const CLEANUP: Tag = Tag {
        operation: Operation::Cleanup,
        slot: 0,
        generation: 0,
    };

    /// As the kernel hands it back. The 37 bits of the generation last for 137 thousand million sockets of one slot.
    #[inline]
    pub(super) fn to_user_data(self) -> u64 {
        (self.generation << (OPERATION_BITS + SLOT_BITS))
            | (u64::from(self.slot) << OPERATION_BITS)
            | self.operation as u64
    }

    /// `None` where it is no tag of ours.
    #[inline]
    pub(super) fn from_user_data(data: u64) -> Option<Self> {
        let operation = *Operation::ALL.get((data & ((1 << OPERATION_BITS) - 1)) as usize)?;
        let slot = ((data >> OPERATION_BITS) & (MOST_SLOTS as u64 - 1)) as u32;
        let generation = data >> (OPERATION_BITS + SLOT_BITS);
        Some(Self {
            operation,
            slot,
            generation,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_comes_back_as_it_was() {
        for operation in Operation::ALL {
            for slot in [0, 1, MOST_SLOTS as u32 - 1] {
                for generation in [0, 1, (1 << 37) - 1] {
                    let tag = Tag {
                        operation,
                        slot,
                        generation,
                    };
                    assert_eq!(Tag::from_user_data(tag.to_user_data()), Some(tag));
                }
            }
        }
    }

    #[test]
    fn what_is_no_tag_is_none() {
        assert_eq!(Tag::from_user_data(6), None);
        assert_eq!(Tag::from_user_data(u64::MAX), None);
    }
}
