import TestSupport

/// Draws texts of predicates in many spellings. Some texts are invalid. ``broken(_:)`` changes bytes of a text.
struct RandomText {
    var random: Seeded
    let isExtended: Bool

    init(_ seed: UInt64, isExtended: Bool) { (random, self.isExtended) = (Seeded(seed), isExtended) }

    /// Terms joined by AND. In the extended dialect, they are also joined by OR.
    mutating func disjunction(_ depth: Int) -> String {
        var text = conjunction(depth)
        while isExtended, random.isOneIn(3) { text += one(" OR ", "||", " or ") + conjunction(depth) }
        return text
    }

    private mutating func conjunction(_ depth: Int) -> String {
        var text = term(depth)
        while random.isOneIn(3) { text += one(" AND ", " && ", "\nand\t") + term(depth) }
        return text
    }

    private mutating func term(_ depth: Int) -> String {
        switch random.below(10) {
        case 0: return one("NOT ", "!", "not NOT ", "! !") + term(depth)
        case 1 where depth > 0, 2 where depth > 0: return "(" + space + disjunction(depth - 1) + space + ")"
        case 3: return one("TRUEPREDICATE", "FALSEPREDICATE", "truepredicate")
        default: return comparison()
        }
    }

    private mutating func comparison() -> String {
        switch random.below(isExtended ? 14 : 13) {
        case 0, 1: name + sign + value
        case 2: value + sign + name
        case 3: name + one(" IN ", " in ", " IN[n] ") + list
        case 4: name + " BETWEEN " + one("{\(number), \(number)}", "{\(text),\(text)}", list)
        case 5: one("", "ANY ", "SOME ") + name + one(" BEGINSWITH ", " beginswith ") + text
        case 6: one(name + one(" CONTAINS ", " CONTAINS[n] ") + value, value + " IN " + name)
        case 7: one("ANY ", "any ", "SOME ") + name + one(" == " + value, " IN " + list)
        case 8: name + " CONTAINS ALL " + list
        case 9: name + one(" != nil", "!=NULL", " <> null", " == nil")
        case 10: one("self", "SELF", "allTokens") + one(" CONTAINS ", " TOKENMATCHES[cdl] ", " CONTAINS[cd] ") + text
        case 11: one("ANY", "ALL") + " tokenize" + one("", ":using:") + "(\(text), 'Cdl') IN " + one("self", name)
        case 12: distance
        default: "ALL " + name + one(sign + value, " IN " + list, " BEGINSWITH " + text)
        }
    }

    private var distance: String {
        mutating get {
            let call = "distanceToLocation:fromLocation:(\(name), location(\(number), \(number)))"
            return one(call + one(" < ", "<=", " > ") + number, number + ">" + call)
        }
    }

    // MARK: Parts

    private mutating func one(_ texts: String...) -> String { random.one(of: texts) }

    private var space: String { mutating get { one("", "", " ", "\t", "\n ") } }

    private var sign: String {
        mutating get { space + one("==", "=", "!=", "<>", "<", "<=", "=<", ">", ">=", "=>", "==[n]") + space }
    }

    private var name: String {
        mutating get {
            if random.isOneIn(30) { return one("ünï", "_a", "recordID", "in", "a.b") }
            return one(
                "a", "b", "title", "x_1", "#in", "#a", "creationDate", "___modTime", "%K", "#creationDate", "CAST",
                "bytes", "location")
        }
    }

    private var value: String {
        mutating get {
            if random.isOneIn(30) { return one("nil", "'x", "{1}", "b") }
            return one(
                number, text, text, "TRUE", "no", "%@", "reference(\(text))", "bytes('QUI=')", "CAST(0, 'NSDate')",
                "CAST('2026-01-31T12:00:00Z', \"NSDate\")", "CAST(\(number), 'NSDate')")
        }
    }

    private var number: String {
        mutating get {
            if random.isOneIn(30) { return one("9223372036854775808", "1e999", "1x", "- 1") }
            return one("0", "1", "-7", "2.50", "1e3", "-0.0", "9223372036854775807", "1e308", "45")
        }
    }

    private var text: String {
        mutating get {
            one("'a'", "\"A\"", "''", "'it\\'s'", "'ÄÖ \\u00e9'", "'the Café, x2'", "'a\\\\b'", "'🐶'", "'\u{1}'")
        }
    }

    private var list: String {
        mutating get {
            let count = random.below(4)
            return "{" + space + (0..<count).map { _ in value }.joined(separator: one(",", ", ")) + "}"
        }
    }

    // MARK: Breaking

    /// The text after up to three changes. A change replaces, removes or inserts a byte, removes or repeats a piece, or
    /// cuts off the end.
    mutating func broken(_ text: String) -> String {
        var bytes = Array(text.utf8)
        for _ in 0...random.below(3) where !bytes.isEmpty {
            let start = random.below(bytes.count)
            let piece = start..<min(bytes.count, start + random.below(12))
            switch random.below(6) {
            case 0: bytes[start] = UInt8(random.below(256))
            case 1: bytes.remove(at: start)
            case 2: bytes.insert(UInt8(32 + random.below(95)), at: start)
            case 3: bytes.insert(contentsOf: bytes[piece], at: random.below(bytes.count))
            case 4: bytes.removeSubrange(piece)
            default: bytes.removeSubrange(start...)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
