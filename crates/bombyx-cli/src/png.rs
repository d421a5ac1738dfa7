//! Pictures as PNG.

use crate::Result;

/// Draws an SVG picture in pixels, two for each of its units.
#[cfg(feature = "png")]
pub(crate) fn of(svg: &str) -> Result<Vec<u8>> {
    use resvg::tiny_skia::{Pixmap, Transform};
    use resvg::usvg::{Options, Tree};
    const SCALE: f32 = 2.0;
    let mut options = Options::default();
    options.fontdb_mut().load_system_fonts();
    if options.fontdb.is_empty() {
        return Err(
            "a PNG needs a font, and this system has none; install one, or let the file's name end in .svg"
                .into(),
        );
    }
    // If the fonts that a picture names are missing, use any sans font.
    let sans = options
        .fontdb
        .faces()
        .find(|face| face.families.iter().any(|(name, _)| name.contains("Sans") && !name.contains("Mono")));
    if let Some((family, _)) = sans.and_then(|face| face.families.first()).cloned() {
        options.fontdb_mut().set_sans_serif_family(family.clone());
        options.font_family = family;
    }
    let tree =
        Tree::from_str(svg, &options).map_err(|error| format!("the picture cannot be drawn: {error}"))?;
    let size = tree.size().to_int_size().scale_by(SCALE).ok_or("the picture is too large for a PNG")?;
    let mut pixels = Pixmap::new(size.width(), size.height()).ok_or("the picture is too large for a PNG")?;
    resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
    Ok(pixels.encode_png()?)
}

/// Reports that this build cannot write PNG.
#[cfg(not(feature = "png"))]
pub(crate) fn of(_: &str) -> Result<Vec<u8>> {
    Err("this build cannot write PNG (cargo feature `png`); let the file's name end in .svg".into())
}
