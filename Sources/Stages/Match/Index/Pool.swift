/// Values by small numbers that are used again.
struct Pool<Element> {
    private var elements: [Element] = []
    private var free: [Int32] = []

    @inline(__always)
    subscript(number: Int32) -> Element {
        _read { yield elements[Int(number)] }
        _modify { yield &elements[Int(number)] }
    }

    mutating func add(_ element: Element) -> Int32 {
        if let number = free.popLast() {
            elements[Int(number)] = element
            return number
        }
        elements.append(element)
        return Int32(elements.count - 1)
    }

    mutating func reserveCapacity(_ count: Int) { elements.reserveCapacity(count) }

    mutating func free(_ number: Int32) { free.append(number) }
}
