import TestSupport
import Testing

@testable import Predicates

/// Tests predicate texts that are valid or nearly valid, as any client could send them.
struct HostileTextTests {
    private static let arguments = ["\"a\"", "\"b\"", "1", "2.5", "[\"x\",1]", "{\"recordName\":\"r\"}", "null"]

    @Test(.timeLimit(.minutes(5)), arguments: Seeded.seeds, [PredicateReader.Dialect.cloudKit, .extended])
    func `any text is read and printed back, or refused with an offset or an argument's path`(
        seed: UInt64, dialect: PredicateReader.Dialect
    ) throws {
        var draw = RandomText(seed, isExtended: dialect == .extended)
        let reader = PredicateReader(dialect)
        var (accepted, refused, filtered) = (0, 0, 0)
        for _ in 0..<5000 {
            let whole = draw.disjunction(4)
            let text = draw.random.isOneIn(3) ? draw.broken(whole) : whole
            do {
                let reading = try Self.read(text, reader)
                accepted += 1
                try Self.check(reading, of: text, reader)
                filtered += reading.predicate.filterBy == nil ? 0 : 1
            } catch let error as PredicateError {
                refused += 1
                try Self.check(error, of: text)
            }
        }
        #expect(
            accepted > 1000 && refused > 1000 && filtered > 500,
            "\(accepted), \(refused), \(filtered), seed \(seed)")
    }

    /// Reads a text with an argument for each placeholder, but with at most seven arguments.
    private static func read(_ text: String, _ reader: PredicateReader) throws -> PredicateReader.Reading {
        let given = arguments.prefix(text.matches(of: /%[@K]/).count).joined(separator: ",")
        return try withJSON("[\(given)]") { try reader.read(text: text, arguments: $0) }
    }

    private static func check(_ reading: PredicateReader.Reading, of text: String, _ reader: PredicateReader) throws {
        let predicate = reading.predicate
        try #require(try reader.predicate(predicate.text) == predicate, "\(text)\n\(predicate.text)")
        if let filterBy = predicate.filterBy {
            try #require(try RecordPredicate.filter(filterBy) == predicate, "\(text)\n\(filterBy)")
        }
        for warning in reading.warnings {
            try #require(
                warning.position.path == "predicate" && isInside(warning.position.offset, text), "\(text)\n\(warning)")
        }
    }

    private static func check(_ error: PredicateError, of text: String) throws {
        // An argument without a placeholder has no position in the text.
        try #require(error.offset != nil || error.path.hasPrefix("arguments"), "\(text)\n\(error)")
        guard error.offset != nil else { return }
        try #require(isInside(error.offset, text), "\(text)\n\(error)")
        let lines = error.rendered(in: text).split(separator: "\n", omittingEmptySubsequences: false)
        let caret = lines[1].prefix { $0 != "^" }.count
        try #require(lines[1].contains("^") && caret <= lines[0].unicodeScalars.count, "\(text)\n\(lines)")
    }

    /// Whether a character of the text begins at the offset, or the text ends there.
    private static func isInside(_ offset: Int?, _ text: String) -> Bool {
        let bytes = Array(text.utf8)
        guard let offset, (0...bytes.count).contains(offset) else { return false }
        return offset == bytes.count || bytes[offset] & 0xC0 != 0x80
    }
}
