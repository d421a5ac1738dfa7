//! The fast multipole method in the plane (Greengard and Rokhlin 1987): the field of many charges at each of them.
//! Expansions are summed up a quadtree, translated between cells that are well separated, and passed down; only
//! neighbouring cells interact charge by charge. Cells of a level are stored in Morton order, so that the children
//! of a cell lie side by side.

use crate::complex::Complex;
use crate::inputs::Rng;
use crate::workload::{Bound, Checksum, Entry, Kernel, Suite, ensure, prepared};
use crate::{Fork, Par};

mod cells;
mod expansion;

use cells::{Cell, neighbours, well_separated};
use expansion::{Local, Multipole};

pub(crate) static FMM: Entry = Entry {
    name: "fmm",
    about: "fast multipole method in two dimensions",
    suite: Suite::DfDeques,
    bound: Bound::Compute,
    prepare: |size, grain, seed| {
        let (charges, levels) = size.pick((400, 3), (800_000, 8), (3_200_000, 9));
        prepared(Fmm::new(charges, levels, grain.pick(16, 1), seed))
    },
};

#[derive(Clone, Copy, Debug, Default)]
struct Charge {
    at: Complex,
    charge: f64,
}

struct Fmm {
    levels: u32,
    /// Cells in a serial piece.
    grain: usize,
    /// Ordered by the cell of the finest level; `starts` says where each cell's charges begin.
    charges: Vec<Charge>,
    starts: Vec<u32>,
    fields: Vec<Complex>,
}

impl Fmm {
    fn new(n: usize, levels: u32, grain: usize, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let mut charges: Vec<Charge> = (0..n)
            .map(|_| Charge { at: Complex { re: rng.unit(), im: rng.unit() }, charge: rng.unit() - 0.5 })
            .collect();
        let cell = |charge: &Charge| Cell::containing(levels, charge.at).index;
        charges.sort_by_cached_key(cell);
        let mut starts = vec![0u32; (1 << (2 * levels)) + 1];
        charges.iter().for_each(|charge| starts[cell(charge) + 1] += 1);
        for i in 1..starts.len() {
            starts[i] += starts[i - 1];
        }
        Fmm { levels, grain, charges, starts, fields: vec![Complex::default(); n] }
    }

    fn in_cell(&self, cell: usize) -> &[Charge] {
        &self.charges[self.starts[cell] as usize..self.starts[cell + 1] as usize]
    }

    /// The multipole expansions of all cells, coarsest level first.
    fn upward<F: Fork>(&self, fork: &mut F) -> Vec<Vec<Multipole>> {
        let mut finer: Vec<Multipole> = fork.tabulate(1 << (2 * self.levels), self.grain, &|index| {
            F::touch(self.in_cell(index));
            let centre = Cell { level: self.levels, index }.centre();
            Multipole::of(self.in_cell(index).iter().map(|c| (c.at - centre, c.charge)))
        });
        let mut all = Vec::new();
        for level in (2..self.levels).rev() {
            let coarser = fork.tabulate(1 << (2 * level), self.grain, &|index| {
                let parent = Cell { level, index };
                let mut sum = Multipole::default();
                for child in parent.children() {
                    F::touch(&finer[child.index..][..1]);
                    finer[child.index].shift_into(child.centre() - parent.centre(), &mut sum);
                }
                sum
            });
            all.push(std::mem::replace(&mut finer, coarser));
        }
        all.push(finer);
        all.reverse();
        all
    }

    /// The local expansions of the finest cells: what everything that is not a neighbour contributes.
    fn downward<F: Fork>(&self, fork: &mut F, multipoles: &[Vec<Multipole>]) -> Vec<Local> {
        let mut coarser: Vec<Local> = vec![Local::default(); 4];
        for (level, multipoles) in (2..=self.levels).zip(multipoles) {
            coarser = fork.tabulate(1 << (2 * level), self.grain, &|index| {
                let cell = Cell { level, index };
                let parent = cell.parent();
                F::touch(&coarser[parent.index..][..1]);
                let mut sum = coarser[parent.index].shifted(cell.centre() - parent.centre());
                for source in well_separated(cell) {
                    F::touch(&multipoles[source.index..][..1]);
                    multipoles[source.index].translate_into(source.centre() - cell.centre(), &mut sum);
                }
                sum
            });
        }
        coarser
    }

