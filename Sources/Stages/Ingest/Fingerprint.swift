/// A 64-bit fingerprint of bytes that is the same in every process, unlike `Hasher`. Snapshots contain it.
enum Fingerprint {
    private static let multiplier: UInt64 = 0x9E37_79B9_7F4A_7C15

    static func of(_ bytes: [UInt8]) -> UInt64 {
        bytes.withUnsafeBytes { bytes in
            var (print, index) = (UInt64(bytes.count), 0)
            while index + 8 <= bytes.count {
                let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
                print = mixed(print, UInt64(littleEndian: word))
                index += 8
            }
            for byte in bytes[index...] { print = mixed(print, UInt64(byte)) }
            return print
        }
    }

    private static func mixed(_ print: UInt64, _ word: UInt64) -> UInt64 {
        let product = (print ^ word) &* multiplier
        return product ^ product >> 32
    }
}
