//! Places names beside points, so that they cover neither each other nor a point.

/// About how wide a letter of a name is, and how high a line.
const LETTER: f64 = 6.3;
const LINE: f64 = 12.0;
const GAP: f64 = 6.0;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Area {
    pub(crate) left: f64,
    pub(crate) right: f64,
    pub(crate) top: f64,
    pub(crate) bottom: f64,
}

impl Area {
    pub(super) fn around((x, y): (f64, f64), radius: f64) -> Self {
        Self {
            left: x - radius,
            right: x + radius,
            top: y - radius,
            bottom: y + radius,
        }
    }

    fn overlaps(&self, other: &Self) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }

    fn is_within(&self, outer: &Self) -> bool {
        self.left >= outer.left
            && self.right <= outer.right
            && self.top >= outer.top
            && self.bottom <= outer.bottom
    }
}

/// Where a name goes: the left end of its letters' line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LabelPosition {
    pub(crate) x: f64,
    pub(crate) y: f64,
}

/// The places of names, in the order of the points; `None` for a name without room. The first points choose first. No name
/// covers a taken area.
pub(super) fn positions(
    points: &[(f64, f64)],
    names: &[&str],
    mut taken: Vec<Area>,
    within: &Area,
) -> Vec<Option<LabelPosition>> {
    let placed = points.iter().zip(names).map(|(point, name)| {
        let wide = LETTER * name.chars().count() as f64;
        let free = candidates(*point, wide)
            .find(|area| area.is_within(within) && !taken.iter().any(|it| it.overlaps(area)))?;
        taken.push(free);
        Some(LabelPosition {
            x: free.left,
            y: free.bottom - 3.0,
        })
    });
    placed.collect()
}

/// The areas that a name may take, the best first: right, left, above, below, and at the corners.
fn candidates((x, y): (f64, f64), wide: f64) -> impl Iterator<Item = Area> {
    let beside = y - LINE / 2.0;
    let (above, below) = (y - GAP - LINE, y + GAP);
    let (right, left, middle) = (x + GAP, x - GAP - wide, x - wide / 2.0);
    [
        (right, beside),
        (left, beside),
        (middle, above),
        (middle, below),
        (right, above + 4.0),
        (right, below - 4.0),
        (left, above + 4.0),
        (left, below - 4.0),
    ]
    .into_iter()
    .map(move |(left, top)| Area {
        left,
        right: left + wide,
        top,
        bottom: top + LINE,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const WITHIN: Area = Area {
        left: 0.0,
        right: 360.0,
        top: 0.0,
        bottom: 220.0,
    };

    fn places_of(points: &[(f64, f64)], names: &[&str]) -> Vec<Option<LabelPosition>> {
        let taken = points.iter().map(|point| Area::around(*point, 4.0));
        positions(points, names, taken.collect(), &WITHIN)
    }

    fn area(name: &str, place: LabelPosition) -> Area {
        Area {
            left: place.x,
            right: place.x + LETTER * name.chars().count() as f64,
            top: place.y + 3.0 - LINE,
            bottom: place.y + 3.0,
        }
    }

    #[test]
    fn a_point_alone_has_its_name_at_the_right_and_near_the_edge_at_the_left() {
        let positions = places_of(&[(100.0, 100.0), (350.0, 20.0)], &["bun", "go"]);
        assert!(positions[0].unwrap().x > 100.0 && positions[1].unwrap().x < 350.0);
    }

    #[test]
    fn points_at_one_place_have_no_more_names_than_there_is_room_for() {
        let names = ["server"; 30];
        let positions = places_of(&[(100.0, 100.0); 30], &names);
        let named = positions.iter().flatten().count();
        assert!((2..=6).contains(&named), "{named}");
    }

    proptest! {
        #[test]
        fn names_cover_neither_each_other_nor_points_and_stay_inside(
            points in prop::collection::vec((10.0f64..350.0, 10.0f64..210.0), 1..40),
            letters in 1usize..20,
        ) {
            let name = "x".repeat(letters);
            let names = vec![name.as_str(); points.len()];
            let placed: Vec<Area> = places_of(&points, &names)
                .into_iter()
                .flatten()
                .map(|place| area(&name, place))
                .collect();
            for (i, one) in placed.iter().enumerate() {
                prop_assert!(one.is_within(&WITHIN));
                // Arithmetic rounds.
                let inner = Area { left: one.left + 1e-6, right: one.right - 1e-6, top: one.top + 1e-6, bottom: one.bottom - 1e-6 };
                prop_assert!(placed[i + 1..].iter().all(|other| !inner.overlaps(other)));
                prop_assert!(points.iter().all(|point| !inner.overlaps(&Area::around(*point, 4.0))));
            }
        }
    }
}
