/// Defines the keys of an event in an index. The log itself knows no event types.
@safe package struct KeyScheme: Sendable {
    /// Appends the hashes of one event's keys; see ``KeyHash``. The same line has the same hashes in every process.
    package typealias Extractor = (_ line: UnsafeRawBufferPointer, _ keys: inout [UInt64]) -> Void

    package var name: String
    /// Raise the version with every change of the extractor's results, so that older indexes are rebuilt.
    package var version: Int
    /// Makes an extractor for one thread. So the extractor may own a parser.
    package var makeExtractor: @Sendable () -> Extractor

    package init(name: String, version: Int, makeExtractor: @escaping @Sendable () -> Extractor) {
        self.name = name
        self.version = version
        unsafe self.makeExtractor = makeExtractor
    }

    var digest: UInt64 {
        var hash = KeyHash(kind: 0)
        hash.absorb(name)
        hash.absorb(UInt64(version))
        return hash.value
    }
}
