import COpenSSL

/// Compares secrets.
package enum ConstantTime {
    /// Whether both arrays have the same bytes. The time depends only on their lengths, so it does not reveal how many
    /// bytes match.
    package static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        left.count == right.count && CRYPTO_memcmp(left, right, left.count) == 0
    }
}
