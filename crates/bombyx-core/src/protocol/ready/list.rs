//! A list in which everything keeps its place relative to its neighbours. It supports insertion beside any node,
//! removal from anywhere, and finding the n-th node from the left. The list R of DFDeques and the pools of ready
//! threads are made of it. Nodes are known by small numbers, which are used again after a removal. The locks around the
//! list make sure that nobody uses a number that has changed its meaning.

/// A node of a [`List`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Node(u32);

impl Node {
    pub(crate) fn number(self) -> usize {
        self.0 as usize
    }

    /// The node of this [`Node::number`].
    pub(crate) fn numbered(number: usize) -> Node {
        Node(number as u32)
    }
}

/// See the module text. Left is first.
pub(crate) struct List<T> {
    slots: Vec<Slot<T>>,
    free: Vec<Node>,
    first: Option<Node>,
    last: Option<Node>,
    len: usize,
}

struct Slot<T> {
    /// `None` while the number is free.
    item: Option<T>,
    left: Option<Node>,
    right: Option<Node>,
}

impl<T> List<T> {
    pub(crate) fn new() -> List<T> {
        List { slots: Vec::new(), free: Vec::new(), first: None, last: None, len: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn get(&self, node: Node) -> Option<&T> {
        self.slots.get(node.number())?.item.as_ref()
    }

    pub(crate) fn get_mut(&mut self, node: Node) -> Option<&mut T> {
        self.slots.get_mut(node.number())?.item.as_mut()
    }

    /// All nodes from left to right.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = Node> {
        std::iter::successors(self.first, |node| self.slots[node.number()].right)
    }

    pub(crate) fn push_right(&mut self, item: T) -> Node {
        self.insert(self.last, None, item)
    }

    pub(crate) fn insert_right_of(&mut self, node: Node, item: T) -> Node {
        self.insert(Some(node), self.slots[node.number()].right, item)
    }

    pub(crate) fn insert_left_of(&mut self, node: Node, item: T) -> Node {
        self.insert(self.slots[node.number()].left, Some(node), item)
    }

    fn insert(&mut self, left: Option<Node>, right: Option<Node>, item: T) -> Node {
        let slot = Slot { item: Some(item), left, right };
        let node = match self.free.pop() {
            Some(node) => {
                self.slots[node.number()] = slot;
                node
            }
            None => {
                self.slots.push(slot);
                Node::numbered(self.slots.len() - 1)
            }
        };
        *self.right_of(left) = Some(node);
        *self.left_of(right) = Some(node);
        self.len += 1;
        node
    }

    /// Takes the node out.
    ///
    /// # Panics
    /// If it is not in the list.
    pub(crate) fn remove(&mut self, node: Node) -> T {
        let slot = &mut self.slots[node.number()];
        let item = slot.item.take().expect("the node is in the list");
        let (left, right) = (slot.left, slot.right);
        *self.right_of(left) = right;
        *self.left_of(right) = left;
        self.free.push(node);
        self.len -= 1;
        item
    }

    /// The link that leads from a node to the right, or into the list.
    fn right_of(&mut self, node: Option<Node>) -> &mut Option<Node> {
        match node {
            Some(node) => &mut self.slots[node.number()].right,
            None => &mut self.first,
        }
    }

    fn left_of(&mut self, node: Option<Node>) -> &mut Option<Node> {
        match node {
            Some(node) => &mut self.slots[node.number()].left,
            None => &mut self.last,
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::system::rng::Rng;

    fn contents(list: &List<u64>) -> Vec<u64> {
        list.nodes().map(|node| *list.get(node).unwrap()).collect()
    }

    #[test]
    fn neighbours() {
        let mut list = List::new();
        let b = list.push_right(2);
        let d = list.push_right(4);
        let a = list.insert_left_of(b, 1);
        list.insert_right_of(b, 3);
        assert_eq!(contents(&list), [1, 2, 3, 4]);
        assert_eq!((list.remove(a), list.remove(d)), (1, 4));
        assert_eq!(contents(&list), [2, 3]);
        assert_eq!(list.get(d), None);
        list.push_right(5);
        assert_eq!((contents(&list), list.len()), (vec![2, 3, 5], 3));
    }

    /// Behaves like a vector.
    #[test]
    fn stress() {
        let rng = Rng::new(7, 0);
        let (mut list, mut model): (List<u64>, Vec<(Node, u64)>) = (List::new(), Vec::new());
        for item in 0..5_000 {
            let at = rng.below(model.len() + 1);
            match model.get(at).copied() {
                None => model.push((list.push_right(item), item)),
                Some((node, old)) => match rng.below(4) {
                    0 => model.insert(at, (list.insert_left_of(node, item), item)),
                    1 => model.insert(at + 1, (list.insert_right_of(node, item), item)),
                    _ => {
                        assert_eq!(list.remove(node), old);
                        model.remove(at);
                    }
                },
            }
            assert_eq!(list.len(), model.len());
        }
        assert_eq!(contents(&list), model.iter().map(|&(_, item)| item).collect::<Vec<_>>());
    }
}
