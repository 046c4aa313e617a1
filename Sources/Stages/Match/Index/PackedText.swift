import Events

/// Packs the text of a saved subscription to about a fifth of its size, by writing one byte for each common phrase.
///
/// Unpacking restores the text exactly. The packed text leaves out each ``Part`` that is stored elsewhere.
enum PackedText {
    /// A part of the text that is stored elsewhere. The raw value is its code in the packed text.
    enum Part: UInt8 {
        case container = 0xFB
        case user, id, info
    }

    /// A part and its range in the text.
    struct PartRange {
        let part: Part
        let start: Int
        let count: Int
    }

    // Bytes below 0x80 stand for themselves, 0x80 to 0xFA for phrases, and 0xFB to 0xFE for parts that are left out.
    // 0xFF and a length precede bytes that are not ASCII.
    private static let firstPhrase: UInt8 = 0x80
    private static let nonASCII: UInt8 = 0xFF

    /// - Parameter parts: Sorted by `start`.
    static func pack(_ text: UnsafeRawBufferPointer, leavingOut parts: [PartRange], into packed: Slab<UInt8>) {
        let phrases = PhraseTable.shared
        var (position, next) = (0, 0)
        while position < text.count {
            if next < parts.count, parts[next].start == position {
                packed.append(parts[next].part.rawValue)
                position += parts[next].count
                next += 1
            } else {
                let end = next < parts.count ? parts[next].start : text.count
                let rest = unsafe UnsafeRawBufferPointer(rebasing: text[position..<end])
                if let (code, count) = unsafe phrases.find(rest) {
                    packed.append(code)
                    position += count
                } else {
                    unsafe position += packOne(rest, into: packed)
                }
            }
        }
    }

    /// - Returns: How many bytes of `rest` it packed.
    @inline(__always)
    private static func packOne(_ rest: UnsafeRawBufferPointer, into packed: Slab<UInt8>) -> Int {
        if unsafe rest[0] < firstPhrase {
            unsafe packed.append(rest[0])
            return 1
        }
        let run = unsafe rest.prefix(255).prefix { $0 >= firstPhrase }
        packed.append(nonASCII)
        unsafe packed.append(UInt8(run.count))
        unsafe packed.append(contentsOf: UnsafeRawBufferPointer(rebasing: run))
        return unsafe run.count
    }

    /// - Parameter part: Appends a part that was left out.
    static func unpack(_ packed: UnsafeRawBufferPointer, into text: inout [UInt8], part: (Part, inout [UInt8]) -> Void)
    {
        var index = 0
        while index < packed.count {
            let code = unsafe packed[index]
            index += 1
            if code < firstPhrase {
                text.append(code)
            } else if let left = Part(rawValue: code) {
                part(left, &text)
            } else if code == nonASCII {
                let end = unsafe index + 1 + Int(packed[index])
                unsafe text.append(contentsOf: packed[(index + 1)..<end])
                index = end
            } else {
                text.append(contentsOf: phrases[Int(code - firstPhrase)].utf8)
            }
        }
    }

    /// A hash table of phrases by their first four bytes. Phrases with the same hash are sorted by length, the longest
    /// first.
    private final class PhraseTable: Sendable {
        private struct Span {
            let start: Int
            let count: Int
            let code: UInt8
        }

        static let shared = PhraseTable()

        private let bytes: [UInt8]
        private let spans: [Span]
        /// For each hash, the index in `spans` at which its phrases start. The last element is the number of spans.
        private let starts: [Int]

        private init() {
            var (bytes, spans, starts) = ([UInt8](), [Span](), [0])
            let byHash = Dictionary(grouping: phrases.enumerated()) { PhraseTable.hash(Array($0.element.utf8)) }
            for hash in 0..<512 {
                for (index, phrase) in (byHash[hash] ?? []).sorted(by: { $0.element.utf8.count > $1.element.utf8.count }
                ) {
                    let code = firstPhrase + UInt8(index)
                    spans.append(Span(start: bytes.count, count: phrase.utf8.count, code: code))
                    bytes += phrase.utf8
                }
                starts.append(spans.count)
            }
            (self.bytes, self.spans, self.starts) = (bytes, spans, starts)
        }

        @inline(__always)
        func find(_ text: UnsafeRawBufferPointer) -> (code: UInt8, count: Int)? {
            guard text.count >= 4 else { return nil }
            let hash = unsafe PhraseTable.hash(text.loadUnaligned(as: UInt32.self))
            for index in starts[hash]..<starts[hash + 1] where spans[index].count <= text.count {
                let span = spans[index]
                let start = unsafe UnsafeRawBufferPointer(rebasing: text[..<span.count])
                let isSame = unsafe bytes.withUnsafeBytes {
                    unsafe UnsafeRawBufferPointer(rebasing: $0[span.start..<(span.start + span.count)]).isSame(
                        as: start)
                }
                if isSame { return (span.code, span.count) }
            }
            return nil
        }

        @inline(__always)
        private static func hash(_ start: UInt32) -> Int { Int((start &* 0x9E37_79B1) >> 23) }

        private static func hash(_ phrase: [UInt8]) -> Int {
            unsafe hash(phrase.withUnsafeBytes { unsafe $0.loadUnaligned(as: UInt32.self) })
        }
    }

    /// At most 123 phrases of at least four bytes. A new version of Belfry may change the phrases, because packed texts
    /// are only in memory.
    private static let phrases = userPhrases + identifierPhrases + otherPhrases

