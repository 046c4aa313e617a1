import EventLog
import JSON
import Predicates
import TestSupport
import Testing
import TransportAPNs

@testable import Inspect

struct PseudonymTests {
    private static let alphabets = [
        "abc", "ABCabc", "0123456789", "aA0 -_.'", "äöüÄÖÜßéÉ", "жЖяЯ", "日本語のメモ", "한국어가각", "😀😁🐶👍🏽🇩🇪", "e\u{301}ﬁß",
        "āĂĉΆέωΣς",
    ]

    private static func texts(_ random: inout Seeded) -> [String] {
        (0..<120).map { _ in
            let letters = alphabets[random.below(alphabets.count)].unicodeScalars.map { $0 }
            var text = String.UnicodeScalarView()
            for _ in 0..<random.below(6) { text.append(random.one(of: letters)) }
            return String(text)
        }
    }

    /// Compares two texts as a clause of a predicate does: −1 if the first text is less, 1 if it is greater, 0 if both
    /// have the same bytes.
    private static func order(_ one: String, _ other: String) -> Int {
        one == other && one.utf8.elementsEqual(other.utf8)
            ? 0 : one.utf8.lexicographicallyPrecedes(other.utf8) ? -1 : 1
    }

    private static func folded(_ text: String) -> String {
        text.unicodeScalars.map(\.properties.lowercaseMapping).joined()
    }

