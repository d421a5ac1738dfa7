//! Renders a density volume by casting a ray through it for every pixel, composited front to back and ended early
//! where nothing behind can be seen. The cost of a pixel depends on what its ray meets.

use crate::inputs::Rng;
use crate::workload::{Bound, Checksum, Entry, Kernel, Suite, ensure, prepared};
use crate::{Fork, Par};

mod field;

use field::{Field, Vector, add, cross, scale, unit};

pub(crate) static VOLUME: Entry = Entry {
    name: "volume-rendering",
    about: "ray casting through a density volume",
    suite: Suite::DfDeques,
    bound: Bound::Compute,
    prepare: |size, grain, seed| {
        let (field_side, image_side) = (size.pick(24, 256, 256), size.pick(32, 512, 1024));
        let mut rng = Rng::new(seed);
        let field = Field::blobs(field_side, &mut rng);
        let view = View::random(field_side, image_side, &mut rng);
        prepared(Volume {
            field,
            view,
            tile: grain.pick(8, 1),
            image: vec![NO_PIXEL; image_side * image_side],
        })
    },
};

/// A ray ends when less than this share of what lies behind would come through.
const TRANSPARENCY_CUT: f32 = 0.02;
const NO_PIXEL: f32 = -1.0;

struct Volume {
    field: Field,
    view: View,
    /// Side of the square of pixels that is a serial piece. The image is stored square by square.
    tile: usize,
    image: Vec<f32>,
}

/// A parallel projection.
struct View {
    pixels: usize,
    corner: Vector,
    right: Vector,
    down: Vector,
    /// One step along a ray, and how many of them lead through the whole volume.
    forward: Vector,
    steps: usize,
    /// How opaque one step through the densest material is.
    thickness: f32,
}

impl View {
    /// Looks at the centre of the volume from a random side, with all of the volume in the picture.
    fn random(field_side: usize, pixels: usize, rng: &mut Rng) -> View {
        let axis = |rng: &mut Rng| -> Vector { unit(std::array::from_fn(|_| 0.1 + rng.unit() as f32)) };
        let forward = axis(rng);
        let right = unit(cross(forward, axis(rng)));
        let down = cross(forward, right);
        let diagonal = 1.75 * field_side as f32;
        let centre = [0.5 * (field_side - 1) as f32; 3];
        let corner = [forward, right, down].iter().fold(centre, |c, v| add(c, scale(*v, -0.5 * diagonal)));
        let pixel = diagonal / pixels as f32;
        View {
            pixels,
            corner,
            right: scale(right, pixel),
            down: scale(down, pixel),
            forward,
            steps: diagonal as usize,
            thickness: 16.0 / field_side as f32,
        }
    }

    /// The opacity of one step through material of this density.
    fn opacity(&self, density: f32) -> f32 {
        (self.thickness * (density - 0.15)).clamp(0.0, 1.0)
    }

    /// Where the ray of a pixel, counted tile by tile, starts.
    fn start(&self, tile: usize, pixel: usize) -> Vector {
        let (square, tiles) = (tile * tile, self.pixels / tile);
        let (index, inside) = (pixel / square, pixel % square);
        let (x, y) = (index % tiles * tile + inside % tile, index / tiles * tile + inside / tile);
        let at = add(self.corner, scale(self.right, x as f32 + 0.5));
        add(at, scale(self.down, y as f32 + 0.5))
    }
}

/// The brightness of a pixel.
fn cast(field: &Field, view: &View, start: Vector) -> f32 {
    let (mut brightness, mut transparency) = (0.0, 1.0);
    for step in 0..view.steps {
        if let Some(density) = field.sample(add(start, scale(view.forward, step as f32))) {
            let opacity = view.opacity(density);
            brightness += transparency * opacity * density;
            transparency *= 1.0 - opacity;
            if transparency < TRANSPARENCY_CUT {
                break;
            }
        }
    }
    brightness
}

impl Kernel for Volume {
    fn input(&self) -> String {
        format!("{0}³ volume, {1}² image, tiles of {2}²", self.field.side(), self.view.pixels, self.tile)
    }

    fn reset(&mut self) {
        self.image.fill(NO_PIXEL);
    }

    fn compute<F: Fork>(&mut self, fork: &mut F) {
        let (field, view, tile) = (&self.field, &self.view, self.tile);
        fork.for_chunks(&mut self.image, tile * tile, &|k, pixels: &mut [f32]| {
            if F::TOUCHES {
                F::touch(pixels);
                for i in 0..pixels.len() {
                    let start = view.start(tile, k * tile * tile + i);
                    let points = (0..view.steps).map(|step| add(start, scale(view.forward, step as f32)));
                    points.filter_map(|at| field.voxels(at)).flatten().for_each(F::touch);
                }
            }
            for (i, pixel) in pixels.iter_mut().enumerate() {
                *pixel = cast(field, view, view.start(tile, k * tile * tile + i));
            }
        });
    }

    fn checksum(&self) -> Checksum {
        Checksum::of(self.image.iter().map(|pixel| u64::from(pixel.to_bits())))
    }

    /// Compositing back to front gives the same picture, up to what the cut hides.
    fn check(&self) -> Result<(), String> {
        let wrong = (0..self.image.len()).step_by(31).find(|&pixel| {
            let start = self.view.start(self.tile, pixel);
            let expected = (0..self.view.steps).rev().fold(0.0, |behind, step| {
                match self.field.sample(add(start, scale(self.view.forward, step as f32))) {
                    Some(density) => behind + self.view.opacity(density) * (density - behind),
                    None => behind,
                }
            });
            (self.image[pixel] - expected).abs() > 1.5 * TRANSPARENCY_CUT
        });
        wrong.map_or(Ok(()), |pixel| ensure(false, || format!("pixel {pixel} is wrong")))?;
        let brightest = self.image.iter().copied().fold(0.0, f32::max);
        ensure(brightest > 0.2, || format!("the picture is dark: no pixel above {brightest}"))
    }
}
