import Testing

@testable import Signing

@Suite struct SignatureTests {
    /// The private key of RFC 6979, appendix A.2.5.
    private static let number = [UInt8](
        hexadecimal: "C9AFA9D845BA75166B5C215767B1D6934E50C3DB36E89B127B8A622B120F6721")
    private static let known: [(message: String, r: String, s: String)] = [
        (
            "sample", "EFD48B2AACB6A8FD1140DD9CD45E81D69D2C877B56AAF991C34D0EA84EAF3716",
            "F7CB1C942D657C41D436C7A1B6E29F65F3E900DBB9AFF4064DC4AB2F843ACDA8"
        ),
        (
            "test", "F1ABB023518351CD71D881567B1EA663ED3EFCF6C5132B354F28D3B0B7D38367",
            "019F4113742A2B14BD25926B49C649155F267E60D3814B4C0CC84250E46F0083"
        ),
    ]
    private static let message = Array("sample".utf8)

    private static func key() throws -> PublicKey { try PrivateKey(pem: Samples.sec1(number)).publicKey }

    @Test(arguments: known)
    func `the signatures of RFC 6979 are valid in both forms`(message: String, r: String, s: String) throws {
        let key = try Self.key()
        let raw = [UInt8](hexadecimal: r + s)
        #expect(key.isValid(rawSignature: raw, for: Array(message.utf8)))
        #expect(key.isValid(derSignature: try ECDSASignature(raw: raw).der, for: Array(message.utf8)))
        #expect(!key.isValid(rawSignature: raw, for: Array("\(message)!".utf8)))
        #expect(!PrivateKey().publicKey.isValid(rawSignature: raw, for: Array(message.utf8)))
    }

    @Test func `the signatures of a key are valid in both forms, and new each time`() throws {
        let key = PrivateKey()
        for length in 0..<200 {
            let message = [UInt8](repeating: UInt8(length), count: length)
            let raw = try key.signature(for: message)
            #expect(raw.count == 64)
            #expect(key.publicKey.isValid(rawSignature: raw, for: message))
            let der = try key.derSignature(for: message)
            #expect(key.publicKey.isValid(derSignature: der, for: message))
            #expect(try key.signature(for: message) != raw)
            #expect(try key.derSignature(for: message) != der)
        }
    }

    @Test func `a signature with one bit changed is not valid`() throws {
        let key = try Self.key()
        let raw = [UInt8](hexadecimal: Self.known[0].r + Self.known[0].s)
        for bit in 0..<512 {
            var changed = raw
            changed[bit / 8] ^= 1 << (bit % 8)
            #expect(!key.isValid(rawSignature: changed, for: Self.message), "\(bit)")
        }
    }

    @Test(arguments: [0, 1, 63, 65, 72]) func `a signature of another length is not valid`(count: Int) throws {
        let raw = [UInt8](hexadecimal: Self.known[0].r + Self.known[0].s)
        #expect(!(try Self.key()).isValid(rawSignature: Array((raw + raw).prefix(count)), for: Self.message))
    }

    /// These numbers are 0, the order of the curve, and the largest number of 256 bits.
    @Test(arguments: [
        String(repeating: "0", count: 64), "FFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551",
        String(repeating: "F", count: 64),
    ])
    func `a signature is not valid if r or s is 0 or not below the order of the curve`(wrong: String) throws {
        let key = try Self.key()
        for digits in [wrong + Self.known[0].s, Self.known[0].r + wrong, wrong + wrong] {
            let raw = [UInt8](hexadecimal: digits)
            #expect(!key.isValid(rawSignature: raw, for: Self.message))
            #expect(!key.isValid(derSignature: try ECDSASignature(raw: raw).der, for: Self.message))
        }
    }

    @Test func `a signature that is not exactly one sequence in DER is not valid`() throws {
        let key = try Self.key()
        let raw = [UInt8](hexadecimal: Self.known[0].r + Self.known[0].s)
        let der = try ECDSASignature(raw: raw).der
        for length in 0..<der.count {
            #expect(!key.isValid(derSignature: Array(der.prefix(length)), for: Self.message), "\(length)")
        }
        let longForm = [der[0], 0x81] + der.dropFirst()
        for wrong in [der + [0], longForm, raw, []] { #expect(!key.isValid(derSignature: wrong, for: Self.message)) }
    }

    @Test func `one key signs and checks in many tasks at once`() async throws {
        let key = PrivateKey()
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for number: UInt8 in 0..<64 {
                group.addTask {
                    try key.publicKey.isValid(rawSignature: key.signature(for: [number]), for: [number])
                }
            }
            for try await isValid in group { #expect(isValid) }
        }
    }
}
