//! The colours of all pictures.

/// Colours that people who see few colours can distinguish: red, green, blue. They are Okabe and Ito's palette, darkened
/// where it is too pale.
pub const COLORS: [[u8; 3]; 8] = [
    [0, 114, 178],
    [213, 94, 0],
    [0, 140, 103],
    [190, 100, 160],
    [190, 140, 0],
    [60, 160, 215],
    [120, 90, 60],
    [90, 90, 90],
];

/// The nth colour, as SVG spells it. They begin anew after the last.
///
/// ```
/// assert_eq!(bombyx_base::palette::svg(0), "#0072b2");
/// assert_eq!(bombyx_base::palette::svg(8), "#0072b2");
/// ```
pub fn svg(nth: usize) -> String {
    let [red, green, blue] = COLORS[nth % COLORS.len()];
    format!("#{red:02x}{green:02x}{blue:02x}")
}
