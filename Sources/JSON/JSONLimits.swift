/// The limits of a parser, which rejects a text that exceeds one of them.
package struct JSONLimits: Sendable, Hashable {
    /// The highest value of ``bytesMax``, 128 MiB. Up to this size, offsets fit into 32 bits, and numbers of elements
    /// fit into 26 bits.
    package static let bytesMaxHighest = 128 << 20

    /// The longest text, in bytes.
    package let bytesMax: Int
    /// How deep arrays and objects may be nested.
    package let depthMax: Int
    /// Whether to reject an object that has a key twice. RFC 8259 allows such objects.
    package let refusesDuplicateKeys: Bool

    /// - Precondition: `bytesMax` and `depthMax` are from 0 to ``bytesMaxHighest``.
    package init(bytesMax: Int = 2 << 20, depthMax: Int = 128, refusesDuplicateKeys: Bool = false) {
        precondition((0...JSONLimits.bytesMaxHighest).contains(bytesMax), "bytesMax is \(bytesMax)")
        precondition((0...JSONLimits.bytesMaxHighest).contains(depthMax), "depthMax is \(depthMax)")
        self.bytesMax = bytesMax
        self.depthMax = depthMax
        self.refusesDuplicateKeys = refusesDuplicateKeys
    }
}
