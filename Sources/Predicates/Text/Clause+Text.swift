extension RecordPredicate {
    /// The predicate as the text of an `NSPredicate`. The text reads back as the same predicate, unless it exceeds one
    /// of the ``PredicateLimits``: the text of a large `filterBy` can be too long. A text with `OR`, or with `ALL`
    /// before a field, reads back only in the extended dialect. Strings that are compared ignoring case are written in
    /// lower case.
    package var text: String {
        var parts = clauses.map { $0.text(listedMax: .max) }
        for alternative in alternatives { parts.append(alternative.text(listedMax: .max)) }
        if isNever { parts.append("FALSEPREDICATE") }
        return parts.isEmpty ? "TRUEPREDICATE" : parts.joined(separator: " AND ")
    }
}

extension Condition {
    /// The condition as text with long lists cut.
    package var text: String { text(listedMax: Clause.listedMax) }

    func text(listedMax: Int) -> String { text { $0.text(listedMax: listedMax) } }

    /// The condition as text with each comparison as its ``Clause/shape``.
    package var shape: String { text(\.shape) }

    private func text(_ clauseText: (Clause) -> String) -> String {
        switch self {
        case .clause(let clause): clauseText(clause)
        case .all(let parts): "(" + parts.map { $0.text(clauseText) }.joined(separator: " AND ") + ")"
        case .any(let parts): "(" + parts.map { $0.text(clauseText) }.joined(separator: " OR ") + ")"
        }
    }
}

extension Clause {
    static let listedMax = 20

    /// The comparison as text with long lists cut.
    package var text: String { text(listedMax: Clause.listedMax) }

    func text(listedMax: Int) -> String { text(list(listedMax)) }

    /// The comparison as text with `…` for its values, such as `state != …`. Only a circle and the words of a search
    /// are written in full.
    package var shape: String { text("…") }

    private func text(_ list: String) -> String {
        let comparison = comparison(list)
        guard isNegated else { return comparison }
        return comparator == .equals ? "\(name) \(sign("!=")) \(list)" : "NOT \(comparison)"
    }

    private func comparison(_ list: String) -> String {
        switch comparator {
        case .equals: "\(name) \(sign("==")) \(list)"
        case .lessThan: "\(name) \(sign("<")) \(list)"
        case .lessThanOrEquals: "\(name) \(sign("<=")) \(list)"
        case .greaterThan: "\(name) \(sign(">")) \(list)"
        case .greaterThanOrEquals: "\(name) \(sign(">=")) \(list)"
        case .isIn: "\(name) \(sign("IN")) {\(list)}"
        case .beginsWith: "\(name) BEGINSWITH \(list)"
        case .listContains: "\(name) \(sign("CONTAINS")) \(list)"
        case .listContainsAny: "ANY \(name) \(sign("IN")) {\(list)}"
        case .listContainsAll: "\(name) \(sign("CONTAINS")) ALL {\(list)}"
        case .listMemberBeginsWith: "ANY \(name) BEGINSWITH \(list)"
        case .exists: "\(name) != nil"
        case .isNear: near
        case .containsAnyWord:
            subject == .allText
                ? "self CONTAINS \(FieldValue.quoted(words))"
                : "ANY tokenize(\(FieldValue.quoted(words)), 'Cdl') IN \(name)"
        case .containsAllWords: "\(name) TOKENMATCHES[cdl] \(FieldValue.quoted(words))"
        case .every: every(list)
        }
    }

    private func every(_ list: String) -> String {
        guard let element = comparator.element else { return "" }
        let inner = Clause(subject, element, values, foldsCase: foldsCase)
        return "ALL " + inner.comparison(list)
    }

    /// The words, separated by spaces.
    var words: String {
        values.map { value in
            guard case .text(let bytes) = value else { return "" }
            return String(decoding: bytes, as: UTF8.self)
        }.joined(separator: " ")
    }

    private var name: String {
        guard case .field(let name) = subject else { return field }
        return TextParser.mustQuote(name) ? "#" + name : name
    }

    /// The operator, with `[n]` if strings are compared exactly.
    private func sign(_ sign: String) -> String {
        !foldsCase && values.contains(where: \.isText) ? sign + "[n]" : sign
    }

    private var near: String {
        guard case .circle(let circle)? = values.first else { return "" }
        // `< r` has the same meaning as `<=` and the next lower double. The shorter of the two texts is written.
        let (open, closed) = ("\(circle.radius.nextUp)", "\(circle.radius)")
        let isOpen = circle.radius.nextUp.isFinite && open.utf8.count < closed.utf8.count
        let distance = isOpen ? "< \(open)" : "<= \(closed)"
        return
            "distanceToLocation:fromLocation:(\(name), location(\(circle.latitude), \(circle.longitude))) \(distance)"
    }

    private func list(_ listedMax: Int) -> String {
        let more = values.count > listedMax ? ", … \(values.count - listedMax) more" : ""
        return values.prefix(listedMax).map(\.text).joined(separator: ", ") + more
    }
}

extension FieldValue {
    fileprivate var text: String {
        switch self {
        case .text(let bytes): FieldValue.quoted(String(decoding: bytes, as: UTF8.self))
        case .integer(let number): "\(number)"
        case .double(let number): "\(number)"
        case .reference(let bytes): "reference(\(FieldValue.quoted(String(decoding: bytes, as: UTF8.self))))"
        case .bytes(let bytes): "bytes('\(String(decoding: bytes, as: UTF8.self))')"
        case .circle(let circle): "\(circle)"
        case .now: "now()"
        }
    }

    static func quoted(_ text: String) -> String {
        "'" + text.replacing("\\", with: "\\\\").replacing("'", with: "\\'") + "'"
    }
}
