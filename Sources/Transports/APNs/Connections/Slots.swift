/// Numbered elements. The number of a removed element is used again.
struct Slots<Element> {
    private var items: [Element?] = []
    private var free: [Int] = []

    var indices: Range<Int> { items.indices }
    var isEmpty: Bool { items.count == free.count }

    @inline(__always)
    subscript(index: Int) -> Element? {
        _read { yield items[index] }
        _modify { yield &items[index] }
    }

    mutating func insert(_ element: Element) -> Int {
        guard let index = free.popLast() else {
            items.append(element)
            return items.count - 1
        }
        items[index] = element
        return index
    }

    mutating func remove(_ index: Int) {
        items[index] = nil
        free.append(index)
    }
}