    @Test(arguments: Seeded.seeds)
    func `pseudonyms keep lengths, prefixes, and the order with and without regard to case`(seed: UInt64) throws {
        var random = Seeded(seed)
        let texts = Self.texts(&random)
        let pseudonyms = Pseudonyms(for: texts, seed: random.next())
        let pairs = texts.map { ($0, pseudonyms.pseudonym(of: $0)) }
        for (text, pseudonym) in pairs {
            #expect(text.utf8.count == pseudonym.utf8.count && text.count == pseudonym.count, "\(text) → \(pseudonym)")
            #expect(text.unicodeScalars.count == pseudonym.unicodeScalars.count)
            for (other, otherPseudonym) in pairs {
                let what = "\(text) → \(pseudonym), \(other) → \(otherPseudonym), seed \(seed)"
                try #require(Self.order(text, other) == Self.order(pseudonym, otherPseudonym), "\(what)")
                try #require(
                    Self.order(Self.folded(text), Self.folded(other))
                        == Self.order(Self.folded(pseudonym), Self.folded(otherPseudonym)), "folded: \(what)")
                let begins = Array(text.utf8).starts(with: other.utf8)
                try #require(begins == Array(pseudonym.utf8).starts(with: otherPseudonym.utf8), "\(what)")
            }
        }
    }

    @Test func `pseudonyms do not contain the names, and another seed gives other pseudonyms`() {
        let names = ["_alice", "alice-mac", "Alice", "6a0f77b1", "Größe", "日本語"]
        let pseudonyms = Pseudonyms(for: names, seed: 7)
        for name in names { #expect(!pseudonyms.pseudonym(of: name).lowercased().contains(name.lowercased())) }
        #expect(names.map(pseudonyms.pseudonym) == names.map(Pseudonyms(for: names, seed: 7).pseudonym))
        #expect(names.map(pseudonyms.pseudonym) != names.map(Pseudonyms(for: names, seed: 8).pseudonym))
        let pseudonym = pseudonyms.pseudonym(of: "alice-mac")
        #expect(pseudonym.wholeMatch(of: /[a-z]{5}-[a-z]{3}/) != nil)
        #expect(pseudonyms.pseudonym(of: "Alice").lowercased() == pseudonym.prefix(5))
    }

    private static func line(token: String) -> CaseLine {
        let text = #"{"type":"device.register","user":"cafe","device":"phone","transport":"apns","token":"\#(token)"}"#
        return CaseLine(event: LoggedEvent(sequence: 1, now: .epoch, line: Array(text.utf8)))
    }

    @Test(arguments: Seeded.seeds)
    func `a hexadecimal token gets a different hexadecimal pseudonym`(seed: UInt64) throws {
        let tokens = ["a11ce001", "A11CE002", "b0b00001", "00", "ffffffff", "0123456789abcdef", "not-one"]
        let texts = try DisguisedTexts(of: tokens.map(Self.line))
        #expect(texts.tokens == Set(tokens.map { ExactText($0) }))
        let disguise = texts.disguise(byWord: false, seed: seed)
        let replaced = tokens.map(disguise.token)
        #expect(Set(replaced).count == tokens.count)
        for (token, pseudonym) in zip(tokens, replaced) {
            #expect(token != pseudonym && token.count == pseudonym.count)
            if token != "not-one" { #expect(throws: Never.self) { try APNsTransport.address(pseudonym) } }
        }
    }

    @Test(arguments: Seeded.seeds)
    func `predicates have the same result after texts are replaced`(seed: UInt64) throws {
        var random = Seeded(seed)
        let words = ["Alpha", "alpha", "Alphabet", "Beta", "beta max", "Gamma 1", "Gamma 2", "Émile", "émile", "It's"]
        let pseudonyms = Pseudonyms(for: words + words.map { String($0.prefix(3)) }, seed: random.next())
        func quoted(_ text: String) -> String { "'" + text.replacing("'", with: #"\'"#) + "'" }
        var (held, failed) = (0, 0)
        for _ in 0..<400 {
            let (a, b, c) = (random.one(of: words), random.one(of: words), random.one(of: words))
            let (low, high) = (min(a, b), max(a, b))
            let clause = random.one(of: [
                "title == \(quoted(a))", "title != \(quoted(a))", "title < \(quoted(a))", "title >= \(quoted(a))",
                "title BEGINSWITH \(quoted(String(a.prefix(3))))", "NOT title BEGINSWITH \(quoted(a))",
                "title IN {\(quoted(a)), \(quoted(b))}", "title BETWEEN {\(quoted(low)), \(quoted(high))}",
                "tags CONTAINS \(quoted(a))", "ANY tags BEGINSWITH \(quoted(String(b.prefix(3))))",
                "NOT \(quoted(b)) IN tags",
            ])
            let replaced = try RecordPredicate.replacingStrings(in: clause, pseudonyms.pseudonym)
            let matchedBefore = try matches(clause, title: c, tag: b)
            let matchesAfter = try matches(
                replaced, title: pseudonyms.pseudonym(of: c), tag: pseudonyms.pseudonym(of: b))
            try #require(matchedBefore == matchesAfter, "\(clause) → \(replaced) for \(c), seed \(seed)")
            #expect(replaced.utf8.count == clause.utf8.count)
            if matchedBefore { held += 1 } else { failed += 1 }
        }
        #expect(held > 40 && failed > 40)
    }

    @Test(arguments: Seeded.seeds)
    func `word searches have the same result after texts are replaced word by word`(seed: UInt64) throws {
        var random = Seeded(seed)
        let words = ["Alpha", "alphabet", "Beta", "max", "2026", "the", "of", "Émile", "日本"]
        func text(_ random: inout Seeded) -> String {
            (0...random.below(4)).map { _ in random.one(of: words) }.joined(
                separator: random.one(of: [" ", ", ", "-"]))
        }
        let texts = (0..<60).map { _ in text(&random) }
        let pseudonyms = Pseudonyms(for: texts, byWord: true, seed: random.next())
        var (held, failed) = (0, 0)
        for _ in 0..<400 {
            let (title, tag, sought) = (random.one(of: texts), random.one(of: texts), random.one(of: texts))
            let clause = random.one(of: [
                "self CONTAINS '\(sought)'", "self TOKENMATCHES[cdl] '\(sought)'",
                "ALL tokenize('\(sought)', 'Cdl') IN title", "title == '\(sought)'", "title IN {'\(sought)', 'x'}",
                "title BEGINSWITH '\(sought)'",
            ])
            let replaced = try RecordPredicate.replacingStrings(in: clause, pseudonyms.pseudonym)
            let matchedBefore = try matches(clause, title: title, tag: tag)
            let matchesAfter = try matches(
                replaced, title: pseudonyms.pseudonym(of: title), tag: pseudonyms.pseudonym(of: tag))
            try #require(
                matchedBefore == matchesAfter, "\(clause) → \(replaced) for \(title), \(tag), seed \(seed)")
            if matchedBefore { held += 1 } else { failed += 1 }
        }
        #expect(held > 40 && failed > 40)
    }

    @Test func `dates, type names and options in function calls are not replaced`() throws {
        let text = "d > CAST('2026-01-01T00:00:00Z', 'NSDate') AND ALL tokenize('x', 'Cdl') IN self AND a == 'y'"
        let replaced = try RecordPredicate.replacingStrings(in: text) { $0 + $0 }
        #expect(replaced == text.replacing("'x'", with: "'xx'").replacing("'y'", with: "'yy'"))
    }

    @Test(arguments: [
        "cast == 'x' AND a == 'x'", "tokenize IN {'x', 'x'} AND (a == 'x')", "a == 'x' AND cast IN {'x'}",
        "d > CAST(CAST(1, 'NSDate'), 'NSDate') AND a == 'x'",
    ])
    func `strings after function calls, and beside fields named like functions, are replaced`(text: String) throws {
        let replaced = try RecordPredicate.replacingStrings(in: text) { $0 + $0 }
        #expect(replaced == text.replacing("'x'", with: "'xx'"))
    }

    @Test func `each placeholder of a field name is found, except in string literals`() {
        #expect(RecordPredicate.namePlaceholders(in: "%@ == '%K' AND %K < %@ AND %K == 1") == [1, 3])
    }

    private func matches(_ predicate: String, title: String, tag: String) throws -> Bool {
        var buffer = ByteBuffer()
        buffer.append("{\"title\":{\"value\":")
        buffer.appendJSON(title)
        buffer.append("},\"tags\":{\"value\":[")
        buffer.appendJSON(tag)
        buffer.append("]}}")
        var parser = JSONParser()
        return try RecordPredicate(text: predicate).matches(parser.parse(buffer.bytes))
    }

    @Test func `only the string literals of a predicate are replaced`() throws {
        let text = #"name == "a'b" AND #IN != 'x\\y'  AND n IN {1, 'z'}"#
        let replaced = try RecordPredicate.replacingStrings(in: text) { "<" + $0 + "\">" }
        #expect(replaced == #"name == "<a'b\">" AND #IN != '<x\\y">'  AND n IN {1, '<z">'}"#)
    }

    @Test func `two texts that look alike are both replaced`() {
        let texts = ["caf\u{E9}house", "cafe\u{301}house"]
        for byWord in [false, true] {
            let pseudonyms = Pseudonyms(for: texts, byWord: byWord, seed: 7)
            for text in texts { #expect(!pseudonyms.pseudonym(of: text).hasSuffix("house")) }
        }
    }
}

struct CaseShrinkingTests {
    @Test(arguments: Seeded.seeds)
    func `a shrunk list passes the test, and fails it if any one element is removed`(seed: UInt64) throws {
        var random = Seeded(seed)
        let needed = Set((0..<5).map { _ in random.below(100) })
        let either = [random.below(100), random.below(100)]
        func passesTest(_ list: [Int]) -> Bool {
            needed.isSubset(of: list) && either.contains { list.contains($0) }
        }
        let kept = try CaseShrinking(passesTest: passesTest).shrink(Array(0..<100))
        #expect(passesTest(kept) && kept == kept.sorted())
        for element in kept {
            #expect(!passesTest(kept.filter { $0 != element }), "\(element) is not needed, seed \(seed)")
        }
    }

    @Test func `a list without needed elements shrinks to nothing`() throws {
        #expect(try CaseShrinking<Int>(passesTest: { _ in true }).shrink([1, 2, 3]).isEmpty)
        #expect(try CaseShrinking<Int>(passesTest: { _ in true }).shrink([]).isEmpty)
    }
}