    /// The field in one cell: its local expansion and the charges next to it.
    fn evaluate(&self, index: usize, local: &Local, fields: &mut [Complex]) {
        let cell = Cell { level: self.levels, index };
        for (field, target) in fields.iter_mut().zip(self.in_cell(index)) {
            *field = local.field(target.at - cell.centre());
        }
        for near in neighbours(cell) {
            for (field, target) in fields.iter_mut().zip(self.in_cell(index)) {
                *field += direct(target.at, self.in_cell(near.index));
            }
        }
    }

    /// Evaluates the cells `first..last`, whose charges have the given fields.
    fn evaluate_all<F: Fork>(
        &self,
        fork: &mut F,
        first: usize,
        last: usize,
        locals: &[Local],
        fields: &mut [Complex],
    ) {
        let start = |cell: usize| (self.starts[cell] - self.starts[first]) as usize;
        if last - first <= self.grain {
            F::touch(fields);
            for cell in first..last {
                if F::TOUCHES {
                    F::touch(&locals[cell..=cell]);
                    let near = neighbours(Cell { level: self.levels, index: cell });
                    near.into_iter().for_each(|near| F::touch(self.in_cell(near.index)));
                }
                self.evaluate(cell, &locals[cell], &mut fields[start(cell)..start(cell + 1)]);
            }
            return;
        }
        let middle = first.midpoint(last);
        let (low, high) = fields.split_at_mut(start(middle));
        fork.join(
            |fork| self.evaluate_all(fork, first, middle, locals, low),
            |fork| self.evaluate_all(fork, middle, last, locals, high),
        );
    }
}

/// The field of some charges at a point, which does not feel a charge at the same place.
#[inline]
fn direct(at: Complex, charges: &[Charge]) -> Complex {
    charges.iter().fold(Complex::default(), |sum, source| {
        let distance = at - source.at;
        let charge = if distance.square() > 0.0 { source.charge } else { 0.0 };
        let inverse = 1.0 / distance.square().max(f64::MIN_POSITIVE);
        sum + Complex { re: distance.re, im: -distance.im }.scaled(charge * inverse)
    })
}

impl Kernel for Fmm {
    fn input(&self) -> String {
        let (n, cells) = (self.charges.len(), 1 << (2 * self.levels));
        format!("{n} charges, {cells} cells, {} terms, {} cells a leaf", expansion::TERMS, self.grain)
    }

    fn reset(&mut self) {
        self.fields.fill(Complex::default());
    }

    fn compute<F: Fork>(&mut self, fork: &mut F) {
        let multipoles = self.upward(fork);
        let locals = self.downward(fork, &multipoles);
        let mut fields = std::mem::take(&mut self.fields);
        self.evaluate_all(fork, 0, locals.len(), &locals, &mut fields);
        self.fields = fields;
    }

    fn checksum(&self) -> Checksum {
        Checksum::of(self.fields.iter().flat_map(|f| [f.re.to_bits(), f.im.to_bits()]))
    }

    /// Fields agree with direct summation, to the accuracy of the expansions.
    fn check(&self) -> Result<(), String> {
        let (mut error, mut total) = (0.0, 0.0);
        for i in (0..self.charges.len()).step_by(self.charges.len() / 50) {
            let expected = direct(self.charges[i].at, &self.charges);
            error += (self.fields[i] - expected).square();
            total += expected.square();
        }
        ensure(error < 1e-6f64.powi(2) * total, || format!("relative error {:e}", (error / total).sqrt()))
    }
}