    private static let userPhrases: [String] = [
        ",\"environment\":\"production\",\"database\":\"public\"",
        ",\"environment\":\"production\",\"database\":\"private\"",
        ",\"environment\":\"development\",\"database\":\"public\"",
        ",\"environment\":\"development\",\"database\":\"private\"",
        ",\"database\":\"shared\"", ",\"database\":\"public\"", ",\"database\":\"private\"",
    ].map { $0 + ",\"\(Member.user)\":" }

    private static let identifierPhrases: [String] = [",\"subscription\":{", ",", ""].map {
        $0 + "\"\(Member.subscriptionID)\":"
    }

    private static let otherPhrases: [String] = [
        "{\"type\":\"subscription.save\",\"container\":",
        ",\"environment\":\"production\"", ",\"environment\":\"development\"", "\"subscription\":{",
        ",\"subscriptionType\":\"query\",\"query\":{\"recordType\":\"",
        ",\"subscriptionType\":\"zone\",\"zoneID\":{\"zoneName\":\"",
        ",\"subscriptionType\":\"database\"", ",\"subscriptionType\":\"zone\"", ",\"subscriptionType\":\"query\"",
        "\"subscriptionType\":", ",\"query\":{\"recordType\":\"", "\"query\":{", "\"recordType\":\"",
        ",\"recordType\":\"",
        "\",\"filterBy\":[{\"comparator\":\"", "\"filterBy\":[", "\"comparator\":\"", ",\"filterBy\":[",
        "\",\"predicate\":\"", "\"predicate\":\"", ",\"predicate\":\"", "\",\"arguments\":[",
        "{\"comparator\":\"EQUALS\",\"fieldName\":\"", "{\"comparator\":\"", "EQUALS\",\"fieldName\":\"",
        "NOT_EQUALS\",\"fieldName\":\"", "IN\",\"fieldName\":\"", "NOT_IN\",\"fieldName\":\"",
        "LESS_THAN\",\"fieldName\":\"", "LESS_THAN_OR_EQUALS\",\"fieldName\":\"", "GREATER_THAN\",\"fieldName\":\"",
        "GREATER_THAN_OR_EQUALS\",\"fieldName\":\"", "BEGINS_WITH\",\"fieldName\":\"",
        "LIST_CONTAINS\",\"fieldName\":\"",
        "LIST_CONTAINS_ANY\",\"fieldName\":\"", "LIST_CONTAINS_ALL\",\"fieldName\":\"",
        "CONTAINS_ALL_TOKENS\",\"fieldName\":\"", "CONTAINS_ANY_TOKENS\",\"fieldName\":\"", "\"fieldName\":\"",
        "\",\"fieldValue\":{\"value\":\"", "\",\"fieldValue\":{\"value\":[\"", "\",\"fieldValue\":{\"value\":",
        "\",\"fieldValue\":{\"value\":{\"recordName\":\"", "\"fieldValue\":{", "\"value\":", "\"recordName\":\"",
        "\",\"type\":\"STRING\"}},{\"comparator\":\"", ",\"type\":\"INT64\"}},{\"comparator\":\"",
        ",\"type\":\"DOUBLE\"}},{\"comparator\":\"", ",\"type\":\"TIMESTAMP\"}},{\"comparator\":\"",
        "\"],\"type\":\"STRING_LIST\"}},{\"comparator\":\"",
        "\",\"action\":\"NONE\"},\"type\":\"REFERENCE\"}},{\"comparator\":\"",
        "\",\"type\":\"STRING\"}}", ",\"type\":\"INT64\"}}", ",\"type\":\"DOUBLE\"}}", ",\"type\":\"TIMESTAMP\"}}",
        "\"],\"type\":\"STRING_LIST\"}}", "],\"type\":\"INT64_LIST\"}}", "],\"type\":\"DOUBLE_LIST\"}}",
        "\",\"action\":\"NONE\"},\"type\":\"REFERENCE\"}}", ",\"type\":\"REFERENCE\"}}", "\",\"type\":\"",
        ",\"type\":\"",
        ",\"type\":\"INT64_LIST\"}}", ",\"action\":\"NONE\"}", "\",\"action\":\"",
        "]},\"firesOn\":[\"create\",\"update\"]", "]},\"firesOn\":[\"create\"]", "]},\"firesOn\":[\"update\"]",
        "]},\"firesOn\":[\"delete\"]", "]},\"firesOn\":[\"create\",\"update\",\"delete\"]",
        "},\"firesOn\":[\"create\",\"update\"]",
        ",\"firesOn\":[", "\"firesOn\":[", "\"create\"", "\"update\"", "\"delete\"", ",\"firesOnce\":true",
        ",\"firesOnce\":false",
        "],\"notificationInfo\":", ",\"notificationInfo\":", "\"notificationInfo\":", ",\"zoneWide\":true",
        ",\"zoneWide\":false",
        ",\"zoneID\":{\"zoneName\":\"", "\"zoneID\":{", "\"zoneName\":\"", "\",\"ownerRecordName\":\"",
        "\"ownerRecordName\":\"",
        "_defaultZone", "__defaultOwner__", "\"]}}", "\",\"", " AND ", " BEGINSWITH ", " CONTAINS ", " BETWEEN ",
        "TRUEPREDICATE",
        " IN {", " == ", " != ", " >= ", " <= ", "allTokens", "reference(", "location(",
        "distanceToLocation:fromLocation:(",
    ].filter { $0.utf8.count >= 4 }
}
