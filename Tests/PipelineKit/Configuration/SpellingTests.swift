import JSON
import TestSupport
import Testing

@testable import PipelineKit

@Suite struct SpellingTests {
    static let known = ["window", "maximumDelay", "from", "bind", "directory", "segmentBytes", "collapse", "retention"]

    @Test func `a key with one typing error suggests the known key`() throws {
        var seeds = Seeded(2)
        for _ in 0..<2000 {
            let seed = seeds.next()
            var random = Seeded(seed)
            let key = Self.known[Int.random(in: 0..<Self.known.count, using: &random)]
            let typo = Self.slip(key, &random)
            guard typo != key else { continue }
            let reader = try knowing(Self.known, text: "\(typo): 1\n")
            let error = #expect(throws: SettingsError.self, "seed \(seed)") { try reader.finish() }
            let known = Self.known.joined(separator: ", ")
            #expect(error?.hint == "did you mean \"\(key)\"? known: \(known)", "seed \(seed): \(typo)")
        }
    }

    private func knowing(_ keys: [String], text: String) throws -> SettingsReader {
        var reader = try SettingsReader(text: text, file: "s.yaml")
        for key in keys { _ = try reader.optionalString(key) }
        return reader
    }

    /// The key with one letter added, left out, changed, or swapped with its neighbour.
    private static func slip(_ key: String, _ random: inout Seeded) -> String {
        var letters = Array(key)
        let place = Int.random(in: 0..<letters.count - 1, using: &random)
        let letter = Array("abcdefghijklmnopqrstuvwxyz")[Int.random(in: 0..<26, using: &random)]
        switch Int.random(in: 0..<4, using: &random) {
        case 0: letters.insert(letter, at: place)
        case 1: letters.remove(at: place)
        case 2: letters[place] = letter
        default: letters.swapAt(place, place + 1)
        }
        return String(letters)
    }

    @Test(arguments: [
        ("", "abc", 3), ("ab", "ba", 1), ("ca", "abc", 3), ("Window", "window", 0), ("kitten", "sitting", 3),
    ])
    func `the distance between two words counts typing errors`(_ left: String, _ right: String, _ distance: Int) {
        #expect(Spelling.distance(left, right) == distance)
        #expect(Spelling.distance(right, left) == distance)
    }

    @Test func `an unrelated word suggests no key`() {
        #expect(Spelling.nearest(to: "colour", among: Self.known) == nil)
        #expect(Spelling.nearest(to: "x", among: Self.known) == nil)
    }

    @Test func `advice suggests the nearest word, or lists all words if none is near`() {
        #expect(Spelling.advice(for: "titel", among: ["subtitle", "title"]) == #"did you mean "title"?"#)
        #expect(Spelling.advice(for: "TITLE", among: ["subtitle", "title"]) == #"did you mean "title"?"#)
        #expect(Spelling.advice(for: "xyz", among: ["subtitle", "title"]) == "use subtitle or title")
        #expect(Spelling.advice(for: String(repeating: "a", count: 100_000), among: ["one"]) == "use one")
    }
}
