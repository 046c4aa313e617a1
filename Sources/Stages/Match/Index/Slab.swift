import Glibc

/// A growing array of values behind a pointer, so that reading needs no reference counting. Copies share the values.
///
/// Large arrays use huge pages if the system has them. With huge pages, a random access causes one cache miss, not two.
@safe final class Slab<Element: BitwiseCopyable> {
    /// The address of the first value. It changes when the slab grows.
    @exclusivity(unchecked) private(set) var base: UnsafeMutablePointer<Element>
    @exclusivity(unchecked) private(set) var count = 0
    @exclusivity(unchecked) private var capacity = 0

    init() { unsafe base = Slab.allocate(0) }

    convenience init(repeating element: Element, count: Int) {
        self.init()
        append(repeating: element, count)
    }

    deinit { unsafe Glibc.free(base) }

    @inline(__always)
    subscript(number: Int) -> Element {
        get {
            unsafe precondition(number >= 0 && number < count, "number \(number) is outside the slab of \(count)")
            return unsafe base[number]
        }
        set {
            unsafe precondition(number >= 0 && number < count, "number \(number) is outside the slab of \(count)")
            unsafe base[number] = newValue
        }
    }

    @inline(__always)
    var view: UnsafeBufferPointer<Element> { unsafe UnsafeBufferPointer(start: base, count: count) }

    @inline(__always)
    func append(_ element: Element) {
        if unsafe count == capacity { unsafe grow(to: count + 1) }
        unsafe base[count] = element
        unsafe count += 1
    }

    func append(repeating element: Element, _ more: Int) {
        if unsafe count + more > capacity { unsafe grow(to: count + more) }
        unsafe (base + count).initialize(repeating: element, count: more)
        unsafe count += more
    }

    func append(contentsOf bytes: UnsafeRawBufferPointer) where Element == UInt8 {
        if unsafe count + bytes.count > capacity { unsafe grow(to: count + bytes.count) }
        if let start = bytes.baseAddress { unsafe memcpy(base + count, start, bytes.count) }
        unsafe count += bytes.count
    }

    func reserveCapacity(_ wanted: Int) { if unsafe wanted > capacity { move(to: wanted) } }

    @inline(__always)
    func removeAll() { unsafe count = 0 }

    @inline(never)
    private func grow(to wanted: Int) { unsafe move(to: max(wanted, capacity * 2, 4)) }

    private func move(to capacity: Int) {
        let before = unsafe base
        unsafe base = Slab.allocate(capacity)
        unsafe base.update(from: before, count: count)
        unsafe self.capacity = capacity
        unsafe Glibc.free(before)
    }

    private static func allocate(_ capacity: Int) -> UnsafeMutablePointer<Element> {
        let bytes = max(capacity * MemoryLayout<Element>.stride, 64)
        let isHuge = bytes >= 2 * HugePage.bytes
        var memory: UnsafeMutableRawPointer?
        guard unsafe posix_memalign(&memory, isHuge ? HugePage.bytes : 64, bytes) == 0, let memory = unsafe memory
        else {
            preconditionFailure("no memory for \(bytes) bytes of the index")
        }
        // `madvise` only gives a hint to the system, so its failure is ignored.
        if isHuge { _ = unsafe madvise(memory, bytes, MADV_HUGEPAGE) }
        return unsafe memory.assumingMemoryBound(to: Element.self)
    }
}

private enum HugePage {
    static let bytes = 2 << 20
}
