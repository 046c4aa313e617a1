import JSON

/// Assigns consecutive numbers to names, so that the search for subscriptions compares numbers instead of texts.
///
/// Only saved subscriptions add names. The names in changes are only looked up.
struct SymbolTable {
    private var numbers = HashedNumbers()
    private let text = Slab<UInt8>()
    /// The offset in `text` at which each name starts, then the end of the last name.
    private let starts = Slab(repeating: 0, count: 1)

    var count: Int { unsafe starts.count - 1 }

    mutating func intern(_ name: UnsafeRawBufferPointer) -> Int32 {
        let hash = unsafe ByteHash.of(name)
        if let symbol = unsafe view.find(name, hash) { return symbol }
        let symbol = Int32(count)
        unsafe text.append(contentsOf: name)
        unsafe starts.append(text.count)
        numbers.insert(symbol, hash)
        return symbol
    }

    mutating func intern(_ name: [UInt8]) -> Int32 { unsafe name.withUnsafeBytes { unsafe intern($0) } }

    mutating func intern(_ name: String) -> Int32 {
        var name = name
        return name.withUTF8 { unsafe intern(UnsafeRawBufferPointer($0)) }
    }
}

// MARK: - Finding

extension SymbolTable {
    /// Unsafe read access, valid until the table is modified.
    @unsafe struct View {
        fileprivate let numbers: HashedNumbers.View
        fileprivate let text: UnsafePointer<UInt8>
        fileprivate let starts: UnsafePointer<Int>

        @inline(__always)
        func find(_ name: JSONValue) -> Int32? {
            if let plain = unsafe name.plain { return unsafe find(plain, ByteHash.of(plain)) }
            return unsafe name.withUTF8 { unsafe find($0, ByteHash.of($0)) } ?? nil
        }

        @inline(__always)
        fileprivate func find(_ name: UnsafeRawBufferPointer, _ hash: Int) -> Int32? {
            unsafe numbers.find(hash) { symbol in
                let (start, end) = unsafe (starts[Int(symbol)], starts[Int(symbol) + 1])
                return unsafe UnsafeRawBufferPointer(start: text + start, count: end - start).isSame(as: name)
            }
        }
    }

    @inline(__always)
    var view: View { unsafe View(numbers: numbers.view, text: text.base, starts: starts.base) }

    @inline(__always)
    func find(_ name: JSONValue) -> Int32? { unsafe view.find(name) }

    mutating func intern(text: JSONValue) -> Int32 {
        if let plain = unsafe text.plain { return unsafe intern(plain) }
        return unsafe text.withUTF8 { unsafe intern($0) } ?? intern([])
    }
}
