/// Which keys an event is found by. A log knows no event types: whoever indexes it brings this.
@safe package struct KeyScheme: Sendable {
    /// Adds the hashes of one event's keys, see ``KeyHash``. The same line gives the same hashes, in any process.
    package typealias Extractor = (_ line: UnsafeRawBufferPointer, _ keys: inout [UInt64]) -> Void

    package var name: String
    /// Raised with every change of what the extractor gives, so that older indexes are made anew.
    package var version: Int
    /// Makes an extractor for one thread; it may keep a parser.
    package var makeExtractor: @Sendable () -> Extractor

    package init(name: String, version: Int, makeExtractor: @escaping @Sendable () -> Extractor) {
        self.name = name
        self.version = version
        unsafe self.makeExtractor = makeExtractor
    }

    var mark: UInt64 {
        var hash = KeyHash(kind: 0)
        hash.absorb(name)
        hash.absorb(UInt64(version))
        return hash.value
    }
}
