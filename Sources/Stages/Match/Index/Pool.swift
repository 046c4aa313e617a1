/// Gives each added value a small number. The number of a removed value is used again.
struct Pool<Element: BitwiseCopyable> {
    private let elements = Slab<Element>()
    private var free: [Int32] = []

    @inline(__always)
    subscript(number: Int32) -> Element {
        get { elements[Int(number)] }
        nonmutating set { elements[Int(number)] = newValue }
    }

    var view: UnsafeBufferPointer<Element> { unsafe elements.view }

    mutating func add(_ element: Element) -> Int32 {
        if let number = free.popLast() {
            elements[Int(number)] = element
            return number
        }
        elements.append(element)
        return unsafe Int32(elements.count - 1)
    }

    func reserveCapacity(_ count: Int) { elements.reserveCapacity(count) }

    mutating func free(_ number: Int32) { free.append(number) }
}

/// The free ranges of a slab, grouped by size class.
struct FreeRanges {
    private var starts: [[Int32]] = []

    /// Takes a free range.
    ///
    /// - Returns: The start of the range; nil if no range of the class is free.
    mutating func take(_ sizeClass: Int) -> Int32? {
        while starts.count <= sizeClass { starts.append([]) }
        return starts[sizeClass].popLast()
    }

    mutating func free(_ start: Int32, _ sizeClass: Int) {
        while starts.count <= sizeClass { starts.append([]) }
        starts[sizeClass].append(start)
    }
}
