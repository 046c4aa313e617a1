import Testing

@testable import Time

@Suite struct LogIdentityTests {
    @Test func `a seed and a name always give the same identity`() {
        #expect(LogIdentity(seed: "run", name: "matches").description == "0b1349e9-3a5e-80a4-a990-e5ca6c90c97b")
        #expect(LogIdentity(seed: "", name: "").description == "03324c98-4b60-889a-b686-5a37c72b661b")
    }

    @Test func `a position always has the same identifier`() {
        let identity = LogIdentity(seed: "run", name: "matches")
        #expect(identity.uuid(position: 17).description == "6a5f278c-a452-8a5f-8eaf-033c51854437")
        #expect(identity.uuid(position: 17, salt: 1).description == "f55d3a58-f2e2-8117-a62b-bd5b8b64eead")
    }

    @Test func `an identity depends on where the seed ends and the name begins`() {
        let pairs = [
            ("ab", "c"), ("a", "bc"), ("abc", ""), ("", "abc"), ("abc\0", ""), ("abcdefgh", "i"), ("i", "abcdefgh"),
        ]
        #expect(Set(pairs.map { LogIdentity(seed: $0, name: $1) }).count == pairs.count)
    }

    @Test func `a UUID is read in upper or lower case, and written in lower case`() {
        let text = "01234567-89aB-CDEF-0123-456789abcdef"
        #expect(LogIdentity(uuid: text) == LogIdentity(high: 0x0123_4567_89AB_CDEF, low: 0x0123_4567_89AB_CDEF))
        #expect(LogIdentity(uuid: text)?.description == text.lowercased())
        let random = LogIdentity.random()
        #expect(LogIdentity(uuid: random.description) == random)
        #expect(random != LogIdentity.random())
    }

    @Test(arguments: [
        "", "0123456789abcdef0123456789abcdef", "01234567-89ab-cdef-0123-456789abcde",
        "01234567-89ab-cdef-0123-456789abcdeg",
        "01234567-89ab-cdef-0123-456789abcdef0", "0123456-789ab-cdef-0123-456789abcdef",
        "é1234567-89ab-cdef-0123-456789abcde",
    ])
    func `a text that is not a UUID is refused`(text: String) {
        #expect(LogIdentity(uuid: text) == nil)
    }

    @Test func `identifiers and random identities have the version and variant bits of a UUID`() {
        for position in 0..<1000 as Range<UInt64> {
            let text = Array(LogIdentity(high: 1, low: position).uuid(position: position).description)
            #expect(text[14] == "8" && "89ab".contains(text[19]))
        }
        let random = Array(LogIdentity.random().description)
        #expect(random[14] == "4" && "89ab".contains(random[19]))
    }

    @Test func `the identifiers of different logs, positions and salts differ`() {
        let logs = (0..<4).map { LogIdentity(high: 0, low: $0) }
        var seen: Set<PositionID> = []
        for log in logs {
            for position in 1...5000 as ClosedRange<UInt64> {
                for salt in 0..<5 as Range<UInt64> { seen.insert(log.uuid(position: position, salt: salt)) }
            }
        }
        #expect(seen.count == 4 * 5000 * 5)
    }

    @Test func `changing one bit of the position changes half of the identifier's bits on average`() {
        let identity = LogIdentity(seed: "mix", name: "well")
        var changed = 0
        for bit in 0..<64 {
            for position in 1...64 as ClosedRange<UInt64> {
                let (left, right) = (identity.uuid(position: position), identity.uuid(position: position ^ 1 << bit))
                changed += (left.high ^ right.high).nonzeroBitCount + (left.low ^ right.low).nonzeroBitCount
            }
        }
        let average = Double(changed) / (64 * 64)
        #expect((60...62).contains(average), "of 122 bits")
    }
}
