//! Which registers in user mode a sample has.

/// Which registers the kernel writes, by their numbers in `PERF_SAMPLE_REGS_USER`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Registers {
    pub(super) ip: u32,
    pub(super) sp: u32,
    pub(super) bp: u32,
    pub(super) lr: Option<u32>,
}

#[cfg(not(target_arch = "aarch64"))]
pub(super) const REGISTERS: Registers = Registers {
    ip: 8,
    sp: 7,
    bp: 6,
    lr: None,
};
#[cfg(target_arch = "aarch64")]
pub(super) const REGISTERS: Registers = Registers {
    ip: 32,
    sp: 31,
    bp: 29,
    lr: Some(30),
};

impl Registers {
    pub(super) const fn mask(self) -> u64 {
        let lr = match self.lr {
            Some(lr) => 1 << lr,
            None => 0,
        };
        1 << self.ip | 1 << self.sp | 1 << self.bp | lr
    }
}
