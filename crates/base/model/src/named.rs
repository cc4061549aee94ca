//! Enums whose variants have names.

/// Declares an enum with the name of each variant, and gives it `ALL`, `name` and `from_name`.
#[macro_export]
macro_rules! named {
    ($(#[$meta:meta])* pub enum $Enum:ident { $($(#[$doc:meta])* $Variant:ident = $name:literal,)+ }) => {
        $(#[$meta])*
        pub enum $Enum {
            $($(#[$doc])* $Variant,)+
        }

        impl $Enum {
            /// All of them, in the order of the tables.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$Variant),+];

            /// Its name in files, JSON, CSV and tables.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$Variant => $name,)+
                }
            }

            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|one| one.name() == name)
            }
        }
    };
}
