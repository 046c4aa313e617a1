import Testing
import Time

@testable import Ingest

struct NameFingerprintTests {
    /// The first two vectors of `vectors_sip128` in SipHash's reference code. The key is 00 01 … 0f. The first input is
    /// empty, and the second is the byte 00.
    @Test(
        arguments: [
            (0, 0xE6A8_25BA_047F_81A3, 0x9302_55C7_1472_F66D), (1, 0x44AF_996B_D8C1_87DA, 0x45FC_229B_1159_7634),
        ] as [(Int, UInt64, UInt64)])
    func `a fingerprint is the SipHash of the input`(length: Int, high: UInt64, low: UInt64) {
        let key = NameFingerprint.Key(0x0706_0504_0302_0100, 0x0F0E_0D0C_0B0A_0908)
        let input = (0..<length).map(UInt8.init)
        #expect(input.withUnsafeBytes { key.fingerprint(of: $0) } == NameFingerprint(high: high, low: low))
    }

    @Test func `each byte, the length and the key change the fingerprint`() {
        let key = NameFingerprint.Key(LogIdentity(high: 1, low: 2))
        let inputs = (0...40).flatMap { length in
            [[UInt8](repeating: 0, count: length)]
                + (0..<length).map { place in (0..<length).map { $0 == place ? 1 : 0 } }
        }
        let fingerprints = Set(inputs.map { $0.withUnsafeBytes { key.fingerprint(of: $0) } })
        #expect(fingerprints.count == inputs.count)
        let other = NameFingerprint.Key(LogIdentity(high: 1, low: 3))
        #expect(fingerprints.isDisjoint(with: inputs.map { $0.withUnsafeBytes { other.fingerprint(of: $0) } }))
    }
}
